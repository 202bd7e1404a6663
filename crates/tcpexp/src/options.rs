//! Options of the measurements.

use tcpexp_measure::Position;
use tcpexp_measure::sender::{Profile, SenderOptions};
use tcpexp_pair::spp;
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
    /// Uses the packets inside IP-in-IP, GRE and VXLAN tunnels, or skips tunnelled packets.
    /// Default: skips them.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// Sets the longest plausible one-way delay. A packet with a longer delay counts as lost.
    /// Memory grows with this limit. Default: 30 s.
    #[must_use]
    pub const fn max_owd(mut self, max_owd: TimeDelta) -> Self {
        self.spp.max_owd = max_owd;
        self
    }

    /// Assumes that the smallest one-way delay is the same both ways. The clocks' resolution then
    /// limits the accuracy of the clock offset. Default: no.
    #[must_use]
    pub const fn symmetric(mut self, symmetric: bool) -> Self {
        self.spp.symmetric = symmetric;
        self
    }

    /// Reports the fate of each packet in addition to the samples. Default: no.
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
    /// Uses the packets inside IP-in-IP, GRE and VXLAN tunnels, or skips tunnelled packets.
    /// Default: skips them.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// Sets the longest plausible one-way delay. A packet with a longer delay counts as lost.
    /// Memory grows with this limit. Default: 30 s.
    #[must_use]
    pub const fn max_owd(mut self, max_owd: TimeDelta) -> Self {
        self.spp.max_owd = max_owd;
        self
    }

    /// Assumes that the smallest one-way delay is the same both ways. The clocks' resolution then
    /// limits the accuracy of the clock offset. Default: no.
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
    /// Uses the packets inside IP-in-IP, GRE and VXLAN tunnels, or skips tunnelled packets.
    /// Default: skips them.
    #[must_use]
    pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
        self.tunnels = tunnels;
        self
    }

    /// Sets the capture's position relative to the sender of the data. Default: inferred from the
    /// packets.
    #[must_use]
    pub const fn position(mut self, position: Position) -> Self {
        self.sender.position = Some(position);
        self
    }

    /// Sets the operating system whose sender rules are replayed. Default: Linux.
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
