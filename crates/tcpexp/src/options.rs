//! Options of the measurements.

use tcpexp_measure::sender::{Profile, SenderOptions};
use tcpexp_measure::{Position, spp};
use tcpexp_units::TimeDelta;
use tcpexp_wire::Tunnels;

/// Options of [`rtt`](fn@crate::rtt).
///
/// ```
/// use tcpexp::{RttOptions, TimeDelta, Tunnels};
///
/// let options = RttOptions::default()
///     .tunnels(Tunnels::Entered)
///     .max_owd(TimeDelta::from_seconds(5));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RttOptions {
    pub(crate) tunnels: Tunnels,
    pub(crate) spp: spp::Options,
}

impl RttOptions {
    /// Measures either the packets inside tunnels, or those outside. Default: outside.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// The longest plausible one-way delay; a packet that takes longer counts as lost. Memory grows
    /// with it. Default: 30 s.
    #[must_use]
    pub const fn max_owd(mut self, max_owd: TimeDelta) -> Self {
        self.spp.max_owd = max_owd;
        self
    }

    /// Takes the fastest packets to be equally fast both ways, which leaves nothing of the offset
    /// between the clocks unknown but what their resolution hides. Default: no.
    #[must_use]
    pub const fn symmetric(mut self, symmetric: bool) -> Self {
        self.spp.symmetric = symmetric;
        self
    }

    /// Reports the fate of each packet beside the samples. Default: no.
    #[must_use]
    pub const fn outcomes(mut self, outcomes: bool) -> Self {
        self.spp.outcomes = outcomes;
        self
    }
}

/// Options of [`path`](fn@crate::path).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PathOptions {
    pub(crate) tunnels: Tunnels,
    pub(crate) spp: spp::Options,
}

impl PathOptions {
    /// Measures either the packets inside tunnels, or those outside. Default: outside.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// The longest plausible one-way delay; a packet that takes longer counts as lost. Memory grows
    /// with it. Default: 30 s.
    #[must_use]
    pub const fn max_owd(mut self, max_owd: TimeDelta) -> Self {
        self.spp.max_owd = max_owd;
        self
    }

    /// Takes the fastest packets to be equally fast both ways, which leaves nothing of the offset
    /// between the clocks unknown but what their resolution hides. Default: no.
    #[must_use]
    pub const fn symmetric(mut self, symmetric: bool) -> Self {
        self.spp.symmetric = symmetric;
        self
    }
}

/// Options of [`cwnd`](fn@crate::cwnd).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CwndOptions {
    pub(crate) tunnels: Tunnels,
    pub(crate) sender: SenderOptions,
}

impl CwndOptions {
    /// Replays the senders of packets inside tunnels, or of those outside. Default: outside.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// Where the capture was taken, from the view of the data. Default: inferred from the packets.
    #[must_use]
    pub const fn position(mut self, position: Position) -> Self {
        self.sender.position = Some(position);
        self
    }

    /// The operating system whose rules are replayed. Default: Linux.
    #[must_use]
    pub const fn profile(mut self, profile: Profile) -> Self {
        self.sender.profile = profile;
        self
    }
}

impl From<SenderOptions> for CwndOptions {
    fn from(sender: SenderOptions) -> Self {
        Self {
            sender,
            ..Self::default()
        }
    }
}
