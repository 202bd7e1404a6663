//! Second records of packets, in a capture that has each packet twice.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Packet;

use crate::RecordIdentity;
use crate::classify::COPY_DELAY;

/// Longest time in a router's queue between the two records. A retransmission within this time is no match: it
/// has the TTL of the first record, not the lower TTL past the router.
const LONGEST_QUEUE: TimeDelta = TimeDelta::from_seconds(10);

/// Recognises the second record of each packet, in a capture that has each packet twice.
///
/// The two records have equal headers but for the TTL. Either both come from one interface or
/// from two successive ones, and are close in time; or a router, perhaps with a queue, is between them and
/// lowers the TTL (RFC 1812, section 5.3.1).
///
/// Memory grows with the number of packets whose second record has not been captured yet.
#[derive(Debug, Default)]
pub struct SecondRecords {
    firsts: HashMap<u64, Vec<First>, FixedState>,
    /// Hash of the identity and time of the first records, in the order of the capture.
    order: VecDeque<(u64, Timestamp)>,
}

/// A record whose second one has not been captured yet.
#[derive(Clone, Copy, Debug)]
struct First {
    identity: RecordIdentity,
    at: Timestamp,
    ttl: u8,
}

impl SecondRecords {
    /// Takes the next packet of the capture; returns true if it is the second record of an earlier one.
    pub fn is_second(&mut self, packet: &Packet<'_>, at: Timestamp) -> bool {
        self.forget(at);
        let identity = RecordIdentity::of(packet);
        let ttl = packet.ttl;
        let is_first = |first: &First| {
            let gap = at - first.at;
            let is_soon = (ttl == first.ttl && gap.abs() < COPY_DELAY)
                || (ttl < first.ttl && gap < LONGEST_QUEUE);
            is_soon && first.identity.agrees(&identity)
        };
        let firsts = self.firsts.entry(identity.hash()).or_default();
        if let Some(place) = firsts.iter().position(is_first) {
            firsts.remove(place);
            if firsts.is_empty() {
                self.firsts.remove(&identity.hash());
            }
            return true;
        }
        firsts.push(First { identity, at, ttl });
        self.order.push_back((identity.hash(), at));
        false
    }

    /// Forgets first records that have been found again, or that are too old.
    fn forget(&mut self, now: Timestamp) {
        while let Some(&(hash, at)) = self.order.front() {
            let is_old = now - at >= LONGEST_QUEUE;
            if let Some(firsts) = self.firsts.get_mut(&hash) {
                if !is_old && firsts.iter().any(|first| first.at == at) {
                    return;
                }
                firsts.retain(|first| first.at != at);
                if firsts.is_empty() {
                    self.firsts.remove(&hash);
                }
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;
    use tcpexp_wire::{LinkType, Tunnels, decode};

    use super::*;

    /// Passes the packets of a script on.
    fn each(text: &str, mut take: impl FnMut(&Packet<'_>, Timestamp)) {
        for (at, frame) in script::packets(text) {
            let bytes = u32::try_from(frame.len()).unwrap();
            take(
                &decode(LinkType::ETHERNET, &frame, bytes, Tunnels::Closed).unwrap(),
                at,
            );
        }
    }

    /// A mark for each packet of a script: `1` for a first record, `2` for a second one.
    fn records(text: &str) -> String {
        let mut seconds = SecondRecords::default();
        let mut marks = String::new();
        each(text, |packet, at| {
            marks.push(if seconds.is_second(packet, at) {
                '2'
            } else {
                '1'
            });
        });
        marks
    }

    #[test]
    fn record_of_the_same_packet_at_once_is_the_second_one() {
        let text = "
            0.000000 > 1:1001(1000) v6
            0.000001 > 1:1001(1000) v6
            0.000002 > 1001:2001(1000) v6
            0.000003 > 2001:3001(1000) v6
            0.000004 > 1001:2001(1000) v6
            0.000005 > 2001:3001(1000) v6
        ";
        assert_eq!(records(text), "121122");
    }

    #[test]
    fn retransmission_is_a_packet_of_its_own_with_a_second_record() {
        let text = "
            0.000 > 1:1001(1000) v6
            0.000 > 1:1001(1000) v6
            0.001 > 1:1001(1000) v6
            0.001 > 1:1001(1000) v6
            0.200 > 1:1001(1000) v6
            0.200 > 1:1001(1000) v6
        ";
        assert_eq!(records(text), "121212");
    }

    #[test]
    fn record_past_a_router_is_the_second_one_after_any_queue() {
        let text = "
            0.000 > 1:1001(1000) ttl 63 v6
            0.300 > 1:1001(1000) ttl 63 v6
            0.900 > 1:1001(1000) ttl 62 v6
            1.200 > 1:1001(1000) ttl 62 v6
            1.300 > 1:1001(1000) ttl 63 v6
        ";
        assert_eq!(records(text), "11221");
    }

    #[test]
    fn duplicate_acks_are_packets_of_their_own() {
        let text = "
            0.0000 < ack 1 v6
            0.0000 < ack 1 v6
            0.0001 < ack 1 v6
            0.0001 < ack 1 v6
            0.0002 < ack 1 win 9 v6
        ";
        assert_eq!(records(text), "12121");
    }

    #[test]
    fn memory_is_bounded_by_the_packets_without_a_second_record() {
        let line = |number: u32| {
            let (at, from) = (f64::from(number) / 10.0, number * 10 + 1);
            format!("{at:.3} > {from}:{}(10) v6\n", from + 10)
        };
        let text: String = (0..500).map(line).collect();
        let mut seconds = SecondRecords::default();
        each(&text, |packet, at| {
            assert!(!seconds.is_second(packet, at));
            assert!(seconds.order.len() <= 101 && seconds.firsts.len() <= 101);
        });
    }
}
