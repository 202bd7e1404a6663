//! Records of packets after the first, in a capture that has each packet several times.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Packet;

use crate::RecordIdentity;
use crate::classify::COPY_DELAY;

/// Longest time in a router's queue between two records. A retransmission within this time is no match: it has
/// the TTL of the first record, not the lower TTL past the router.
const LONGEST_QUEUE: TimeDelta = TimeDelta::from_seconds(10);
/// Maximum number of first records with one hash, because each lookup walks them: about the packets in the queue
/// of a router. Datagrams without an Identification share a hash if their endpoints and lengths are equal.
const MOST_ALIKE: usize = 1_024;

/// Recognises all records of each packet but the first, in a capture that has each packet several times.
///
/// The records have equal headers but for the TTL. Either they come from one interface or from
/// successive ones, and are close in time; or a router, perhaps with a queue, is between them and
/// lowers the TTL (RFC 1812, section 5.3.1). After the usual number of records, the next one with these headers
/// is another packet: hosts send duplicate ACKs with equal headers.
///
/// Memory grows with the number of packets whose last record has not been captured yet.
#[derive(Debug)]
pub struct FurtherRecords {
    /// Usual number of records of a packet.
    usual: u32,
    firsts: HashMap<u64, VecDeque<First>, FixedState>,
    /// Hash of the identity and time of the first records, in the order of the capture.
    order: VecDeque<(u64, Timestamp)>,
}

/// The first record of a packet whose last record has not been captured yet.
#[derive(Clone, Copy, Debug)]
struct First {
    identity: RecordIdentity,
    at: Timestamp,
    ttl: u8,
    /// Number of records so far.
    records: u32,
}

impl FurtherRecords {
    /// Begins with the first record of a capture that usually has `usual` records of a packet.
    pub fn new(usual: u32) -> Self {
        Self {
            usual,
            firsts: HashMap::default(),
            order: VecDeque::new(),
        }
    }

    /// Takes the next record of the capture; returns true if an earlier record has the same packet.
    pub fn is_further(&mut self, packet: &Packet<'_>, at: Timestamp) -> bool {
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
            let first = &mut firsts[place];
            first.records += 1;
            if first.records >= self.usual {
                firsts.remove(place);
            }
            if firsts.is_empty() {
                self.firsts.remove(&identity.hash());
            }
            return true;
        }
        if firsts.len() == MOST_ALIKE {
            firsts.pop_front();
        }
        firsts.push_back(First {
            identity,
            at,
            ttl,
            records: 1,
        });
        self.order.push_back((identity.hash(), at));
        false
    }

    /// Forgets first records whose packet has all its records, or that are too old.
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

    /// A mark for each packet of a script: `1` for a first record, `2` for a further one.
    fn records(text: &str) -> String {
        records_of(2, text)
    }

    /// Like [`records`], for a capture that usually has `usual` records of a packet.
    fn records_of(usual: u32, text: &str) -> String {
        let mut further = FurtherRecords::new(usual);
        let mut marks = String::new();
        each(text, |packet, at| {
            marks.push(if further.is_further(packet, at) {
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
        let mut further = FurtherRecords::new(2);
        each(&text, |packet, at| {
            assert!(!further.is_further(packet, at));
            assert!(further.order.len() <= 101 && further.firsts.len() <= 101);
        });
    }

    #[test]
    fn few_first_records_without_a_second_one_are_compared() {
        let line = |number: u32| format!("0.{number:06} > udp 100 num {number} v6\n");
        let text: String = (0..3_000).map(line).collect();
        let mut further = FurtherRecords::new(2);
        each(&text, |packet, at| {
            assert!(!further.is_further(packet, at));
        });
        assert!(
            further
                .firsts
                .values()
                .all(|alike| alike.len() <= MOST_ALIKE)
        );
    }

    #[test]
    fn all_records_after_the_first_are_further_ones_up_to_the_usual_number() {
        let text = "
            0.000000 > 1:1001(1000) v6
            0.000001 > 1:1001(1000) v6
            0.000002 > 1001:2001(1000) v6
            0.000003 > 1:1001(1000) v6
            0.000004 > 1001:2001(1000) v6
            0.000005 > 1001:2001(1000) v6
            0.000006 < ack 2001 v6
            0.000007 < ack 2001 v6
            0.000008 < ack 2001 v6
            0.000009 < ack 2001 v6
            0.000010 < ack 2001 v6
            0.000011 < ack 2001 v6
        ";
        assert_eq!(records_of(3, text), "121222122122");
    }

    #[test]
    fn records_before_and_past_two_routers_are_those_of_one_packet() {
        let text = "
            0.000 > 1:1001(1000) ttl 63 v6
            0.300 > 1001:2001(1000) ttl 63 v6
            0.900 > 1:1001(1000) ttl 62 v6
            1.000 > 1:1001(1000) ttl 61 v6
            1.200 > 1001:2001(1000) ttl 62 v6
            1.400 > 1001:2001(1000) ttl 61 v6
        ";
        assert_eq!(records_of(3, text), "112222");
    }
}
