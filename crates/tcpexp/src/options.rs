//! Options of the measurements.

#[cfg(feature = "tables")]
use std::sync::Arc;

use tcpexp_flow::FlowShard;
use tcpexp_measure::Position;
use tcpexp_measure::sender::{Profile, SenderOptions};
use tcpexp_measure::throughput::{self, BinWidth, Origin};
use tcpexp_pair::spp::{self, Clocks};
use tcpexp_units::TimeDelta;
use tcpexp_wire::{Filter, Tunnels};

#[cfg(feature = "tables")]
use crate::PairSurvey;
use crate::selection::{Moment, PacketSelection, Reading};

/// The setters of all options.
macro_rules! reading_setters {
    () => {
        /// Uses the packets inside IP-in-IP, GRE and VXLAN tunnels, or skips tunnelled packets.
        /// Default: skips them.
        #[must_use]
        pub const fn tunnels(mut self, tunnels: Tunnels) -> Self {
            self.reading.tunnels = tunnels;
            self
        }

        /// Uses only the packets that this filter selects. With two captures, each is filtered by
        /// itself. Default: all packets.
        #[must_use]
        pub fn filter(mut self, filter: Filter) -> Self {
            self.reading.selection = self.reading.selection.filter(filter);
            self
        }

        /// Uses only the packets at and after this moment, as if the capture began there. With two
        /// captures, the moment is one of the first, and the second begins at the same moment on
        /// its own clock. Default: from the first packet.
        #[must_use]
        pub fn from(mut self, from: Moment) -> Self {
            self.reading.selection = self.reading.selection.from(from);
            self
        }

        /// Uses only the packets before this moment: see [`from`](Self::from). Default: to the last
        /// packet.
        #[must_use]
        pub fn to(mut self, to: Moment) -> Self {
            self.reading.selection = self.reading.selection.to(to);
            self
        }

        /// Uses only the packets of this selection. Replaces its filter and its limits in time.
        #[must_use]
        pub fn select(mut self, selection: PacketSelection) -> Self {
            self.reading.selection = selection;
            self
        }

        /// Reports only the flows of one part, or all flows if `None`; the first part also reports what belongs to no flow.
        /// Each part reads all packets, so its rows are those of the undivided measurement. Default:
        /// all flows.
        #[must_use]
        pub const fn shard(mut self, shard: Option<FlowShard>) -> Self {
            self.reading.shard = shard;
            self
        }
    };
}

/// The setters of measurements between two captures.
macro_rules! pair_setters {
    () => {
        reading_setters!();

        /// Sets the longest plausible one-way delay. A packet with a longer delay is not recognised.
        /// Memory grows with this limit. Default: 30 s.
        #[must_use]
        pub const fn max_owd(mut self, max_owd: TimeDelta) -> Self {
            self.spp.max_owd = max_owd;
            self
        }

        /// Uses a survey of the same captures with the same options in place of the first passes.
        /// The results are equal. Default: none.
        #[cfg(feature = "tables")]
        #[must_use]
        pub fn survey(mut self, survey: Option<Arc<PairSurvey>>) -> Self {
            self.reading.survey = survey;
            self
        }

        /// Assumes that the smallest one-way delay is the same both ways. The clocks' resolution
        /// then limits the accuracy of the clock offset. Default: no.
        #[must_use]
        pub const fn symmetric(mut self, symmetric: bool) -> Self {
            self.spp.symmetric = symmetric;
            self
        }

        /// Sets what is known about the clocks of the captures. With one clock, one-way delays are exact to its
        /// resolution. Default: each capture may have its own clock.
        #[must_use]
        pub const fn clocks(mut self, clocks: Clocks) -> Self {
            self.spp.clocks = clocks;
            self
        }
    };
}

/// Options of [`rtt`](fn@crate::rtt).
///
/// ```
/// use tcpexp::{RttOptions, TimeDelta, Tunnels};
///
/// let options = RttOptions::default()
///     .tunnels(Tunnels::Entered)
///     .max_owd(TimeDelta::from_seconds(5));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RttOptions {
    pub(crate) reading: Reading,
    pub(crate) spp: spp::Options,
}

impl RttOptions {
    pair_setters!();

    /// Reports the fate of each packet in addition to the samples. Default: no.
    #[must_use]
    pub const fn outcomes(mut self, outcomes: bool) -> Self {
        self.spp.outcomes = outcomes;
        self
    }
}

/// Options of [`path`](fn@crate::path).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PathOptions {
    pub(crate) reading: Reading,
    pub(crate) spp: spp::Options,
}

impl PathOptions {
    pair_setters!();
}

/// Options of [`cwnd`](fn@crate::cwnd).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CwndOptions {
    pub(crate) reading: Reading,
    pub(crate) sender: SenderOptions,
}

impl CwndOptions {
    reading_setters!();

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

/// Options of [`flows`](fn@crate::flows), [`single_rtt`](crate::single_rtt),
/// [`live_rtt`](crate::live_rtt) and [`sequence`](fn@crate::sequence).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CaptureOptions {
    pub(crate) reading: Reading,
}

impl CaptureOptions {
    reading_setters!();
}

/// Options of [`throughput`](fn@crate::throughput).
///
/// ```
/// use tcpexp::{BinWidth, ThroughputOptions, TimeDelta};
///
/// let width = BinWidth::new(TimeDelta::from_millis(100)).expect("longer than nothing");
/// let options = ThroughputOptions::new(width).link_rate_bps(10_000_000);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThroughputOptions {
    pub(crate) reading: Reading,
    pub(crate) bins: throughput::ThroughputOptions,
}

impl ThroughputOptions {
    /// Counts in bins of this width.
    pub fn new(width: BinWidth) -> Self {
        Self {
            reading: Reading::default(),
            bins: throughput::ThroughputOptions::new(width),
        }
    }

    reading_setters!();

    /// Sets the start of a bin. Default: the first packet.
    #[must_use]
    pub const fn origin(mut self, origin: Origin) -> Self {
        self.bins.origin = origin;
        self
    }

    /// Sets the rate of the link in bits per second, for its utilisation. Default: unknown.
    #[must_use]
    pub const fn link_rate_bps(mut self, link_rate_bps: u64) -> Self {
        self.bins.link_rate_bps = Some(link_rate_bps);
        self
    }

    /// Sets the maximum time by which packets are out of order in the capture. Default: 50 ms.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: TimeDelta) -> Self {
        self.bins.tolerance = tolerance;
        self
    }
}
