//! The states of a sender's congestion control and their data.

use tcpexp_units::Timestamp;

use crate::sender::recovery::{Recovery, RecoveryKind};
use crate::sender::sample::Phase;

/// Loss repair state of a sender: `tcpi_ca_state` without `Disorder`, which does not change the
/// window.
///
/// The kernel's `Open` is three states here, because only the sender's actions after a recovery
/// show the recovery's threshold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum State {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// A recovery is over. The data in flight after the sender's next transmission shows the
    /// threshold set by the recovery.
    Settling(Settling),
    /// A timeout's recovery is over and the window is below its threshold: the end of slow start
    /// shows the threshold.
    Regrowing(Ended),
    /// Losses are being repaired, or the window is being reduced after a congestion echo. Not boxed
    /// although larger than the other states: a box would cost an allocation per loss.
    Recovering(Recovery),
}

/// A completed recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) recovery: Recovery,
    pub(super) at: Timestamp,
}

/// A completed recovery whose threshold the next transmission shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    pub(super) ended: Ended,
    /// True if the window limited the sender during the recovery.
    pub(super) is_shown: bool,
    /// True if the sender was idle since and restarted with a smaller window, so that the flight is
    /// not the threshold.
    pub(super) has_restarted: bool,
}

impl State {
    /// True outside of recoveries.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Recovering(_))
    }

    pub(super) fn recovery(&self) -> Option<&Recovery> {
        match self {
            Self::Recovering(recovery) => Some(recovery),
            Self::Open | Self::Settling(_) | Self::Regrowing(_) => None,
        }
    }

    pub(super) fn recovery_mut(&mut self) -> Option<&mut Recovery> {
        match self {
            Self::Recovering(recovery) => Some(recovery),
            Self::Open | Self::Settling(_) | Self::Regrowing(_) => None,
        }
    }

    /// The kind of the current recovery.
    pub(super) fn kind(&self) -> Option<RecoveryKind> {
        self.recovery().map(|recovery| recovery.kind)
    }

    /// The phase, given the window and the threshold that apply outside of recoveries.
    pub(super) fn phase(&self, cwnd: u32, ssthresh: Option<u32>) -> Phase {
        match self.kind() {
            Some(RecoveryKind::Fast) => Phase::FastRecovery,
            Some(RecoveryKind::Timeout) => Phase::LossRecovery,
            Some(RecoveryKind::CongestionEcho) => Phase::WindowReduction,
            None if ssthresh.is_some_and(|ssthresh| cwnd >= ssthresh) => Phase::CongestionAvoidance,
            None => Phase::SlowStart,
        }
    }
}
