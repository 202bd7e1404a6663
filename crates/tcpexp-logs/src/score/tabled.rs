//! Records of senders from a table of sender state.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_measure::sender::{CwndSource, Phase, SenderSample};

use super::kernel::kernel_records;
use super::named::NamedRecord;
use super::record::Totals;
use crate::import::{Batch, CongestionState, ImportedFlow, StateChange};

/// Returns the records of samples read from a table. Each sample has the initiator and the
/// responder of its flow.
///
/// Epochs are read from the samples alone. An epoch begins at the last ACK before its first row;
/// after a timeout, it begins one round-trip time before its first row, if that is later. It ends
/// at its last row. Start and end are therefore accurate to the interval between two ACKs. The epochs are not
/// complete: a reduction that begins and ends between two rows is in no row. Retransmissions are not known.
pub fn tabled_records(
    samples: impl IntoIterator<Item = (Option<(SocketAddr, SocketAddr)>, SenderSample)>,
) -> Vec<NamedRecord> {
    let mut batch = Batch::default();
    let mut flows = HashSet::new();
    let mut senders: HashMap<(FlowId, Direction), Vec<SenderSample>> = HashMap::new();
    for (ends, sample) in samples {
        if flows.insert(sample.flow) {
            batch.flows.push(ImportedFlow {
                flow: sample.flow,
                protocol: Protocol::Tcp,
                local: ends.map(|(initiator, _)| initiator),
                remote: ends.map(|(_, responder)| responder),
            });
        }
        let key = (sample.flow, sample.direction);
        senders.entry(key).or_default().push(sample);
        batch.samples.push(sample);
    }
    for samples in senders.values_mut() {
        samples.sort_by_key(|sample| sample.at);
        batch.state_changes.extend(state_changes(samples));
    }
    let mut records = kernel_records(&[batch]);
    for NamedRecord { record, .. } in &mut records {
        let is_reconstructed = record
            .samples
            .iter()
            .any(|sample| sample.cwnd_source != CwndSource::Measured);
        record.epochs_complete = false;
        record.epochs_tabled = !record.epochs.is_empty();
        if is_reconstructed {
            // `at_acks` gets no retransmissions and counts 0, but their number is unknown.
            let unknown = |totals| Totals {
                retransmitted_segments: None,
                ..totals
            };
            let totals = Totals::at_acks(&record.samples, &[]);
            record.totals = totals.into_iter().map(unknown).collect();
        }
    }
    records
}

/// Returns the changes of state that the epoch numbers imply; empty if no row has an epoch number.
fn state_changes(samples: &[SenderSample]) -> Vec<StateChange> {
    let mut changes = Vec::new();
    if samples.iter().all(|sample| sample.recovery_epoch.is_none()) {
        return changes;
    }
    let mut current: Option<(u32, CongestionState)> = None;
    let mut before: Option<&SenderSample> = None;
    for sample in samples {
        let logged = sample.recovery_epoch.zip(sample.phase.and_then(state));
        if logged != current {
            // A row precedes the processing of its ACK, so the ACK of the row before caused the
            // change.
            let answered = before.map_or(sample.at, |before| before.at);
            let set = |at, state| StateChange {
                at,
                flow: sample.flow,
                direction: sample.direction,
                state,
            };
            // Without a state in between, two epochs of the same kind would be one epoch.
            if current.is_some() {
                changes.push(set(answered, CongestionState::Open));
            }
            if let Some((_, state)) = logged {
                // No ACK starts a timeout. Its first row usually has the ACK of the retransmission,
                // one round trip later.
                let is_timeout = state == CongestionState::Loss;
                let expired = sample
                    .srtt
                    .filter(|_| is_timeout)
                    .map(|srtt| sample.at - srtt);
                changes.push(set(expired.map_or(answered, |at| at.max(answered)), state));
            }
        }
        current = logged;
        before = Some(sample);
    }
    changes
}

const fn state(phase: Phase) -> Option<CongestionState> {
    match phase {
        Phase::SlowStart | Phase::CongestionAvoidance => None,
        Phase::FastRecovery => Some(CongestionState::Recovery),
        Phase::LossRecovery => Some(CongestionState::Loss),
        Phase::WindowReduction => Some(CongestionState::WindowReduction),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::record::SenderRecord;
    use super::super::script::Row;
    use super::super::sum::{Options, Score};
    use super::*;
    use tcpexp_measure::sender::CwndSource::{Filled, Measured};

    fn rows(source: CwndSource) -> Vec<(Option<(SocketAddr, SocketAddr)>, SenderSample)> {
        let ends = Some(("10.0.0.1:4".parse().unwrap(), "10.0.0.2:5".parse().unwrap()));
        [
            (0, None),
            (10, Some((0, Phase::FastRecovery))),
            (20, Some((0, Phase::FastRecovery))),
            (30, None),
            (600, Some((1, Phase::LossRecovery))),
            (640, Some((2, Phase::FastRecovery))),
            (680, None),
        ]
        .map(|(millis, epoch)| {
            let mut sample = Row::at(millis).seq(1, 9).cwnd(10, source).srtt(40).sample();
            sample.recovery_epoch = epoch.map(|(number, _)| number);
            sample.phase = epoch.map(|(_, phase)| phase);
            (ends, sample)
        })
        .to_vec()
    }

    #[test]
    fn epochs_are_read_from_rows_with_an_epoch() {
        let records = tabled_records(rows(Measured));
        let epochs: Vec<String> = records[0]
            .record
            .epochs
            .iter()
            .map(|epoch| {
                let millis = |at: tcpexp_units::Timestamp| at.as_nanos() / 1_000_000;
                format!(
                    "{} {} {:?}",
                    epoch.kind.unwrap().name(),
                    millis(epoch.began),
                    epoch.ended.map(millis)
                )
            })
            .collect();
        assert_snapshot!(epochs.join("\n"), @r"
        fast_recovery 0 Some(20)
        loss_recovery 560 Some(600)
        fast_recovery 600 Some(640)
        ");
        assert!(records[0].record.totals.is_empty());
    }

    #[test]
    fn epochs_of_a_table_are_not_scored() {
        let tabled = &tabled_records(rows(Measured))[0].record;
        assert!(tabled.epochs_tabled && !tabled.epochs_complete);
        let whole = SenderRecord {
            epochs_complete: true,
            ..tabled.clone()
        };
        let scored = |ours: &SenderRecord, truth: &SenderRecord| {
            let epochs = Score::of(ours, truth, Options::default()).epochs;
            (epochs.precision(), epochs.recall())
        };
        assert_eq!(scored(&whole, &whole), (Some(1.0), Some(1.0)));
        assert_eq!(scored(tabled, &whole), (None, None));
        assert_eq!(scored(&whole, tabled), (None, None));
    }

    #[test]
    fn a_reconstruction_yields_busy_times() {
        let record = &tabled_records(rows(Filled))[0].record;
        let last = record.totals.last().unwrap();
        assert_eq!(last.retransmitted_segments, None);
        assert!(last.busy.is_some());
    }
}
