//! What is remembered of one flow while it lives.

use std::net::SocketAddr;

use tcpexp_units::Timestamp;
use tcpexp_wire::{SeqNum, Tcp};

use crate::{Direction, End, FlowId, FlowKey, StreamOffset};

/// The most sequence numbers that a SYN can take: its own and those of one IP packet's data.
const MAX_SYN_BYTES: u32 = 1 << 16;

/// How the initiator of a flow is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InitiatorKnown {
    /// It sent the SYN.
    Syn,
    /// The other end sent a SYN with ACK; the SYN itself was not captured.
    SynAck,
    /// It sent the first packet captured, of a connection that was open already or of a protocol
    /// that opens none. May be wrong.
    FirstPacket,
}

impl InitiatorKnown {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::FirstPacket => "first_packet",
        }
    }
}

/// One flow: a TCP connection, or the UDP datagrams between two endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Its number in this capture.
    pub id: FlowId,
    /// Protocol and endpoints.
    pub key: FlowKey,
    /// Which end opened it.
    pub initiator: End,
    /// How that is known.
    pub initiator_known: InitiatorKnown,
    /// Capture time of its first packet.
    pub first_seen: Timestamp,
    /// Capture time of its latest packet.
    pub last_seen: Timestamp,
    pub(crate) streams: [Stream; 2],
    pub(crate) reset: bool,
}

/// One direction of a TCP connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    /// Sequence number of the SYN.
    isn: Option<SeqNum>,
    /// One past the furthest byte seen.
    furthest: Option<StreamOffset>,
    finished: bool,
}

impl Flow {
    /// Address and port of the initiator.
    pub fn initiator(&self) -> SocketAddr {
        self.key.endpoint(self.initiator)
    }

    /// Address and port of the responder.
    pub fn responder(&self) -> SocketAddr {
        self.key.endpoint(self.initiator.opposite())
    }

    /// Which way a packet from `sender` goes.
    pub fn direction(&self, sender: End) -> Direction {
        if sender == self.initiator {
            Direction::Forward
        } else {
            Direction::Reverse
        }
    }

    /// Initial sequence number that `sender` chose, if its SYN was captured.
    pub fn isn(&self, sender: End) -> Option<SeqNum> {
        self.streams[sender as usize].isn
    }

    /// Whether both ends sent a FIN, or one a RST.
    pub fn is_closed(&self) -> bool {
        self.reset || self.streams.iter().all(|stream| stream.finished)
    }

    /// Whether only one end of a connection has been heard.
    pub(crate) fn is_opening(&self) -> bool {
        !self.streams.iter().all(Stream::is_heard)
    }

    /// Whether `tcp` from `sender` opens another connection between the same endpoints.
    ///
    /// Ports are reused (RFC 9293, section 3.4.1): a SYN with another initial sequence number than
    /// the one seen is not a retransmission, and one in the middle of a connection is not part of
    /// it. Where the other end has sent a bare SYN only, both may be opening at once (section 3.5).
    pub(crate) fn is_reused_by(&self, sender: End, tcp: &Tcp<'_>) -> bool {
        let own = &self.streams[sender as usize];
        let other = &self.streams[sender.opposite() as usize];
        if !tcp.flags.syn() || own.isn == Some(tcp.seq) {
            return false;
        }
        if tcp.flags.ack() {
            // A server that keeps nothing of a SYN (RFC 4987, section 3.6) may answer the second
            // copy of it with another number than the first.
            own.is_heard() && !other.opened_for(tcp)
        } else {
            own.is_heard() || !other.has_only_opened()
        }
    }
}

impl Stream {
    /// Whether anything of it was captured.
    fn is_heard(&self) -> bool {
        self.furthest.is_some()
    }

    /// Whether its SYN was captured and nothing behind it.
    fn has_only_opened(&self) -> bool {
        self.isn.is_some_and(|isn| {
            self.furthest.map(StreamOffset::seq) == Some(SeqNum(isn.0.wrapping_add(1)))
        })
    }

    /// Whether `answer`, a SYN with ACK, acknowledges its SYN, perhaps with data that the SYN
    /// carried (RFC 7413).
    fn opened_for(&self, answer: &Tcp<'_>) -> bool {
        self.isn
            .is_some_and(|isn| (1..=MAX_SYN_BYTES).contains(&answer.ack.0.wrapping_sub(isn.0)))
    }

    /// Takes in a segment and tells the offset of its first byte.
    #[inline]
    pub(crate) fn advance(&mut self, tcp: &Tcp<'_>, payload_bytes: u32) -> StreamOffset {
        let flags = tcp.flags;
        let start = match self.furthest {
            Some(furthest) => furthest.nearest(tcp.seq),
            None => StreamOffset::first(tcp.seq),
        };
        if flags.rst() && self.is_heard() {
            // Its number comes from the segment that it refuses, or is made up.
            return start;
        }
        if flags.syn() {
            self.isn = Some(tcp.seq);
        }
        self.finished |= flags.fin();
        // SYN and FIN take a sequence number each (RFC 9293, section 3.4).
        let numbered = u32::from(flags.syn()) + u32::from(flags.fin());
        let end = start.plus(payload_bytes).plus(numbered);
        if self.furthest.is_none_or(|furthest| end > furthest) {
            self.furthest = Some(end);
        }
        start
    }
}
