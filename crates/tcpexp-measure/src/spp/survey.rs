//! A first look at one capture: a sample of its packets that another capture's sample meets.
//!
//! Both points must choose the same packets without knowing of each other, so a packet is chosen
//! by its content: those with the smallest content hashes are kept (a bottom-k sketch; the idea of
//! consistent sampling is that of RFC 5475, section 6.2). Small captures are kept whole, large ones
//! give a uniform sample, and memory is bounded either way.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use foldhash::fast::FixedState as FastState;
use foldhash::quality::FixedState;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Addresses, Packet, Tcp, TcpFlags, Transport};

use crate::Sighted;

/// How many packets are kept that are known by their addresses, ports and content: enough that
/// the clocks are told to a microsecond.
const KEPT_BY_ENDPOINTS: usize = 16_384;
/// How many that are known by content alone: enough to see that addresses are translated.
const KEPT_BY_CONTENT: usize = 4_096;
/// Two like packets closer than this are taken for copies of one, in the sample and where a capture
/// records each packet twice.
pub(super) const COPY_GAP: TimeDelta = TimeDelta::from_millis(1);
/// How much of a datagram's payload is compared.
const PREFIX_BYTES: usize = 16;
/// Among how many segments a twin is looked for.
const RECENT: usize = 8;

/// What a first pass over one capture found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Usable packets.
    pub(super) packets: u64,
    /// Record number and time of the first packet.
    pub(super) first: Option<(u64, Timestamp)>,
    /// Record number and time of the last packet.
    pub(super) last: Option<(u64, Timestamp)>,
    /// The largest TCP payload, in bytes.
    pub(super) largest_segment_bytes: u32,
    /// Whether TCP options were cut off: a packet may then have had SACK blocks that are not seen.
    pub(super) cuts_options: bool,
    twins: Twins,
    /// Connections of which the SYN was seen.
    pub(super) begins: Begins,
    /// Packets identified with their addresses and ports.
    pub(super) by_endpoints: Sketch<KEPT_BY_ENDPOINTS>,
    /// Packets identified by what address translation leaves alone.
    pub(super) by_content: Sketch<KEPT_BY_CONTENT>,
}

impl Survey {
    /// Takes in the capture's next packet.
    #[inline]
    pub fn observe(&mut self, sighted: &Sighted<'_>) {
        self.packets += 1;
        let place = (sighted.record, sighted.at);
        self.first.get_or_insert(place);
        self.last = Some(place);
        let content = content_hash(sighted.packet);
        let endpoints = with_endpoints(content, sighted.packet);
        if let Transport::Tcp(tcp) = &sighted.packet.transport {
            self.cuts_options |= tcp.options.is_cut();
            if tcp.flags.syn() {
                self.begins.add(&FieldValues::of(sighted.packet));
            }
        }
        if let Transport::Tcp(_) = sighted.packet.transport
            && sighted.packet.payload_bytes > 0
        {
            let bytes = sighted.packet.payload_bytes;
            self.largest_segment_bytes = self.largest_segment_bytes.max(bytes);
            let ip_id = sighted.packet.ip_id.unwrap_or(0);
            let identity = endpoints ^ (u64::from(bytes) << 16 | u64::from(ip_id));
            self.twins.observe(identity, sighted.at);
        }
        self.by_endpoints.offer(endpoints, sighted);
        self.by_content.offer(content, sighted);
    }

    /// Whether the capture holds each packet twice, as those of mirror ports may.
    pub(super) fn doubles(&self) -> bool {
        self.twins.are_the_rule()
    }
}

/// So many connections are remembered by their SYN.
const BEGINS: usize = 65_536;

/// Connections that began within a capture: nothing of them passed the point unseen before.
#[derive(Debug, Default)]
pub(super) struct Begins(HashSet<[(u64, u16); 2], FastState>);

impl Begins {
    #[cold]
    fn add(&mut self, syn: &FieldValues) {
        if self.0.len() < BEGINS {
            self.0.insert(syn.endpoints());
        }
    }

    /// Whether `packet` is of one of them, and no SYN itself: that may have been sent before.
    pub(super) fn hold(&self, packet: &FieldValues) -> bool {
        packet.flags & TcpFlags::SYN.bits() == 0 && self.0.contains(&packet.endpoints())
    }
}

/// So many segments are enough to tell whether a capture doubles.
const JUDGED: u64 = 65_536;

/// TCP data that follows the like of it at once: hosts hardly ever send so, while there is nothing
/// odd about two acknowledgments that are alike.
#[derive(Debug, Default)]
struct Twins {
    /// The latest that are without a twin, by number.
    recent: [Option<(u64, Timestamp)>; RECENT],
    segments: u64,
    pairs: u64,
}

impl Twins {
    #[inline]
    fn observe(&mut self, identity: u64, at: Timestamp) {
        if self.segments < JUDGED {
            self.compare(identity, at);
        }
    }

    fn compare(&mut self, identity: u64, at: Timestamp) {
        let place = self.segments % RECENT as u64;
        self.segments += 1;
        let is_twin = |&mut (other, time): &mut (u64, Timestamp)| {
            other == identity && (at - time).abs() < COPY_GAP
        };
        let recent = &mut self.recent;
        if recent
            .iter_mut()
            .any(|other| other.take_if(is_twin).is_some())
        {
            self.pairs += 1;
        } else {
            let place = usize::try_from(place).expect("less than RECENT");
            recent[place] = Some((identity, at));
        }
    }

    /// Nine in ten and more have one; a few segments are no rule.
    fn are_the_rule(&self) -> bool {
        self.segments >= 20 && self.pairs * 20 >= self.segments * 9
    }
}

/// The packets with the smallest hashes, `KEPT` of them.
#[derive(Debug)]
pub(super) struct Sketch<const KEPT: usize> {
    kept: Vec<Sketched>,
    /// Larger hashes are not kept.
    limit: u64,
}

impl<const KEPT: usize> Default for Sketch<KEPT> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            limit: u64::MAX,
        }
    }
}

/// One packet of the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sketched {
    hash: u64,
    pub(super) record: u64,
    pub(super) time: Timestamp,
    pub(super) fields: FieldValues,
}

/// The header fields that may or may not survive the path, each as a number to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldValues {
    pub(super) is_tcp: bool,
    pub(super) source_address: u64,
    pub(super) destination_address: u64,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) ip_id: Option<u16>,
    pub(super) ttl: u8,
    pub(super) flags: u16,
    pub(super) window: u16,
    pub(super) checksum: u16,
    pub(super) payload_bytes: u32,
    pub(super) timestamps: Option<(u32, u32)>,
    pub(super) sack_blocks: u64,
}

impl<const KEPT: usize> Sketch<KEPT> {
    #[inline]
    fn offer(&mut self, hash: u64, sighted: &Sighted<'_>) {
        if hash <= self.limit {
            self.keep(hash, sighted);
        }
    }

    fn keep(&mut self, hash: u64, sighted: &Sighted<'_>) {
        self.kept.push(Sketched {
            hash,
            record: sighted.record,
            time: sighted.at,
            fields: FieldValues::of(sighted.packet),
        });
        if self.kept.len() >= 2 * KEPT {
            self.compact();
        }
    }

    /// Sorts, drops copies, keeps no more than two of a kind, and then only the smallest hashes.
    fn compact(&mut self) {
        // What is sorted is small: the packets are moved once.
        let places = 0..u32::try_from(self.kept.len()).expect("twice KEPT fits");
        let mut order: Vec<(u64, u32)> = places
            .map(|place| (self.kept[place as usize].hash, place))
            .collect();
        order.sort_unstable();
        let mut kept: Vec<Sketched> = Vec::with_capacity(2 * KEPT);
        let mut alike = 0;
        for (hash, place) in order {
            let packet = self.kept[place as usize];
            match kept.last().filter(|before| before.hash == hash) {
                Some(before) if alike == 2 || packet.is_copy_of(before) => continue,
                Some(_) => alike += 1,
                None if kept.len() >= KEPT => {
                    self.limit = hash - 1;
                    break;
                }
                None => alike = 1,
            }
            kept.push(packet);
        }
        self.kept = kept;
    }

    /// The packets that stand in both samples once and only once, in order of the first one's
    /// records.
    pub(super) fn common(&mut self, other: &mut Self) -> Vec<(Sketched, Sketched)> {
        self.compact();
        other.compact();
        let mut common = Vec::new();
        let mut others = other.kept.chunk_by(|a, b| a.hash == b.hash).peekable();
        for run in self.kept.chunk_by(|a, b| a.hash == b.hash) {
            while others
                .next_if(|theirs| theirs[0].hash < run[0].hash)
                .is_some()
            {}
            if let (&[ours], Some(&&[theirs])) = (run, others.peek())
                && ours.hash == theirs.hash
            {
                common.push((ours, theirs));
            }
        }
        common.sort_unstable_by_key(|(ours, _)| ours.record);
        common
    }
}

impl Sketched {
    fn is_copy_of(&self, earlier: &Self) -> bool {
        // Captured before and after a router, a packet has another time to live.
        let fields = FieldValues {
            ttl: earlier.fields.ttl,
            ..self.fields
        };
        self.hash == earlier.hash
            && fields == earlier.fields
            && (self.fields.ip_id.is_some_and(|id| id != 0) || self.time - earlier.time < COPY_GAP)
    }
}

impl FieldValues {
    /// The two ends, in an order that is the same for both directions.
    fn endpoints(&self) -> [(u64, u16); 2] {
        let source = (self.source_address, self.source_port);
        let destination = (self.destination_address, self.destination_port);
        [source.min(destination), source.max(destination)]
    }

    fn of(packet: &Packet<'_>) -> Self {
        let (source_address, destination_address) = address_numbers(&packet.addresses);
        let mut fields = Self {
            is_tcp: false,
            source_address,
            destination_address,
            source_port: packet.ports.source,
            destination_port: packet.ports.destination,
            ip_id: packet.ip_id,
            ttl: packet.ttl,
            flags: 0,
            window: 0,
            checksum: 0,
            payload_bytes: packet.payload_bytes,
            timestamps: None,
            sack_blocks: 0,
        };
        match &packet.transport {
            Transport::Tcp(tcp) => {
                fields.is_tcp = true;
                fields.flags = tcp.flags.bits();
                fields.window = tcp.window;
                fields.checksum = tcp.checksum;
                fields.timestamps = tcp.options.timestamps();
                fields.sack_blocks = sack_hash(tcp);
            }
            Transport::Udp(udp) => fields.checksum = udp.checksum,
        }
        fields
    }
}

/// Hash of a packet's SACK blocks; 0 without any.
#[inline]
pub(super) fn sack_hash(tcp: &Tcp<'_>) -> u64 {
    // Twelve bytes are the timestamps alone, the usual case.
    if tcp.options.raw().len() <= 12 {
        return 0;
    }
    let mut blocks = tcp.options.sack_blocks().peekable();
    if blocks.peek().is_none() {
        return 0;
    }
    let mut hasher = FixedState::default().build_hasher();
    for (left, right) in blocks {
        hasher.write_u64(u64::from(left.0) << 32 | u64::from(right.0));
    }
    hasher.finish()
}

/// A number for an address, the same at both points: an IPv4 address is its own, an IPv6 address a
/// hash beyond all of those.
pub(super) fn address_number(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => {
            let mut hasher = FixedState::default().build_hasher();
            hasher.write_u128(v6.to_bits());
            hasher.finish() | 1 << 63
        }
    }
}

fn address_numbers(addresses: &Addresses) -> (u64, u64) {
    (
        address_number(addresses.source()),
        address_number(addresses.destination()),
    )
}

/// Hash of what no router and no segmentation offload changes in a packet's first bytes.
#[inline]
fn content_hash(packet: &Packet<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    match &packet.transport {
        Transport::Tcp(tcp) => {
            // A super-packet and its first MTU packet start alike but end differently, so neither
            // the length nor PSH and FIN are part of it.
            hasher.write_u64(u64::from(tcp.seq.0) << 32 | u64::from(tcp.ack.0));
            hasher.write_u8(u8::from(tcp.flags.syn()) << 1 | u8::from(packet.payload_bytes > 0));
        }
        Transport::Udp(_) => {
            hasher.write_u32(packet.payload_bytes);
            hasher.write_u16(packet.ip_id.unwrap_or(0));
            // A prefix that only one of two captures holds in full is no identity.
            let expected = PREFIX_BYTES.min(packet.payload_bytes as usize);
            hasher.write(packet.payload.get(..expected).unwrap_or_default());
        }
    }
    hasher.finish()
}

#[inline]
fn with_endpoints(content: u64, packet: &Packet<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u64(content);
    match packet.addresses {
        Addresses::V4 {
            source,
            destination,
        } => {
            hasher.write_u64(u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()));
        }
        Addresses::V6 {
            source,
            destination,
        } => {
            hasher.write_u128(source.to_bits());
            hasher.write_u128(destination.to_bits());
        }
    }
    hasher.write_u32(u32::from(packet.ports.source) << 16 | u32::from(packet.ports.destination));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(of_ten: u64, gap: TimeDelta) -> Twins {
        let mut twins = Twins::default();
        for number in 0..100_u64 {
            let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(number.cast_signed());
            twins.observe(number, at);
            if number % 10 < of_ten {
                twins.observe(number, at + gap);
            }
        }
        twins
    }

    #[test]
    fn capture_doubles_if_nearly_all_data_follows_its_like_at_once() {
        let at_once = TimeDelta::from_micros(2);
        assert!(twins(10, TimeDelta::ZERO).are_the_rule());
        assert!(twins(10, at_once).are_the_rule());
        assert!(!twins(5, at_once).are_the_rule());
        assert!(!twins(0, at_once).are_the_rule());
        assert!(!twins(10, COPY_GAP + COPY_GAP).are_the_rule());
    }
}
