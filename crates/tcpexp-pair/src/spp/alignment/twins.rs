//! Detects captures that record each packet several times.

use super::sketch::COPY_GAP;
use tcpexp_flow::RecordIdentity;
use tcpexp_units::Timestamp;
use tcpexp_wire::Packet;

/// Number of recent packets that are compared with each new record. Between the records of a
/// packet at a router's interfaces, the capture has the records of the packets in the router's
/// queue: the initial windows of a few connections (RFC 6928).
const RECENT: usize = 64;

/// Number of records after which the verdict is final.
const JUDGED: u64 = 65_536;

/// Maximum number of records of a packet. A packet to a container passes about seven interfaces of a host: member
/// of a bond, bond, VLAN, bridge, tunnel, and both ends of a pair. More records are those of a sender that repeats
/// a packet.
const MOST_RECORDS: usize = 8;

/// Minimum number of records to judge by shares. In a shorter capture, all packets must have several records.
const FEWEST_JUDGED: usize = 20;

/// Minimum number of packets in such a short capture. A path that duplicates one packet in ten duplicates four
/// in a row with a probability of 10^-4.
const FEWEST_REPEATED: usize = 4;

/// Counts the records with payload of each packet: those that soon follow an identical record, or that follow one
/// with a greater TTL: a capture of all interfaces of a router has them before and past its queue. Hosts
/// hardly ever send such segments, while consecutive identical acknowledgments are common.
#[derive(Debug, Default)]
pub struct Twins {
    /// The latest packets, in a ring.
    recent: Box<Recent>,
    records: u64,
    packets: usize,
    counts: Counts,
}

#[derive(Debug)]
struct Recent([Option<First>; RECENT]);

/// Number of packets by their number of records; the last place is that of more than [`MOST_RECORDS`].
#[derive(Clone, Copy, Debug, Default)]
struct Counts([usize; MOST_RECORDS + 2]);

/// The first record of a packet with data.
#[derive(Clone, Copy, Debug)]
struct First {
    identity: RecordIdentity,
    ttl: u8,
    at: Timestamp,
    /// Number of records of all packets before it.
    before: u64,
    /// Number of records of the packet so far.
    records: usize,
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
            self.compare(RecordIdentity::of(packet), packet.ttl, at);
        }
        has_payload
    }

    /// Adds a TCP segment with payload by the [`identity`] of its header, which each record has.
    #[inline]
    pub(super) fn observe(&mut self, identity: u64, ttl: u8, at: Timestamp) {
        self.compare(RecordIdentity::of_hash(identity), ttl, at);
    }

    fn compare(&mut self, identity: RecordIdentity, ttl: u8, at: Timestamp) {
        if self.records >= JUDGED {
            return;
        }
        let before = self.records;
        self.records += 1;
        let is_same = |first: &&mut First| {
            first.identity.agrees(&identity)
                && ((at - first.at).abs() < COPY_GAP || ttl < first.ttl)
        };
        let recent = &mut self.recent.0;
        let same = recent.iter_mut().flatten().filter(is_same);
        // Past a router, the record of a retransmission matches the first transmission too.
        if let Some(first) = same.min_by_key(|first| first.records) {
            first.records += 1;
            return;
        }
        let place = self.packets % RECENT;
        self.packets += 1;
        let first = First {
            identity,
            ttl,
            at,
            before,
            records: 1,
        };
        if let Some(oldest) = recent[place].replace(first) {
            self.counts.add(oldest.records);
        }
    }

    /// Usual number of records of a packet; 1 if most packets have a single one.
    ///
    /// At least nine in ten records must be those of packets with several records, and nine in ten of these must be
    /// those of packets with at most the usual number. Packets with a single record among the latest 64
    /// records do not count, because further records may follow. In a short capture, all packets must have
    /// several records.
    pub fn records_per_packet(&self) -> u32 {
        let mut counts = self.counts;
        let is_short = self.records < FEWEST_JUDGED as u64;
        for first in self.recent.0.iter().flatten() {
            let is_recent = self.records - first.before <= RECENT as u64;
            let is_waiting = first.records == 1 && is_recent && !is_short;
            if !is_waiting {
                counts.add(first.records);
            }
        }
        counts.usual(is_short)
    }
}

impl Counts {
    fn add(&mut self, records: usize) {
        self.0[records.min(MOST_RECORDS + 1)] += 1;
    }

    /// `is_short` is true if the capture has fewer than [`FEWEST_JUDGED`] records.
    fn usual(&self, is_short: bool) -> u32 {
        let records = |(records, packets): (usize, &usize)| records * packets;
        let all: usize = self.0.iter().enumerate().map(records).sum();
        let repeated = all - self.0[1];
        let repeats = if is_short {
            repeated == all && self.0.iter().sum::<usize>() >= FEWEST_REPEATED
        } else {
            all >= FEWEST_JUDGED && repeated * 10 >= all * 9
        };
        if !repeats {
            return 1;
        }
        let up_to = |most: usize| {
            let counts = self.0.iter().enumerate().take(most + 1).skip(2);
            counts.map(records).sum::<usize>()
        };
        let usual = (2..=MOST_RECORDS).find(|&most| up_to(most) * 10 >= repeated * 9);
        usual
            .and_then(|usual| u32::try_from(usual).ok())
            .unwrap_or(1)
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

    /// Records of 100 packets, 1 ms apart; `of_ten` packets of ten have further records after `gap`, with the TTLs
    /// `further`.
    fn records(of_ten: u64, gap: TimeDelta, further: &[u8]) -> u32 {
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
                for &ttl in further {
                    twins.observe(number, ttl, at);
                }
            }
        }
        twins.records_per_packet()
    }

    #[test]
    fn capture_repeats_if_nearly_all_data_has_immediate_duplicates() {
        let at_once = TimeDelta::from_micros(2);
        assert_eq!(records(10, TimeDelta::ZERO, &[TTL]), 2);
        assert_eq!(records(10, at_once, &[TTL]), 2);
        assert_eq!(records(5, at_once, &[TTL]), 1);
        assert_eq!(records(7, at_once, &[TTL]), 1);
        assert_eq!(records(0, at_once, &[TTL]), 1);
        assert_eq!(records(10, COPY_GAP + COPY_GAP, &[TTL]), 1);
        for count in 2..=MOST_RECORDS {
            let further = vec![TTL; count - 1];
            let expected = u32::try_from(count).unwrap();
            assert_eq!(records(10, at_once, &further), expected);
        }
    }

    #[test]
    fn capture_repeats_if_nearly_all_data_passes_the_queue_of_its_router() {
        let queue = TimeDelta::from_millis(4);
        assert_eq!(records(10, queue, &[TTL - 1]), 2);
        assert_eq!(records(5, queue, &[TTL - 1]), 1);
        assert_eq!(records(10, queue, &[TTL + 1]), 1);
        assert_eq!(records(10, queue, &[TTL - 1, TTL - 2]), 3);
    }

    #[test]
    fn short_capture_repeats_if_all_of_at_least_four_data_packets_have_several_records() {
        let usual = |records: &[u64]| {
            let mut twins = Twins::default();
            for (number, &records) in (0_u64..).zip(records) {
                let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(number.cast_signed());
                (0..records).for_each(|_| twins.observe(number, TTL, at));
            }
            twins.records_per_packet()
        };
        assert_eq!(usual(&[2; 4]), 2);
        assert_eq!(usual(&[3; 6]), 3);
        assert_eq!(usual(&[2; 3]), 1);
        assert_eq!(usual(&[2, 2, 2, 2, 1]), 1);
        let mostly_single = [[2; 4].as_slice(), &[1; 20]].concat();
        assert_eq!(usual(&mostly_single), 1);
    }

    #[test]
    fn sender_that_repeats_a_packet_more_often_than_interfaces_do_is_not_a_repeating_capture() {
        let further = [TTL; MOST_RECORDS];
        assert_eq!(records(10, TimeDelta::ZERO, &further), 1);
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
        assert_eq!(twins.records_per_packet(), 2);
    }
}
