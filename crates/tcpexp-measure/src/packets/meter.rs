//! The packets of one flow.

use tcpexp_flow::{
    Class, Datagram, Direction, Flow, FlowId, Seen, Segment, StreamOffset, SynOptions,
};

use super::packet::{FlowPacketRow, PacketClass, PacketRtt, TcpPart};
use crate::Meter;
use crate::Position;
use crate::flows::Connection;
use crate::rtt::{SingleRttMeter, SingleRttRow};

/// Yields each packet of a flow, with what it shows by itself.
#[derive(Debug)]
pub struct PacketMeter {
    flow: FlowId,
    /// By direction of the data: true if the capture was taken at its sender.
    at_sender: [bool; 2],
    /// Classifies the packets as in the table of flows: by the same times of the path and the timers.
    connection: Connection,
    streams: [Stream; 2],
    rtt: SingleRttMeter,
    /// Scratch for the rows of `rtt`.
    found: Vec<SingleRttRow>,
}

#[derive(Debug, Default)]
struct Stream {
    /// The sequence number that counts as 0.
    origin: Option<StreamOffset>,
    syn: Option<SynOptions>,
}

impl PacketMeter {
    /// Creates a meter for `flow`; `position` gives the place of the capture relative to the sender
    /// of the data in each direction, if known.
    pub fn new(flow: &Flow, position: impl Fn(Direction) -> Option<Position>) -> Self {
        Self {
            flow: flow.id,
            at_sender: Direction::BOTH.map(|side| position(side) == Some(Position::Sender)),
            connection: Connection::of(flow),
            streams: Default::default(),
            rtt: SingleRttMeter::new(flow),
            found: Vec::new(),
        }
    }

    /// What a segment of the flow shows.
    pub fn of_segment(&mut self, segment: &Segment) -> FlowPacketRow {
        let tcp = self.tcp(segment);
        self.row(&segment.seen, Some(tcp))
    }

    /// A datagram of the flow.
    pub fn of_datagram(&self, datagram: &Datagram) -> FlowPacketRow {
        self.row(&datagram.seen, None)
    }

    fn row(&self, seen: &Seen, tcp: Option<TcpPart>) -> FlowPacketRow {
        FlowPacketRow {
            flow: self.flow,
            record: seen.record,
            at: seen.at,
            direction: seen.direction,
            payload_bytes: seen.payload_bytes,
            tcp,
        }
    }

    fn tcp(&mut self, segment: &Segment) -> TcpPart {
        let direction = segment.seen.direction;
        let nxt = self.connection.nxt(direction);
        let (class, is_duplicate_ack) = self.connection.see(segment);
        let class = self.class(segment, class, nxt);
        let (own, other) = self.streams_of(direction);
        // Without its own first packet, a stream is numbered from the first acknowledgment of it.
        let relative_ack = segment.ack.map(|ack| ack.since(other.origin(ack)));
        let other_origin = other.origin;
        if segment.flags.syn() {
            own.syn = segment.syn;
            own.origin = Some(segment.start);
        }
        let relative_start = segment.start.since(own.origin(segment.start));
        let window_bytes = window_bytes(segment, own.syn, other.syn);
        let relative = |block: (StreamOffset, StreamOffset)| {
            let origin = other_origin.unwrap_or(block.0);
            (block.0.since(origin), block.1.since(origin))
        };
        let mut blocks = segment.sack_blocks().map(relative);
        TcpPart {
            flags: segment.flags,
            start: segment.start,
            relative_start,
            ack: segment.ack,
            relative_ack,
            window_bytes,
            sack: std::array::from_fn(|_| blocks.next()),
            is_duplicate_sack: segment.reports_duplicate(),
            class,
            is_duplicate_ack,
            rtt: self.round_trip(segment),
        }
    }

    /// The streams of a direction and of the opposite direction.
    fn streams_of(&mut self, direction: Direction) -> (&mut Stream, &mut Stream) {
        let [forward, reverse] = &mut self.streams;
        match direction {
            Direction::Forward => (forward, reverse),
            Direction::Reverse => (reverse, forward),
        }
    }

    fn class(&self, segment: &Segment, class: Class, nxt: Option<StreamOffset>) -> PacketClass {
        let at_sender = self.at_sender[segment.seen.direction.index()];
        match class {
            Class::Empty => PacketClass::Empty,
            Class::New if nxt.is_some_and(|nxt| segment.start > nxt) => PacketClass::AfterGap,
            Class::New => PacketClass::New,
            Class::Behind(behind) if behind.is_reordered(at_sender) => PacketClass::Reordered,
            Class::Behind(behind) if behind.is_undecided(at_sender) => PacketClass::Behind,
            Class::Behind(_) => PacketClass::Retransmitted,
            Class::Copy => PacketClass::Copy,
            Class::KeepAlive => PacketClass::KeepAlive,
            Class::WindowProbe => PacketClass::WindowProbe,
        }
    }

    /// The round-trip time that the segment's ACK gives; by sequence number if it gives two.
    fn round_trip(&mut self, segment: &Segment) -> Option<PacketRtt> {
        self.rtt.segment(segment, &mut self.found);
        let mut samples = self.found.drain(..).filter_map(|row| match row {
            SingleRttRow::Sample(sample) => Some(sample),
            _ => None,
        });
        let sample = samples.next()?;
        Some(PacketRtt {
            rtt: sample.rtt,
            method: sample.method,
            class: sample.ack_class,
        })
    }
}

impl Stream {
    /// The number that counts as 0, if the first number seen is `first`, which counts as 1.
    fn origin(&mut self, first: StreamOffset) -> StreamOffset {
        *self.origin.get_or_insert(first.moved(-1))
    }
}

/// The receive window of a segment. The window of a SYN is never scaled, and windows are scaled only
/// if both SYNs offer it (RFC 7323, section 2.2).
fn window_bytes(
    segment: &Segment,
    own: Option<SynOptions>,
    other: Option<SynOptions>,
) -> Option<u64> {
    let window = u64::from(segment.window);
    if segment.flags.syn() || window == 0 {
        return Some(window);
    }
    Some(window << own?.agreed_shift(&other?))
}

impl Meter for PacketMeter {
    type Row = FlowPacketRow;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<FlowPacketRow>) {
        rows.extend([self.of_segment(segment)]);
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<FlowPacketRow>) {
        rows.extend([self.of_datagram(datagram)]);
    }

    fn end(&mut self, _flow: &Flow, _rows: &mut impl Extend<FlowPacketRow>) {}
}
