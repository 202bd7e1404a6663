//! The classes of segments.

use crate::cause::RetransmissionCause;
use crate::identity::{OrderEvidence, SendOrder};

/// Class of a segment in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Takes no sequence numbers of the stream. It has none, it is a RST, its numbers are outside the receive
    /// window, or it is the first SYN-ACK of a simultaneous open, whose only number is that of its SYN.
    Empty,
    /// Continues the stream, or leaves a gap.
    New,
    /// Starts below the highest sequence number captured so far.
    Behind(Behind),
    /// Duplicate of a packet captured just before, made by the capture or the path.
    Copy,
    /// Keep-alive: probes whether the other end is still there (RFC 9293, section 3.8.4).
    KeepAlive,
    /// Probes whether the other end's window is still closed (RFC 9293, section 3.8.6.1).
    WindowProbe,
}

/// A segment that starts below the highest sequence number captured so far.
/// It was reordered, or it is a retransmission, or this is undecided: see [`Behind::is_reordered`] and
/// [`Behind::is_undecided`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Order of sending, relative to the segments captured before it.
    pub sent: SendOrder,
    /// Source of the order.
    pub known_by: OrderEvidence,
    /// Cause, if it is a retransmission.
    pub cause: RetransmissionCause,
    /// True if the other end had already acknowledged all of it.
    pub is_acknowledged: bool,
}

impl Behind {
    /// True if it is not known whether it is a retransmission. At the sender (`at_sender`), a segment that fills a gap
    /// is one.
    pub fn is_undecided(&self, at_sender: bool) -> bool {
        self.is_undecided_repeat() || (self.sent == SendOrder::Unknown && !at_sender)
    }

    /// True if its bytes were all captured before, and it may be a retransmission or a duplicate made by the path.
    pub fn is_undecided_repeat(&self) -> bool {
        self.sent == SendOrder::Unknown && self.known_by == OrderEvidence::Bytes
    }

    /// True if later packets overtook it, on the path or in the interface of the sender. If false, it is a
    /// retransmission, unless it is [undecided](Self::is_undecided).
    ///
    /// A host sends in order. So at the sender's own interface (`at_sender`), a segment below newer data is a
    /// retransmission whose original the capture missed, unless the sender's counters prove that it was sent
    /// earlier, or the sender had no cause to retransmit: interfaces with several queues swap packets.
    pub fn is_reordered(&self, at_sender: bool) -> bool {
        let is_proven = matches!(
            self.known_by,
            OrderEvidence::IpId | OrderEvidence::Timestamp | OrderEvidence::NoCause
        );
        self.sent == SendOrder::Earlier && (is_proven || !at_sender)
    }
}
