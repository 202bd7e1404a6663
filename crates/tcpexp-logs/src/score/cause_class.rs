//! Classes of retransmissions by cause.

use tcpexp_measure::sender::RetransmissionCause;

/// Cause of a retransmission, as coarse as a kernel's congestion states show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseClass {
    /// In fast recovery: ACKs or the reordering timer marked the data as lost.
    Fast,
    /// At the expiry of the retransmission timer, or in the recovery that followed.
    Timeout,
    /// Outside a recovery: a tail loss probe.
    Probe,
    /// Retransmitted although the sender knew that the data had arrived. No kernel state
    /// corresponds to it.
    Spurious,
}

impl CauseClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Timeout, Self::Probe, Self::Spurious];

    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::Probe => "probe",
            Self::Spurious => "spurious",
        }
    }

    /// Returns the class of a cause.
    pub const fn of(cause: RetransmissionCause) -> Self {
        match cause {
            RetransmissionCause::FastRetransmit | RetransmissionCause::ReorderingTimer => {
                Self::Fast
            }
            // `tcp_simple_retransmit` sets the state of a timeout too.
            RetransmissionCause::Timeout
            | RetransmissionCause::AfterTimeout
            | RetransmissionCause::PathMtu => Self::Timeout,
            // Neither changes the kernel's state.
            RetransmissionCause::TailLossProbe | RetransmissionCause::RefusedSynData => Self::Probe,
            RetransmissionCause::Spurious => Self::Spurious,
        }
    }
}
