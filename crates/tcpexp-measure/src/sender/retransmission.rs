//! Retransmissions of a sender.

use tcpexp_flow::{Cause, Direction, FlowId, StreamOffset};
use tcpexp_units::Timestamp;

/// One retransmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// When it was sent, on the capture's clock.
    pub at: Timestamp,
    /// Its first byte.
    pub start: StreamOffset,
    /// The byte after its last.
    pub end: StreamOffset,
    /// Why it was sent.
    pub cause: Cause,
    /// The fate of the copies sent before; `None` without a second capture.
    pub earlier_copy: Option<EarlierCopy>,
}

/// The fate of the copies that were sent before a retransmission.
///
/// The sender cannot know it: those copies may still be on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EarlierCopy {
    /// It arrived in order; ACKs were late or lost.
    Arrived,
    /// It arrived, reordered behind data that had left later.
    Overtaken,
    /// Some of it never arrived: the retransmission was necessary.
    Lost,
}

impl EarlierCopy {
    /// All of them.
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
