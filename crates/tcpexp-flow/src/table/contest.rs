//! SYNs between the endpoints of a connection that may go on.
//!
//! A forged SYN, or a late duplicate of an earlier one, does not end a connection: its receiver answers with a
//! challenge ACK (RFC 5961, section 4; RFC 9293, section 3.10.7.4). But a host that has lost the connection may open
//! the next one with the same ports. The SYN does not show which, and the packets after it do. So the SYN begins a
//! flow, and the established flow stays until a packet continues the new one.
//!
//! A connection that was reset may have segments in flight when the next one opens. Its flow stays beside the new
//! one for a short time, and the sequence numbers distinguish their segments.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use tcpexp_units::TimeDelta;

use super::FlowTable;
use crate::flow::{Flow, Numbers};
use crate::key::hash;
use crate::slot::Slot;
use crate::{End, FlowKey, MAX_WINDOW_BYTES};

/// A segment this close to the established connection may belong to it, although its number is also the first after
/// the SYN: a forged SYN may be in the window. Equal to the largest window without window scaling (RFC 9293, section
/// 3.1).
const NEAR_BYTES: u64 = 1 << 16;

/// Time without a segment after which a reset connection has none in flight: twice the initial retransmission
/// timeout, which exceeds most round trips (RFC 6298, section 2.1 and appendix A).
pub(super) const IN_FLIGHT: TimeDelta = TimeDelta::from_seconds(2);

/// Two live flows between the same endpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contest {
    /// The flow of the connection that was open before.
    established: Slot,
    /// The flow of the SYN.
    pub(super) opening: Slot,
    /// True if the established connection has gone on since the SYN.
    goes_on: bool,
    /// True if the new connection goes on: of the other one, which was reset, only segments in flight arrive.
    is_open: bool,
}

impl Contest {
    /// The flow that ends if a third one begins.
    pub(super) fn dispensable(&self) -> Slot {
        if self.is_open {
            self.established
        } else {
            self.opening
        }
    }
}

/// The contests of a flow table.
#[derive(Debug, Default)]
pub(super) struct Contests(HashMap<FlowKey, Contest, FixedState>);

impl Contests {
    /// Returns the contest between these endpoints.
    #[inline]
    pub(super) fn of(&self, key: &FlowKey) -> Option<Contest> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(key).copied()
    }

    /// Ends the contest of the flow in `slot`, which has ended.
    pub(super) fn settle(&mut self, key: &FlowKey, slot: Slot) {
        let is_in = |contest: Contest| [contest.established, contest.opening].contains(&slot);
        if self.of(key).is_some_and(is_in) {
            self.0.remove(key);
        }
    }
}

/// The flow of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Established,
    Opening,
    /// The flow of the SYN, and the segment shows that the other end accepted the SYN.
    Opened,
}

impl FlowTable {
    /// Keeps both flows until a segment shows which goes on.
    pub(super) fn contest(&mut self, established: Slot, opening: Slot) {
        let key = self.flows[established.index()].key;
        // Only the cache skips `look_up`, which decides between the two.
        self.recent.forget(hash(&key), established);
        let contest = Contest {
            established,
            opening,
            goes_on: false,
            is_open: false,
        };
        self.contests.0.insert(key, contest);
    }

    /// Returns the flow of a segment from `sender`. If the segment continues the new flow, the established flow ends,
    /// unless a RST ended it: then it stays for segments in flight.
    #[cold]
    pub(super) fn judge(&mut self, contest: Contest, sender: End, tcp: &Numbers) -> Slot {
        let Contest {
            established,
            opening,
            goes_on,
            is_open,
        } = contest;
        let [old, new] = [established, opening].map(|slot| &self.flows[slot.index()]);
        if is_open {
            let is_over = new.last_seen - old.last_seen > IN_FLIGHT;
            if !is_over && is_late(old, new, sender, tcp) {
                return established;
            }
            if is_over {
                self.end(established);
            }
            return opening;
        }
        let side = side(old, new, goes_on, sender, tcp);
        let key = old.key;
        match side {
            Side::Opening => opening,
            Side::Opened => {
                if old.is_reset()
                    && let Some(contest) = self.contests.0.get_mut(&key)
                {
                    contest.is_open = true;
                } else {
                    self.end(established);
                }
                opening
            }
            Side::Established => {
                let is_of_connection = !tcp.flags.syn() && !tcp.flags.rst();
                // Segments in flight do not show that a reset connection goes on.
                if is_of_connection
                    && !goes_on
                    && !old.is_reset()
                    && let Some(contest) = self.contests.0.get_mut(&key)
                {
                    contest.goes_on = true;
                }
                established
            }
        }
    }
}

/// True if a segment from `sender` belongs to the reset connection `old` and not to its successor `new`.
fn is_late(old: &Flow, new: &Flow, sender: End, tcp: &Numbers) -> bool {
    let own = sender as usize;
    let from_old = old.streams[own].ahead(tcp.seq);
    let from_new = new.streams[own]
        .ahead(tcp.seq)
        .map_or(u64::MAX, i64::unsigned_abs);
    !tcp.flags.syn()
        && from_old.is_some_and(|ahead| {
            (-MAX_WINDOW_BYTES..=0).contains(&ahead) && ahead.unsigned_abs() < from_new
        })
}

/// Decides between the established flow `old` and the flow `new` of a later SYN.
fn side(old: &Flow, new: &Flow, goes_on: bool, sender: End, tcp: &Numbers) -> Side {
    let own = sender as usize;
    let other = sender.opposite() as usize;
    let ack = tcp.flags.ack().then_some(tcp.ack);
    // The end that sent the SYN numbers its data from there, and the other end acknowledges them.
    let (stream, number) = if new.streams[own].isn.is_some() {
        (own, Some(tcp.seq))
    } else {
        (other, ack)
    };
    let after_syn = number.and_then(|number| new.streams[stream].after_syn(number));
    if tcp.flags.syn() {
        return if new.streams[own].isn == Some(tcp.seq) {
            Side::Opening
        } else if stream == other && after_syn == Some(0) {
            Side::Opened
        } else {
            Side::Established
        };
    }
    if tcp.flags.rst() {
        // A middlebox may refuse the SYN although the connection goes on.
        return if after_syn == Some(0) {
            Side::Opening
        } else {
            Side::Established
        };
    }
    let continues_old = old.streams[own].ahead(tcp.seq) == Some(0)
        || ack.and_then(|ack| old.streams[other].ahead(ack)) == Some(0);
    let after_syn = after_syn.filter(|bytes| *bytes < MAX_WINDOW_BYTES && !continues_old);
    let Some(after_syn) = after_syn else {
        return Side::Established;
    };
    let ahead = number.and_then(|number| old.streams[stream].ahead(number));
    let from_old = ahead.map_or(u64::MAX, i64::unsigned_abs);
    let is_first = after_syn == 0 && from_old > NEAR_BYTES;
    let is_nearer = !goes_on && after_syn.unsigned_abs() < from_old;
    if is_first || is_nearer {
        Side::Opened
    } else {
        Side::Established
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::trace::{flows, initiators, table};

    /// Returns the flow numbers of the lines after an open connection, whose numbers end at 1101 and 5001.
    fn after_open(lines: &str) -> Vec<u32> {
        let open = "
            0.000 > S 1000
            0.040 < S. 5000 ack 1001
            0.040 > . 1001 ack 5001
            0.050 > 1001:1101(100) ack 5001
            0.090 < . 5001 ack 1101
        ";
        flows(&format!("{open}\n{lines}"))[5..].to_vec()
    }

    #[test]
    fn connection_goes_on_after_a_forged_syn() {
        for isn in [777_777, 1_100, 1_101, 6_101, 4_000_000_000_u32] {
            let forged = after_open(&format!(
                "
                1.000 > S {isn}
                1.040 < . 5001 ack 1101     // challenge ACK
                1.100 > 1101:6101(5000) ack 5001
                1.110 > 6101:9101(3000) ack 5001
                1.150 < . 5001 ack 9101
                1.200 < 5001:6001(1000) ack 9101
                1.240 > F 9101 ack 6001
            "
            ));
            assert_eq!(forged, [1, 0, 0, 0, 0, 0, 0], "{isn}");
        }
        let from_the_server =
            after_open("1.0 < S 99 ack 0\n1.1 > . 1101 ack 5001\n1.2 < . 5001 ack 1101");
        assert_eq!(from_the_server, [1, 0, 0]);
        let syn_ack =
            after_open("1.0 < S. 99 ack 999999\n1.1 > . 1101 ack 5001\n1.2 < . 5001 ack 1101");
        assert_eq!(syn_ack, [1, 0, 0]);
        let without_challenge = after_open("1.0 > S 777\n1.1 > 1101:1201(100) ack 5001");
        assert_eq!(without_challenge, [1, 0]);
    }

    #[test]
    fn each_forged_syn_is_a_flow_of_its_own() {
        let twice = after_open("1 > S 77\n2 > S 77\n3 > S 99\n3.1 < S 55\n4 < . 5001 ack 1101");
        assert_eq!(twice, [1, 1, 2, 3, 0]);
    }

    #[test]
    fn answered_syn_begins_a_connection() {
        assert_eq!(
            after_open("1 > S 77\n1.1 < S. 99 ack 78\n1.2 > . 78 ack 100"),
            [1, 1, 1]
        );
        assert_eq!(
            after_open("1 < S 77\n1.1 > S. 99 ack 78\n1.2 < . 78 ack 100"),
            [1, 1, 1]
        );
        // An answer to the established connection on its way.
        let late =
            after_open("1 > S 77\n1.1 < . 5001 ack 1101\n1.2 < S. 99 ack 78\n1.3 > . 78 ack 100");
        assert_eq!(late, [1, 0, 1, 1]);
    }

    #[test]
    fn host_that_lost_the_connection_opens_the_next_one() {
        // RFC 9293, figure 9.
        let lost = after_open(
            "
            1.000 > S 400
            1.040 < . 5001 ack 1101
            1.040 > R 1101
            2.000 > S 400
            2.040 < S. 9000 ack 401
            2.040 > . 401 ack 9001
        ",
        );
        assert_eq!(lost, [1, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn segments_in_flight_of_a_reset_connection_are_not_of_the_next_one() {
        let reused = after_open(
            "
            1.000 > 1101:3101(2000) ack 5001
            1.001 > R. 3101 ack 5001
            1.002 > S 900000
            1.040 < . 5001 ack 2101
            1.041 > R 2101
            1.042 < S. 70000 ack 900001
            1.043 < . 5001 ack 3101
            1.044 > R 3101
            1.045 > . 900001 ack 70001
            1.046 > 900001:900101(100) ack 70001
            1.090 < . 70001 ack 900101
            4.000 > 900101:900201(100) ack 70001
            4.001 < . 5001 ack 3101
        ",
        );
        assert_eq!(reused, [0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn third_connection_ends_the_reset_one_and_not_the_second() {
        let reused = after_open(
            "
            1.001 > R. 1101 ack 5001
            1.002 > S 900000
            1.042 < S. 70000 ack 900001
            1.045 > . 900001 ack 70001
            1.046 > 900001:900101(100) ack 70001
            1.050 > S 777
            1.090 < . 70001 ack 900101
            1.100 > 900101:900201(100) ack 70001
        ",
        );
        assert_eq!(reused, [0, 1, 1, 1, 1, 2, 1, 1]);
    }

    #[test]
    fn one_direction_shows_the_next_connection() {
        let one_way = |lines: &str| {
            flows(&format!(
                "0 > S 1000\n0.1 > 1001:1101(100) ack 5001\n{lines}"
            ))
        };
        assert_eq!(
            one_way("1 > S 77\n1.1 > . 78 ack 9001\n1.2 > 78:178(100) ack 9001"),
            [0, 0, 1, 1, 1]
        );
        assert_eq!(
            one_way("1 > S 777777\n1.1 > 786778:786878(100) ack 9001"),
            [0, 0, 1, 1]
        );
        // A late packet of the connection before.
        let late = one_way("1 > S 777777\n1.1 > 1001:1101(100) ack 5001\n1.2 > . 777778 ack 9001");
        assert_eq!(late, [0, 0, 1, 0, 1]);
        let answers = flows(
            "0 < S. 50 ack 1001\n1 < 51:99(48) ack 1101\n2 < S. 777 ack 7\n3 < 778:788(10) ack 17",
        );
        assert_eq!(answers, [0, 0, 1, 1]);
    }

    #[test]
    fn connection_goes_on_after_a_middlebox_refuses_a_syn() {
        let refused = after_open(
            "1 > S 77\n1.1 < R. 0 ack 78\n2 > 1101:1201(100) ack 5001\n3 < . 5001 ack 1201",
        );
        assert_eq!(refused, [1, 1, 0, 0]);
    }

    #[test]
    fn offsets_of_a_connection_go_on_after_a_forged_syn() {
        let forged = "
            0.000 > S 1000
            0.040 < S. 5000 ack 1001
            0.050 > 1001:1101(100) ack 5001
            1.000 > S 777777
            1.100 > 1101:1201(100) ack 5001
        ";
        assert_snapshot!(table(forged), @r"
        flow 0 forward +0
        flow 0 reverse +0
        flow 0 forward +1
        flow 1 forward +0
        flow 0 forward +101
        ");
        assert_snapshot!(initiators(forged), @r"
        0: 10.0.0.1:40000 to 10.0.0.2:80 by syn
        1: 10.0.0.1:40000 to 10.0.0.2:80 by syn
        ");
    }

    #[test]
    fn unanswered_syn_ends_after_four_minutes() {
        let open = "0.0 > S 1000\n0.1 < S. 5000 ack 1001\n0.2 > 1001:1101(100) ack 5001\n";
        let ticks: Vec<String> = (2..250)
            .map(|second| format!("{second} > udp 1 flow 9"))
            .collect();
        let flows = flows(&format!(
            "{open}1 > S 77\n{}\n250 > S 77\n251 < . 5001 ack 1101",
            ticks.join("\n")
        ));
        assert_eq!((flows[3], &flows[252..]), (1, &[3, 0][..]));
    }
}
