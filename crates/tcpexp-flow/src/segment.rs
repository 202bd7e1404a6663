//! One TCP segment or UDP datagram in its flow.

use tcpexp_units::Timestamp;
use tcpexp_wire::{Packet, SeqNum, Tcp, TcpFlags, Transport};

use crate::flow::Numbers;
use crate::key::hash;
use crate::slot::Tracked;
use crate::{Direction, End, FlowKey, StreamOffset};

/// The most blocks that fit into the options of one TCP header (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 4;

/// A packet reduced to what measuring needs; owns its parts.
#[derive(Clone, Copy, Debug)]
pub enum FlowPacket {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
}

/// A packet's place in the capture and its sizes.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Record number in the capture, from 0.
    pub record: u64,
    /// When it was captured, on the capture's clock.
    pub at: Timestamp,
    /// Bytes on the wire, link header included.
    pub wire_bytes: u32,
    /// Bytes of the IP datagram.
    pub ip_bytes: u32,
    /// Bytes of transport payload.
    pub payload_bytes: u32,
    /// IPv4 Identification, where there is one.
    pub ip_id: Option<u16>,
    /// Traffic class: DSCP and ECN.
    pub traffic_class: u8,
    /// Which way it goes in its flow.
    pub direction: Direction,
}

/// One UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Place and sizes.
    pub seen: Seen,
}

/// One TCP segment, its numbers unwrapped.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Place and sizes.
    pub seen: Seen,
    /// Offset of the first sequence number in its own direction's stream: that of the SYN if it
    /// has one, else of the first payload byte.
    pub start: StreamOffset,
    /// Acknowledgment number, in the opposite direction's stream; `None` without the ACK flag.
    pub ack: Option<StreamOffset>,
    /// Window field as sent, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: TcpFlags,
    /// `TSval` and `TSecr` (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Bytes of payload that arrived marked so far, modulo 2^24, by the `AccECN` option (RFC 9768,
    /// section 3.2.3).
    pub echoed_ce_bytes: Option<u32>,
    /// What a SYN offers.
    pub syn: Option<SynOptions>,
    /// Whether part of the options was not captured, so that an absent option may have been sent.
    pub options_cut: bool,
    sack: SackBlocks,
}

/// The options that stand on a SYN only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size in bytes.
    pub mss: Option<u16>,
    /// Window scale shift.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgments are permitted.
    pub sack_permitted: bool,
    /// Whether the timestamps option is there.
    pub timestamps: bool,
}

/// SACK blocks in bytes from the segment's acknowledgment number, in the order sent.
// A third of the size of unwrapped offsets; a segment is copied once on its way.
#[derive(Clone, Copy, Debug, Default)]
struct SackBlocks {
    edges: [(i32, i32); MAX_SACK_BLOCKS],
    count: u8,
}

/// A packet on its way to its flow. Until [`FlowTable::place`](crate::FlowTable::place) has given it
/// its place, its numbers are those on the wire and its direction means nothing.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub(crate) key: FlowKey,
    pub(crate) hash: u64,
    pub(crate) sender: End,
    pub(crate) packet: FlowPacket,
}

impl Arrival {
    /// The packet of record number `record`, `wire_bytes` long with its link header.
    pub fn new(record: u64, at: Timestamp, wire_bytes: u32, packet: &Packet<'_>) -> Self {
        let seen = Seen::of(record, at, wire_bytes, packet);
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let mut segment = Segment::plain(seen, tcp);
                segment.take_options(tcp);
                Self::of(packet, FlowPacket::Tcp(segment))
            }
            Transport::Udp(_) => Self::of(packet, FlowPacket::Udp(Datagram { seen })),
        }
    }

    /// The same, added to the end of `arrivals`: it is written where it stays.
    #[inline]
    pub fn push(
        arrivals: &mut Vec<Self>,
        record: u64,
        at: Timestamp,
        wire_bytes: u32,
        packet: &Packet<'_>,
    ) {
        let seen = Seen::of(record, at, wire_bytes, packet);
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
                    segment.take_options(tcp);
                }
            }
            Transport::Udp(_) => push_datagram(arrivals, packet, Datagram { seen }),
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

    /// The packet.
    #[inline]
    pub const fn packet(&self) -> &FlowPacket {
        &self.packet
    }
}

// Apart, or else the few fields that both kinds of packets have are gathered one by one.
#[inline(never)]
fn push_datagram(arrivals: &mut Vec<Arrival>, packet: &Packet<'_>, datagram: Datagram) {
    arrivals.push(Arrival::of(packet, FlowPacket::Udp(datagram)));
}

impl FlowPacket {
    /// Place and sizes.
    pub const fn seen(&self) -> &Seen {
        match self {
            Self::Tcp(segment) => &segment.seen,
            Self::Udp(datagram) => &datagram.seen,
        }
    }
}

impl Seen {
    #[inline]
    fn of(record: u64, at: Timestamp, wire_bytes: u32, packet: &Packet<'_>) -> Self {
        Self {
            record,
            at,
            wire_bytes,
            ip_bytes: packet.ip_bytes,
            payload_bytes: packet.payload_bytes,
            ip_id: packet.ip_id,
            traffic_class: packet.traffic_class,
            direction: Direction::Forward,
        }
    }
}

impl Segment {
    /// A segment as it is on the wire, not yet placed in its streams; of its options no more than
    /// most segments have.
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
            options_cut: tcp.options.is_cut(),
            sack: SackBlocks::default(),
        }
    }

    /// Whether that is all: it has the timestamps option or none.
    #[inline]
    fn is_plain(&self, tcp: &Tcp<'_>) -> bool {
        !tcp.flags.syn() && (self.timestamps.is_some() || tcp.options.raw().is_empty())
    }

    /// Takes in whatever options there are.
    #[inline(never)]
    fn take_options(&mut self, tcp: &Tcp<'_>) {
        let options = &tcp.options;
        self.timestamps = options.timestamps();
        self.echoed_ce_bytes = options.accurate_ecn_ce_bytes();
        self.syn = tcp.flags.syn().then(|| SynOptions {
            mss: options.mss(),
            window_scale: options.window_scale(),
            sack_permitted: options.sack_permitted(),
            timestamps: self.timestamps.is_some(),
        });
        if tcp.flags.ack() {
            for (left, right) in options.sack_blocks().take(MAX_SACK_BLOCKS) {
                let from_ack = |edge: u32| edge.wrapping_sub(tcp.ack.0).cast_signed();
                self.sack.edges[usize::from(self.sack.count)] =
                    (from_ack(left.0), from_ack(right.0));
                self.sack.count += 1;
            }
        }
    }

    /// The header fields that place it in the connection.
    #[inline]
    pub(crate) fn numbers(&self) -> Numbers {
        Numbers {
            seq: self.start.seq(),
            ack: self.ack.map_or(SeqNum(0), StreamOffset::seq),
            flags: self.flags,
            payload_bytes: self.seen.payload_bytes,
        }
    }

    /// Puts it where its flow has it.
    #[inline]
    pub(crate) fn place(&mut self, tracked: &Tracked, ack: impl Fn(SeqNum) -> StreamOffset) {
        self.seen.direction = tracked.direction;
        self.start = tracked.start.unwrap_or(self.start);
        self.ack = self.ack.map(|wire| ack(wire.seq()));
    }

    /// One past the last sequence number it takes; SYN and FIN take one each (RFC 9293, section 3.4).
    #[inline]
    pub fn end(&self) -> StreamOffset {
        self.start
            .plus(self.seen.payload_bytes)
            .plus(self.numbered())
    }

    /// Sequence numbers that SYN and FIN take.
    #[inline]
    fn numbered(&self) -> u32 {
        u32::from(self.flags.syn()) + u32::from(self.flags.fin())
    }

    /// Whether it takes sequence numbers: it has payload, a SYN or a FIN.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.seen.payload_bytes > 0 || self.numbered() > 0
    }

    /// Offset of its first payload byte.
    #[inline]
    pub fn payload_start(&self) -> StreamOffset {
        self.start.plus(u32::from(self.flags.syn()))
    }

    /// How many SACK blocks it carries.
    #[inline]
    pub fn sack_block_count(&self) -> usize {
        usize::from(self.sack.count)
    }

    /// Its SACK blocks in the opposite direction's stream, first byte and the byte after the last,
    /// in the order sent. A D-SACK block is the first (RFC 2883).
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (StreamOffset, StreamOffset)> + '_ {
        self.ack.into_iter().flat_map(move |ack| {
            self.sack.edges[..self.sack_block_count()]
                .iter()
                .map(move |&(left, right)| (ack.moved(left.into()), ack.moved(right.into())))
        })
    }
}
