//! Detects captures that record each packet twice.

use super::sketch::COPY_GAP;
use tcpexp_flow::RecordIdentity;
use tcpexp_units::Timestamp;
use tcpexp_wire::Packet;

/// Number of recent segments that are compared with each new segment. Between the two records of a
/// packet at a router's interfaces, the capture has the records of the packets in the router's
/// queue: the initial windows of a few connections (RFC 6928).
const RECENT: usize = 64;

/// Number of segments after which the verdict is final.
const JUDGED: u64 = 65_536;

/// Counts packets with payload that directly follow an identical segment, or that follow one with a
/// greater TTL: a capture of all interfaces of a router has them before and past its queue. Hosts
/// hardly ever send such segments, while consecutive identical acknowledgments are common.
#[derive(Debug, Default)]
pub struct Twins {
    /// The latest segments without a twin, in a ring.
    recent: Recent,
    segments: u64,
    pairs: u64,
}

#[derive(Debug)]
struct Recent([Option<Record>; RECENT]);

/// One record of a data segment.
#[derive(Clone, Copy, Debug)]
struct Record {
    identity: RecordIdentity,
    ttl: u8,
    at: Timestamp,
}

impl Default for Recent {
    fn default() -> Self {
        Self([None; RECENT])
    }
}

impl Twins {
    /// Adds the next packet of the capture; returns true if it has payload.
    pub fn add(&mut self, packet: &Packet<'_>, at: Timestamp) -> bool {
        let has_payload = packet.payload_bytes > 0;
        if has_payload {
            self.compare(Record {
                identity: RecordIdentity::of(packet),
                ttl: packet.ttl,
                at,
            });
        }
        has_payload
    }

    /// Adds a TCP segment with payload by the [`identity`] of its header, which each record has.
    #[inline]
    pub(super) fn observe(&mut self, identity: u64, ttl: u8, at: Timestamp) {
        if self.segments < JUDGED {
            let identity = RecordIdentity::of_hash(identity);
            self.compare(Record { identity, ttl, at });
        }
    }

    fn compare(&mut self, record: Record) {
        let place = self.segments % RECENT as u64;
        self.segments += 1;
        let is_twin = |other: &mut Record| {
            other.identity.agrees(&record.identity)
                && ((record.at - other.at).abs() < COPY_GAP || record.ttl < other.ttl)
        };
        let recent = &mut self.recent.0;
        if recent
            .iter_mut()
            // A record has one twin, so the twin is taken out.
            .any(|other| other.take_if(is_twin).is_some())
        {
            self.pairs += 1;
        } else {
            let place = usize::try_from(place).expect("less than RECENT");
            recent[place] = Some(record);
        }
    }

    /// True if at least nine in ten packets have a twin, apart from the latest, whose twins may follow.
    /// Fewer than 20 packets prove nothing.
    pub fn are_the_rule(&self) -> bool {
        let waiting = self.recent.0.iter().flatten().count() as u64;
        let judged = self.segments.saturating_sub(waiting);
        // `judged` counts both records of a pair: pairs / (judged / 2) ≥ 9 / 10.
        judged >= 20 && self.pairs * 20 >= judged * 9
    }
}

/// Identity of a data segment; `endpoints` is the hash of its endpoints and content.
pub(super) fn identity(packet: &Packet<'_>, endpoints: u64) -> u64 {
    let ip_id = packet.ip_id.unwrap_or(0);
    // The hash of the content leaves out length and IP ID, which a retransmission may change.
    endpoints ^ (u64::from(packet.payload_bytes) << 16 | u64::from(ip_id))
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::*;

    const TTL: u8 = 64;

    fn twins(of_ten: u64, gap: TimeDelta, ttl_of_twin: u8) -> Twins {
        let mut twins = Twins::default();
        let mut later = Vec::new();
        for number in 0..100_u64 {
            let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(number.cast_signed());
            twins.observe(number, TTL, at);
            if number % 10 < of_ten {
                later.push((number, at + gap));
            }
            let is_due =
                |&mut (_, due): &mut (u64, Timestamp)| due - at < TimeDelta::from_millis(1);
            for (number, at) in later.extract_if(.., is_due) {
                twins.observe(number, ttl_of_twin, at);
            }
        }
        twins
    }

    #[test]
    fn capture_doubles_if_nearly_all_data_has_an_immediate_duplicate() {
        let at_once = TimeDelta::from_micros(2);
        assert!(twins(10, TimeDelta::ZERO, TTL).are_the_rule());
        assert!(twins(10, at_once, TTL).are_the_rule());
        assert!(!twins(5, at_once, TTL).are_the_rule());
        assert!(!twins(0, at_once, TTL).are_the_rule());
        assert!(!twins(10, COPY_GAP + COPY_GAP, TTL).are_the_rule());
    }

    #[test]
    fn capture_doubles_if_nearly_all_data_passes_the_queue_of_its_router() {
        let queue = TimeDelta::from_millis(4);
        assert!(twins(10, queue, TTL - 1).are_the_rule());
        assert!(!twins(5, queue, TTL - 1).are_the_rule());
        assert!(!twins(10, queue, TTL + 1).are_the_rule());
    }

    #[test]
    fn capture_doubles_although_a_longer_link_header_cuts_more_of_each_second_record() {
        use tcpexp_testkit::script;
        use tcpexp_wire::{LinkType, Tunnels, decode};

        let mut twins = Twins::default();
        for number in 0..30 {
            let text = format!("0.{number:03} > udp 100 num {number}");
            let (at, frame) = script::packets(&text).remove(0);
            // A capture of 50 bytes of each packet has 8 bytes of payload, or 4 after a VLAN tag.
            for captured in [50, 46] {
                let bytes = u32::try_from(frame.len()).unwrap();
                let captured = &frame[..captured];
                let packet = decode(LinkType::ETHERNET, captured, bytes, Tunnels::Closed);
                assert!(twins.add(&packet.unwrap(), at));
            }
        }
        assert!(twins.are_the_rule());
    }
}
