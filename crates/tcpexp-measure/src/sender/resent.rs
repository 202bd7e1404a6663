//! Data that a sender sent again.

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::Timestamp;

/// One retransmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resent {
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
    pub cause: ResentCause,
    /// What had become of what was sent before; `None` if no second capture tells.
    pub earlier_copy: Option<EarlierCopy>,
}

/// What becomes of data that is sent again all the same.
///
/// A sender cannot know it: the copies sent before may still be on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EarlierCopy {
    /// It arrived in its place; it is sent again because ACKs were late or lost.
    Arrived,
    /// It arrived behind data that had left later.
    Overtaken,
    /// Some of it had never arrived: it had to be sent again.
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

/// Why data was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResentCause {
    /// Duplicate or selective ACKs showed that it was lost (RFC 5681, RFC 6675).
    FastRetransmit,
    /// It was still missing when the reordering timer expired (RFC 8985, section 6.3).
    ReorderingTimer,
    /// The retransmission timer expired (RFC 6298, section 5).
    Timeout,
    /// Repaired after a timeout.
    AfterTimeout,
    /// The last data sent was not answered in time (RFC 8985, section 7).
    TailLossProbe,
    /// The sender knew that it had arrived, as far as the capture tells.
    Needless,
}

impl ResentCause {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmit => "fast_retransmit",
            Self::ReorderingTimer => "reordering_timer",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Needless => "needless",
        }
    }
}
