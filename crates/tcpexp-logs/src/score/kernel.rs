//! Records of senders from kernel logs.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::Timestamp;

use super::logged_epochs::{from_states, threshold_after};
use super::named::NamedRecord;
use super::record::{SenderRecord, Totals};
use crate::import::{Batch, ImportedFlow, StateChange};

/// Returns the record of each sender in the logs of one host. Each log is one batch that holds all
/// of its rows.
///
/// Epochs come from the logged congestion states. A sender without states has no epochs, because
/// the threshold alone does not show them: it also falls without a reduction (CDG, Westwood), and
/// stays the same through one (BBR, small windows). The threshold after an epoch is the first one
/// known after its end, or else the last one within it. Where no totals are logged, retransmission
/// events are counted.
///
/// Where the kernel lost events of a log, the epochs of its senders are not complete, and the number of
/// its retransmission events is no total. Epochs from polls are not complete either: a reduction that
/// begins and ends between two polls is missing, and the others begin late.
///
/// Connections that use the same ports one after another are senders of their own. Each log names
/// them in the same order.
///
/// Rows of a log without endpoints are assigned to the only sender that the other logs name. If
/// these name several or none, the rows form a sender of their own. The states of a log without
/// endpoints are used only if the other logs have none.
pub fn kernel_records(logs: &[Batch]) -> Vec<NamedRecord> {
    let mut senders = Senders::default();
    for log in logs {
        senders.collect(log);
    }
    senders.give_unnamed();
    senders
        .senders
        .into_iter()
        .map(LoggedSender::finish)
        .collect()
}

type Ends = Option<(SocketAddr, SocketAddr)>;

/// A sender, and the number of earlier connections between the same ends.
type Name = (Ends, usize);

#[derive(Default)]
struct Senders {
    senders: Vec<LoggedSender>,
    places: HashMap<Name, usize>,
}

/// Rows collected for one sender.
struct LoggedSender {
    ends: Ends,
    record: SenderRecord,
    states: Vec<StateChange>,
    /// True if the states are those of polls, whose rows have no sequence numbers.
    are_states_polled: bool,
    retransmits: Vec<Timestamp>,
    /// True if the states and retransmissions may lack events.
    lacks_events: bool,
}

impl Senders {
    fn collect(&mut self, log: &Batch) {
        let mut connections: HashMap<_, usize> = HashMap::new();
        let numbered = |flow: &ImportedFlow| {
            let ends = flow.local.zip(flow.remote);
            let connection = connections
                .entry(ends.map(|(one, other)| (one.min(other), one.max(other))))
                .or_default();
            let earlier = *connection;
            *connection += 1;
            (flow.flow, (ends, earlier))
        };
        let flows: HashMap<FlowId, Name> = log.flows.iter().map(numbered).collect();
        let name = |flow: FlowId, direction: Direction| {
            let (ends, earlier) = flows.get(&flow).copied().unwrap_or_default();
            let turned = |(local, remote)| match direction {
                Direction::Forward => (local, remote),
                Direction::Reverse => (remote, local),
            };
            // Rows without endpoints belong to one sender.
            ends.map_or((None, 0), |ends| (Some(turned(ends)), earlier))
        };
        let mut polled = HashSet::new();
        for row in &log.samples {
            if row.snd_una.is_none() {
                polled.insert((row.flow, row.direction));
            }
            let sender = self.sender(name(row.flow, row.direction));
            sender.record.samples.push(*row);
        }
        for row in &log.state_changes {
            let sender = self.sender(name(row.flow, row.direction));
            sender.states.push(*row);
            sender.are_states_polled |= polled.contains(&(row.flow, row.direction));
        }
        for row in &log.counters {
            let sender = self.sender(name(row.flow, row.direction));
            sender.record.totals.push(Totals {
                at: row.at,
                retransmitted_segments: row.retransmitted_segments,
                busy: row.busy,
                receiver_limited: row.receiver_limited,
            });
        }
        for row in &log.retransmits {
            let sender = self.sender(name(row.flow, row.direction));
            sender.retransmits.push(row.at);
        }
        if log.lost_events > 0 {
            for flow in &log.flows {
                for direction in Direction::BOTH {
                    let place = self.places.get(&name(flow.flow, direction));
                    if let Some(place) = place {
                        self.senders[*place].lacks_events = true;
                    }
                }
            }
        }
    }

    fn sender(&mut self, name: Name) -> &mut LoggedSender {
        let place = *self.places.entry(name).or_insert_with(|| {
            self.senders.push(LoggedSender {
                ends: name.0,
                record: SenderRecord::default(),
                states: Vec::new(),
                are_states_polled: false,
                retransmits: Vec::new(),
                lacks_events: false,
            });
            self.senders.len() - 1
        });
        &mut self.senders[place]
    }

    fn give_unnamed(&mut self) {
        let Some(place) = self.places.get(&(None, 0)).copied() else {
            return;
        };
        // With one named sender, the owner of the unnamed rows is certain; with several, it is not.
        if self.senders.len() != 2 {
            return;
        }
        // The named sender is then the only element. `places` is outdated, but no sender is looked
        // up again.
        let unnamed = self.senders.swap_remove(place);
        self.senders[0].absorb(unnamed);
    }
}

impl LoggedSender {
    fn absorb(&mut self, mut other: Self) {
        self.record.samples.append(&mut other.record.samples);
        // Never mix the states of both: a poll may see a change before its event gets a timestamp.
        if self.states.is_empty() {
            self.states = other.states;
            self.are_states_polled = other.are_states_polled;
        }
        self.record.totals.append(&mut other.record.totals);
        self.retransmits.append(&mut other.retransmits);
        self.lacks_events |= other.lacks_events;
    }

    fn finish(mut self) -> NamedRecord {
        // The logs of a host were appended one after another, but cover the same time.
        self.record.samples.sort_by_key(|row| row.at);
        self.states.sort_by_key(|change| change.at);
        self.record.totals.sort_by_key(|totals| totals.at);
        if self.record.totals.is_empty() && !self.lacks_events {
            self.record.totals = counted(&mut self.retransmits);
        }
        self.record.epochs_polled = self.are_states_polled;
        self.record.epochs_complete =
            !(self.states.is_empty() || self.lacks_events || self.are_states_polled);
        let samples = &self.record.samples;
        let mut epochs = from_states(&self.states);
        for number in 0..epochs.len() {
            let next = epochs.get(number + 1).copied();
            let epoch = &mut epochs[number];
            epoch.ssthresh_segments = threshold_after(samples, epoch, next);
        }
        self.record.epochs = epochs;
        NamedRecord {
            ends: self.ends,
            record: self.record,
        }
    }
}

/// Counts retransmission events. There is one event per retransmitted buffer, so the totals are
/// below the number of segments where the host cuts buffers into segments late.
fn counted(retransmits: &mut [Timestamp]) -> Vec<Totals> {
    retransmits.sort_unstable();
    let numbered = retransmits.iter().zip(1..);
    numbered
        .map(|(at, number)| Totals {
            at: *at,
            retransmitted_segments: Some(number),
            busy: None,
            receiver_limited: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_measure::sender::Phase;

    use super::*;
    use crate::import::{Error, Format, import};

    fn batch(format: Format, log: &str) -> Batch {
        let lines: Vec<&str> = log
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let mut whole = Batch::default();
        import(format, (lines.join("\n") + "\n").as_bytes(), |batch| {
            whole = batch;
            Ok::<_, Error>(())
        })
        .unwrap();
        whole
    }

    fn rendered(records: &[NamedRecord]) -> String {
        let mut lines = Vec::new();
        for NamedRecord { ends, record } in records {
            lines.push(ends.map_or("unnamed".to_owned(), |(from, to)| format!("{from} to {to}")));
            for epoch in &record.epochs {
                let seconds = |at: Timestamp| at.as_nanos() / 1_000_000_000;
                lines.push(format!(
                    "{} at {} to {:?}, threshold {:?}",
                    epoch.kind.map_or("?", Phase::name),
                    seconds(epoch.began),
                    epoch.ended.map(seconds),
                    epoch.ssthresh_segments,
                ));
            }
            let again = record
                .totals
                .last()
                .and_then(|last| last.retransmitted_segments);
            lines.push(format!("{} samples, {again:?} again", record.samples.len()));
        }
        lines.join("\n")
    }

    fn event(at: u32, name: &str, values: &str) -> String {
        format!(
            "x-1 [0] . {at}.5: {name}: saddr=10.0.0.1 daddr=10.0.0.2 sport=4 dport=5 {values}\n"
        )
    }

    fn probe(at: u32, una: u32, cwnd: u32, ssthresh: u32) -> String {
        format!(
            "x-1 [0] . {at}.7: tcp_probe: src=10.0.0.1:4 dest=10.0.0.2:5 snd_nxt=0x9 snd_una={una} snd_cwnd={cwnd} ssthresh={ssthresh} snd_wnd=9 srtt=0\n"
        )
    }

    fn set(at: u32, state: u32) -> String {
        event(at, "tcp_cong_state_set", &format!("cong_state={state}"))
    }

    #[test]
    fn periods_in_a_state_are_epochs_and_disorder_ends_them() {
        let log = [
            set(1, 1),
            set(2, 3),
            event(2, "tcp_retransmit_skb", ""),
            probe(2, 1, 20, 14),
            set(3, 1),
            set(4, 3),
            set(5, 0),
            probe(5, 2, 14, 14),
            set(6, 3),
            set(7, 4),
            set(8, 4),
            probe(8, 3, 1, 7),
        ];
        assert_snapshot!(rendered(&kernel_records(&[batch(Format::TcpProbe, &log.concat())])), @r"
        10.0.0.1:4 to 10.0.0.2:5
        fast_recovery at 2 to Some(3), threshold Some(14)
        fast_recovery at 4 to Some(5), threshold Some(14)
        fast_recovery at 6 to Some(7), threshold None
        loss_recovery at 7 to None, threshold Some(7)
        3 samples, Some(1) again
        ");
    }

    #[test]
    fn lost_events_leave_epochs_incomplete_and_retransmissions_unknown() {
        let log = |lost: &str| {
            let retransmit = event(2, "tcp_retransmit_skb", "");
            let log = [set(2, 3), retransmit, lost.to_owned(), probe(5, 2, 14, 14)];
            kernel_records(&[batch(Format::TcpProbe, &log.concat())]).remove(0)
        };
        let (whole, lossy) = (log(""), log("CPU:0 [LOST 9 EVENTS]\n"));
        assert!(whole.record.epochs_complete && !lossy.record.epochs_complete);
        let known = |named: &NamedRecord| named.record.totals.len();
        assert_eq!((known(&whole), known(&lossy)), (1, 0));
    }

    #[test]
    fn connections_that_use_the_same_ports_in_sequence_are_senders_of_their_own() {
        let socket = |at, una, cookie: &str| {
            probe(at, una, 20, 30).replace("srtt=0", &format!("srtt=0 sock_cookie={cookie}"))
        };
        let trace = [socket(1, 1, "a"), socket(2, 9, "a"), socket(3, 500, "b")];
        let trace = batch(Format::TcpProbe, &trace.concat());
        assert_snapshot!(rendered(&kernel_records(&[trace])), @r"
        10.0.0.1:4 to 10.0.0.2:5
        2 samples, None again
        10.0.0.1:4 to 10.0.0.2:5
        1 samples, None again
        ");
    }

    #[test]
    fn polls_without_endpoints_belong_to_the_only_named_sender_and_have_no_complete_epochs() {
        let trace = batch(
            Format::TcpProbe,
            &[probe(1, 1, 20, 30), set(2, 3), set(4, 0)].concat(),
        );
        let polls = batch(
            Format::TcpInfo,
            "
            1.5,0,244000,10,0,0,0,41883,30,10,0,4000,0,0,1,0
            2.6,3,244000,10,0,0,0,41883,5,10,2,4000,0,0,1,0
            4.6,0,244000,10,0,0,0,41883,5,10,3,4000,0,0,1,0
        ",
        );
        let whole = kernel_records(&[trace.clone(), polls.clone()]);
        assert!(whole[0].record.epochs_complete && !whole[0].record.epochs_polled);
        assert_snapshot!(rendered(&whole), @r"
        10.0.0.1:4 to 10.0.0.2:5
        fast_recovery at 2 to Some(4), threshold Some(5)
        4 samples, Some(3) again
        ");
        let polled = kernel_records(&[polls]);
        assert!(!polled[0].record.epochs_complete && polled[0].record.epochs_polled);
        assert_snapshot!(rendered(&polled), @r"
        unnamed
        fast_recovery at 2 to Some(4), threshold Some(5)
        3 samples, Some(3) again
        ");
    }
}
