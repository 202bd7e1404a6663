//! Retransmissions of a sender.

use tcpexp_flow::{Direction, FlowId, RetransmissionCause, StreamOffset};
use tcpexp_units::Timestamp;

use super::event_id::{EventId, EventKind};

/// One retransmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// Number among this sender's retransmissions, from 0.
    pub number: u64,
    /// Record number of the packet in the capture, from 0.
    pub record: u64,
    /// Time of the retransmission on the capture's clock.
    pub at: Timestamp,
    /// Offset of the first byte.
    pub start: StreamOffset,
    /// Offset after the last byte.
    pub end: StreamOffset,
    /// Cause of the retransmission.
    pub cause: RetransmissionCause,
    /// Fate of the earlier transmissions; `None` without a second capture.
    pub earlier_copy: Option<EarlierCopy>,
}

/// The fate of the transmissions before a retransmission.
///
/// The sender cannot determine it: the earlier transmissions may still be in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EarlierCopy {
    /// The data arrived in order; ACKs were late or lost.
    Arrived,
    /// The data arrived, reordered behind later data.
    Overtaken,
    /// Part of the data never arrived: the retransmission was necessary.
    Lost,
}

impl Retransmission {
    /// Name of the event.
    pub const fn event_id(&self) -> EventId {
        EventId {
            direction: self.direction,
            kind: EventKind::Retransmission,
            number: self.number,
        }
    }
}

impl EarlierCopy {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Arrived, Self::Overtaken, Self::Lost];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Overtaken => "overtaken",
            Self::Lost => "lost",
        }
    }
}
