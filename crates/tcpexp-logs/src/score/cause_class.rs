//! Classes of retransmissions by cause.

use tcpexp_measure::sender::Cause;

/// A retransmission by what a kernel's states tell of its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseClass {
    /// In fast recovery: shown to be lost by ACKs, or by the reordering timer.
    Fast,
    /// When the retransmission timer expired, or in the recovery that followed.
    Timeout,
    /// In no recovery: a tail loss probe.
    Probe,
    /// Sent though the sender knew that it had arrived; no state of a kernel means that.
    Spurious,
}

impl CauseClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Timeout, Self::Probe, Self::Spurious];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::Probe => "probe",
            Self::Spurious => "spurious",
        }
    }

    /// What a cause counts as.
    pub const fn of(cause: Cause) -> Self {
        match cause {
            Cause::FastRetransmit | Cause::ReorderingTimer => Self::Fast,
            Cause::Timeout | Cause::AfterTimeout => Self::Timeout,
            Cause::TailLossProbe => Self::Probe,
            Cause::Spurious => Self::Spurious,
        }
    }
}
