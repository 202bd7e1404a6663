//! One TCP segment or datagram in its flow.

use tcpexp_units::Timestamp;
use tcpexp_wire::{Packet, Quic, SeqNum, SynOptions, Tcp, TcpFlags, TcpOptions, Transport};

use crate::flow::Numbers;
use crate::key::hash;
use crate::slot::Tracked;
use crate::{Direction, End, FlowKey, StreamOffset};

/// Maximum number of SACK blocks in the options of one TCP header (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 4;

/// An owned packet with only the fields that measurements need.
#[derive(Clone, Copy, Debug)]
pub enum FlowPacket {
    /// A TCP segment.
    Tcp(Segment),
    /// A packet of UDP or another protocol without sequence numbers that tcpexp follows.
    Datagram(Datagram),
}

/// A packet's place in the capture and its sizes.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Record number in the capture, from 0. It does not show the order of records that are out of
    /// time order in the file; see [`place`](Self::place).
    pub record: u64,
    /// See [`Sighted::moved`](crate::Sighted::moved).
    pub(crate) moved: i32,
    /// Capture time, on the capture's clock.
    pub at: Timestamp,
    /// Bytes on the wire, link header included; see [`is_possible_length`].
    pub wire_bytes: u32,
    /// Bytes of the IP datagram.
    pub ip_bytes: u32,
    /// Bytes of transport payload.
    pub payload_bytes: u32,
    /// IPv4 Identification; `None` for IPv6.
    pub ip_id: Option<u16>,
    /// Traffic class: DSCP and ECN.
    pub traffic_class: u8,
    /// IPv4 TTL, or IPv6 hop limit.
    pub ttl: u8,
    /// Direction in its flow.
    pub direction: Direction,
}

/// One packet that is not TCP.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Place and sizes.
    pub seen: Seen,
    /// Header of its first QUIC packet; `None` if it is certainly not QUIC. Only long headers show
    /// that it is.
    pub quic: Option<Quic>,
}

/// One TCP segment with unwrapped sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Place and sizes.
    pub seen: Seen,
    /// Offset of the first sequence number in the segment's own stream: the SYN if it has one, else
    /// the first payload byte.
    pub start: StreamOffset,
    /// Acknowledgment number, in the opposite direction's stream; `None` without the ACK flag.
    pub ack: Option<StreamOffset>,
    /// Window field as sent, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: TcpFlags,
    /// `TSval` and `TSecr` (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Number of payload bytes that have arrived marked so far, modulo 2^24, from the `AccECN`
    /// option (RFC 9768, section 3.2.3).
    pub echoed_ce_bytes: Option<u32>,
    /// Options of a SYN; `None` for other segments, and if the capture cut off a part of the options:
    /// an absent option may have been sent.
    pub syn: Option<SynOptions>,
    sack: SackBlocks,
}

/// SACK blocks in the order sent, in bytes relative to the segment's acknowledgment number.
// Relative edges are small, which matters because each segment is copied.
#[derive(Clone, Copy, Debug, Default)]
struct SackBlocks {
    edges: [(i32, i32); MAX_SACK_BLOCKS],
    count: u8,
    /// True if the capture cut off a part of the options, which may hold blocks.
    is_cut: bool,
}

/// A packet not yet assigned to its flow. Until [`FlowTable::place`](crate::FlowTable::place)
/// assigns it, its sequence numbers are the wire's and its direction has no meaning.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub(crate) key: FlowKey,
    pub(crate) hash: u64,
    pub(crate) sender: End,
    pub(crate) packet: FlowPacket,
}

impl Arrival {
    /// Creates the packet of record number `record`; `wire_bytes` is its length including the link
    /// header.
    pub fn new(record: u64, at: Timestamp, wire_bytes: u32, packet: &Packet<'_>) -> Self {
        Self::of_seen(Seen::of(record, 0, at, wire_bytes, packet), packet)
    }

    pub(crate) fn of_seen(seen: Seen, packet: &Packet<'_>) -> Self {
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let mut segment = Segment::plain(seen, tcp);
                if !segment.is_plain(tcp) {
                    segment.take_options(tcp.options, tcp.flags, tcp.ack);
                }
                Self::of(packet, FlowPacket::Tcp(segment))
            }
            Transport::Udp(_) | Transport::Other(_) => {
                Self::of(packet, FlowPacket::Datagram(Datagram::of(seen, packet)))
            }
        }
    }

    /// Appends the packet of `seen` to `arrivals`, which saves a copy.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "to hand a packet over in memory takes half as long as to decode it"
    )]
    pub(crate) fn push(arrivals: &mut Vec<Self>, seen: Seen, packet: &Packet<'_>) {
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let segment = Segment::plain(seen, tcp);
                let is_plain = segment.is_plain(tcp);
                arrivals.push(Self::of(packet, FlowPacket::Tcp(segment)));
                if !is_plain
                    && let Some(Self {
                        packet: FlowPacket::Tcp(segment),
                        ..
                    }) = arrivals.last_mut()
                {
                    segment.take_options(tcp.options, tcp.flags, tcp.ack);
                }
            }
            Transport::Udp(_) | Transport::Other(_) => {
                push_datagram(arrivals, *packet, seen);
            }
        }
    }

    #[inline]
    fn of(packet: &Packet<'_>, flow_packet: FlowPacket) -> Self {
        let (key, sender) = FlowKey::of(packet);
        Self {
            hash: hash(&key),
            key,
            sender,
            packet: flow_packet,
        }
    }

    /// Returns the packet.
    #[inline]
    pub const fn packet(&self) -> &FlowPacket {
        &self.packet
    }
}

// Not inlined: if it is inlined, the compiler collects the fields that both kinds of packets share
// one by one. Takes the packet by value: a packet whose address is taken must be in memory, even if
// it is TCP.
#[inline(never)]
fn push_datagram(arrivals: &mut Vec<Arrival>, packet: Packet<'_>, seen: Seen) {
    let datagram = Datagram::of(seen, &packet);
    arrivals.push(Arrival::of(&packet, FlowPacket::Datagram(datagram)));
}

impl Datagram {
    fn of(mut seen: Seen, packet: &Packet<'_>) -> Self {
        if let Transport::Other(other) = &packet.transport {
            seen.payload_bytes -= other.header_rest_bytes.min(seen.payload_bytes);
        }
        let is_udp = matches!(packet.transport, Transport::Udp(_));
        let quic = if is_udp {
            Quic::of(packet.payload)
        } else {
            None
        };
        Self { seen, quic }
    }
}

impl FlowPacket {
    /// Place and sizes.
    pub const fn seen(&self) -> &Seen {
        match self {
            Self::Tcp(segment) => &segment.seen,
            Self::Datagram(datagram) => &datagram.seen,
        }
    }
}

/// Largest number of bytes around an IP datagram in its frame: the headers of the link and of a few tunnels
/// (at most 94 bytes each: Ethernet with two VLAN tags, IPv6, UDP and VXLAN, with room for options), padding
/// and trailers.
const MOST_AROUND_IP_BYTES: u32 = 1_024;

/// True if a frame of `wire_bytes` can have had an IP datagram of `ip_bytes`.
///
/// Some writers leave the length of the frame at 0 or at that of the captured part, and a flipped bit makes it huge.
/// Callers then replace it by that of the headers: [`frame_bytes`](tcpexp_wire::frame_bytes).
#[inline]
pub const fn is_possible_length(wire_bytes: u32, ip_bytes: u32) -> bool {
    // Wraps if the datagram is longer than the frame.
    wire_bytes.wrapping_sub(ip_bytes) <= MOST_AROUND_IP_BYTES
}

impl Seen {
    #[inline]
    pub(crate) fn of(
        record: u64,
        moved: i32,
        at: Timestamp,
        wire_bytes: u32,
        packet: &Packet<'_>,
    ) -> Self {
        Self {
            record,
            moved,
            at,
            wire_bytes,
            ip_bytes: packet.ip_bytes,
            payload_bytes: packet.payload_bytes,
            ip_id: packet.ip_id,
            traffic_class: packet.traffic_class,
            ttl: packet.ttl,
            direction: Direction::Forward,
        }
    }

    /// Place in the order of the pass, which is the time order as far as the capture is sorted. It
    /// equals the record number in a capture that is in order.
    #[inline]
    pub fn place(&self) -> u64 {
        self.record.wrapping_add_signed(i64::from(self.moved))
    }
}

impl Segment {
    /// Creates a segment with the wire's numbers, not yet placed in its streams. Options are read
    /// only if the timestamps option is the only one.
    #[inline]
    fn plain(seen: Seen, tcp: &Tcp<'_>) -> Self {
        Self {
            seen,
            start: StreamOffset::first(tcp.seq),
            ack: tcp.flags.ack().then_some(StreamOffset::first(tcp.ack)),
            window: tcp.window,
            flags: tcp.flags,
            timestamps: tcp.options.lone_timestamps(),
            echoed_ce_bytes: None,
            syn: None,
            sack: SackBlocks::default(),
        }
    }

    /// True if `plain` has read all options: the segment is not a SYN and has only the timestamps
    /// option, or no options, and none is cut off.
    #[inline]
    fn is_plain(&self, tcp: &Tcp<'_>) -> bool {
        !tcp.flags.syn()
            && (self.timestamps.is_some() || tcp.options.raw().is_empty())
            && !tcp.options.is_cut()
    }

    /// Reads all options of a segment with these flags and this acknowledgment number.
    // By value, as in `push_datagram`.
    #[inline(never)]
    fn take_options(&mut self, options: TcpOptions<'_>, flags: TcpFlags, ack: SeqNum) {
        let of_ack = if flags.syn() {
            let (syn, of_ack) = options.of_syn();
            self.syn = (!options.is_cut()).then_some(syn);
            of_ack
        } else {
            let of_ack = options.of_ack();
            // `CeFeedback` uses no counter of a SYN.
            self.echoed_ce_bytes = of_ack.ce_bytes;
            of_ack
        };
        self.timestamps = of_ack.timestamps;
        self.sack.is_cut = options.is_cut();
        // The blocks are relative to the acknowledgment number, which is valid only with ACK.
        if flags.ack() {
            for (left, right) in of_ack.sack_blocks().take(MAX_SACK_BLOCKS) {
                let from_ack = |edge: u32| edge.wrapping_sub(ack.0).cast_signed();
                self.sack.edges[usize::from(self.sack.count)] =
                    (from_ack(left.0), from_ack(right.0));
                self.sack.count += 1;
            }
        }
    }

    /// Returns the header fields that determine its place in the connection.
    #[inline]
    pub(crate) fn numbers(&self) -> Numbers {
        Numbers {
            seq: self.start.seq(),
            ack: self.ack.map_or(SeqNum(0), StreamOffset::seq),
            flags: self.flags,
            payload_bytes: self.seen.payload_bytes,
            ip_id: self.seen.ip_id.unwrap_or(0),
        }
    }

    /// Sets its direction and its unwrapped offsets.
    #[inline]
    pub(crate) fn place(&mut self, tracked: &Tracked, ack: impl Fn(SeqNum) -> StreamOffset) {
        self.seen.direction = tracked.direction;
        self.start = tracked.start.unwrap_or(self.start);
        self.ack = self.ack.map(|wire| ack(wire.seq()));
    }

    /// One past its last sequence number; SYN and FIN take one each (RFC 9293, section 3.4).
    #[inline]
    pub fn end(&self) -> StreamOffset {
        self.start
            .plus(self.seen.payload_bytes)
            .plus(self.numbered())
    }

    /// Number of sequence numbers that payload, SYN and FIN take.
    #[inline]
    pub(crate) fn numbers_taken(&self) -> u32 {
        self.seen.payload_bytes + self.numbered()
    }

    /// Number of sequence numbers that SYN and FIN take.
    #[inline]
    fn numbered(&self) -> u32 {
        u32::from(self.flags.syn()) + u32::from(self.flags.fin())
    }

    /// True if it takes sequence numbers: it has payload, a SYN or a FIN.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.seen.payload_bytes > 0 || self.numbered() > 0
    }

    /// Sequence number of its FIN, one past its last payload byte; `None` without a FIN.
    pub(crate) fn fin(&self) -> Option<StreamOffset> {
        let fin = self.payload_start().plus(self.seen.payload_bytes);
        self.flags.fin().then_some(fin)
    }

    /// Offset of the first payload byte.
    #[inline]
    pub fn payload_start(&self) -> StreamOffset {
        self.start.plus(u32::from(self.flags.syn()))
    }

    /// Number of SACK blocks.
    #[inline]
    pub fn sack_block_count(&self) -> usize {
        usize::from(self.sack.count)
    }

    /// True if the capture cut off a part of the options, so that more SACK blocks may have been sent.
    #[inline]
    pub fn has_cut_options(&self) -> bool {
        self.sack.is_cut
    }

    /// SACK blocks in the opposite direction's stream, as first byte and the byte after the last,
    /// in the order sent. A D-SACK block comes first (RFC 2883).
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (StreamOffset, StreamOffset)> + '_ {
        self.ack.into_iter().flat_map(move |ack| {
            self.sack.edges[..self.sack_block_count()]
                .iter()
                .map(move |&(left, right)| (ack.moved(left.into()), ack.moved(right.into())))
        })
    }

    /// True if the first SACK block reports duplicate bytes (RFC 2883, section 4).
    pub fn reports_duplicate(&self) -> bool {
        let mut blocks = self.sack_blocks();
        let (Some((left, right)), Some(ack)) = (blocks.next(), self.ack) else {
            return false;
        };
        right <= ack
            || blocks
                .next()
                .is_some_and(|(from, to)| from <= left && right <= to)
    }
}
