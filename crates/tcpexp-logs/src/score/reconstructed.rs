//! Records of senders from a reconstruction.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tcpexp_flow::FlowId;
use tcpexp_measure::sender::{
    LostPackets, Phase, RecoveryEpoch, RecoveryKind, Retransmission, SenderRow, SenderSample,
};
use tcpexp_units::Timestamp;

use super::cause_class::CauseClass;
use super::named::NamedRecord;
use super::record::{Epoch, RetransmittedAs, SenderRecord, Totals};

/// Collects the rows of a reconstruction. Memory grows with the number of rows.
#[derive(Clone, Debug, Default)]
pub struct Reconstructed {
    /// Senders by flow and direction; sorted, because the records come out in this order.
    senders: BTreeMap<(FlowId, usize), Sender>,
}

#[derive(Clone, Debug)]
struct Sender {
    ends: (SocketAddr, SocketAddr),
    samples: Vec<SenderSample>,
    epochs: Vec<Epoch>,
    retransmitted: Vec<Retransmission>,
    lost_packets: Option<u64>,
}

impl Reconstructed {
    /// Adds a row of the flow between `initiator` and `responder`.
    pub fn add(&mut self, (initiator, responder): (SocketAddr, SocketAddr), row: &SenderRow) {
        let (flow, direction) = match row {
            SenderRow::Sample(sample) => (sample.flow, sample.direction),
            SenderRow::Recovery(epoch) => (epoch.flow, epoch.direction),
            SenderRow::Retransmission(retransmitted) => {
                (retransmitted.flow, retransmitted.direction)
            }
            SenderRow::Summary(summary) => (summary.flow, summary.direction),
        };
        let ends = [(initiator, responder), (responder, initiator)][direction.index()];
        let key = (flow, direction.index());
        if let SenderRow::Summary(summary) = row {
            // A summary has no state: a sender with only a summary was not reconstructed.
            if let Some(sender) = self.senders.get_mut(&key) {
                sender.lost_packets = summary.lost.and_then(LostPackets::exact);
            }
            return;
        }
        let sender = self.senders.entry(key).or_insert_with(|| Sender {
            ends,
            samples: Vec::new(),
            epochs: Vec::new(),
            retransmitted: Vec::new(),
            lost_packets: None,
        });
        match row {
            SenderRow::Sample(sample) => sender.samples.push(*sample),
            SenderRow::Recovery(recovery) => sender.epochs.push(epoch(recovery)),
            SenderRow::Retransmission(retransmitted) => sender.retransmitted.push(*retransmitted),
            SenderRow::Summary(_) => {}
        }
    }

    /// Returns the records of all senders.
    pub fn finish(self) -> Vec<NamedRecord> {
        self.senders.into_values().map(Sender::finish).collect()
    }
}

impl Sender {
    fn finish(mut self) -> NamedRecord {
        // Rows are not in order of time: a recovery is reported at its end, and rows from a
        // receiver's capture are reordered later.
        self.samples.sort_by_key(|sample| sample.at);
        self.epochs.sort_by_key(|epoch| epoch.began);
        self.retransmitted
            .sort_by_key(|retransmitted| retransmitted.at);
        let smss = self.samples.iter().find_map(|sample| sample.smss_bytes);
        let retransmitted: Vec<RetransmittedAs> = self
            .retransmitted
            .iter()
            .map(|retransmitted| RetransmittedAs {
                at: retransmitted.at,
                class: CauseClass::of(retransmitted.cause),
                segments: segments(retransmitted, smss),
            })
            .collect();
        let again: Vec<(Timestamp, u64)> = retransmitted
            .iter()
            .map(|of| (of.at, of.segments))
            .collect();
        NamedRecord {
            ends: Some(self.ends),
            record: SenderRecord {
                totals: Totals::at_acks(&self.samples, &again),
                samples: self.samples,
                epochs: self.epochs,
                epochs_complete: true,
                epochs_polled: false,
                epochs_tabled: false,
                retransmitted,
                lost_segments: self.lost_packets,
            },
        }
    }
}

/// Returns the number of segments in a retransmission: a captured packet may hold several.
fn segments(retransmitted: &Retransmission, smss_bytes: Option<u32>) -> u64 {
    let bytes = u64::try_from(retransmitted.end.since(retransmitted.start)).unwrap_or(0);
    // Without a known segment size, a packet counts as one segment.
    smss_bytes.map_or(1, |smss| bytes.div_ceil(u64::from(smss.max(1))))
}

fn epoch(recovery: &RecoveryEpoch) -> Epoch {
    Epoch {
        began: recovery.began,
        ended: recovery.ended,
        kind: Some(match recovery.kind {
            RecoveryKind::Fast => Phase::FastRecovery,
            RecoveryKind::Timeout => Phase::LossRecovery,
            RecoveryKind::CongestionEcho => Phase::WindowReduction,
        }),
        ssthresh_segments: recovery.ssthresh_segments,
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, StreamOffset};
    use tcpexp_units::TimeDelta;
    use tcpexp_wire::SeqNum;

    use super::super::script::Row;
    use super::*;
    use tcpexp_measure::sender::RetransmissionCause;

    #[test]
    fn rows_of_a_sender_become_its_record() {
        let at = |millis| Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        let place = |seq| StreamOffset::first(SeqNum(seq));
        let mut sample = Row::at(50).seq(0, 2896).sample();
        sample.smss_bytes = Some(1448);
        let rows = [
            SenderRow::Sample(sample),
            SenderRow::Retransmission(Retransmission {
                flow: sample.flow,
                direction: sample.direction,
                number: 0,
                record: 3,
                at: at(40),
                start: place(0),
                end: place(2896),
                cause: RetransmissionCause::Timeout,
                earlier_copy: None,
            }),
            SenderRow::Recovery(RecoveryEpoch {
                flow: sample.flow,
                direction: sample.direction,
                epoch: 0,
                kind: RecoveryKind::Timeout,
                began: at(40),
                ended: None,
                high: place(2896),
                cwnd_before_segments: Some(10),
                ssthresh_segments: Some(5),
                seen_ssthresh_segments: Some(5),
                was_undone: false,
                lost: None,
            }),
        ];
        let ends: (SocketAddr, SocketAddr) =
            ("10.0.0.1:4".parse().unwrap(), "10.0.0.2:5".parse().unwrap());
        let mut all = Reconstructed::default();
        for row in &rows {
            all.add(ends, row);
        }
        let mut back = sample;
        back.direction = Direction::Reverse;
        all.add(ends, &SenderRow::Sample(back));
        let records = all.finish();
        assert_eq!(
            records.iter().map(|r| r.ends).collect::<Vec<_>>(),
            [Some(ends), Some((ends.1, ends.0))]
        );
        let record = &records[0].record;
        assert_eq!(record.totals[0].retransmitted_segments, Some(2));
        assert_eq!(record.epochs[0].kind, Some(Phase::LossRecovery));
        assert_eq!(record.epochs[0].ssthresh_segments, Some(5));
    }
}
