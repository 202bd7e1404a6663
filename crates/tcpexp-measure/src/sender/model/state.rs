//! A sender's model of its path.

use tcpexp_units::TimeDelta;

/// Phase of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelPhase {
    /// The rate doubles every round trip.
    Startup,
    /// The queue of Startup drains.
    Drain,
    /// The rate follows the bandwidth, with a cycle of gains.
    ProbeBandwidth,
    /// Four segments in the network, to measure the propagation time.
    ProbeRtt,
}

impl ModelPhase {
    /// All variants.
    pub const ALL: [Self; 4] = [
        Self::Startup,
        Self::Drain,
        Self::ProbeBandwidth,
        Self::ProbeRtt,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeBandwidth => "probe_bandwidth",
            Self::ProbeRtt => "probe_rtt",
        }
    }
}

/// Greatest difference between the times of a kernel and of the capture beside it, for both ends of
/// an interval together. The guide has the measured share of truths within the bounds.
const CLOCK_ERROR: TimeDelta = TimeDelta::from_micros(200);

/// The model of the path that a sender with BBR has: logged by its kernel, or replayed.
///
/// `least_rtt` and the bandwidth are measurements that any sender's ACKs allow. All else is `None`
/// unless the observed pacing agrees with BBR's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathModel {
    /// True if a kernel logged it.
    pub is_measured: bool,
    /// Bottleneck bandwidth: the greatest delivery rate of the last ten round trips, in bits of
    /// payload per second.
    pub bandwidth_bps: Option<u64>,
    /// Propagation round-trip time: the least of the last ten seconds.
    pub least_rtt: Option<TimeDelta>,
    /// Phase.
    pub phase: Option<ModelPhase>,
    /// Pacing rate in bits of payload per second.
    pub pacing_rate_bps: Option<u64>,
    /// Pacing gain in percent.
    pub pacing_gain_percent: Option<u16>,
    /// Window gain in percent.
    pub window_gain_percent: Option<u16>,
    /// The most segments that BBR lets into the network.
    pub inflight_cap_segments: Option<u32>,
}

impl PathModel {
    /// Bounds of the bandwidth: an interval of a sample is at least the propagation time, and both
    /// of its ends may be off.
    pub fn bandwidth_bounds_bps(&self) -> Option<(u64, u64)> {
        let bps = self.bandwidth_bps?;
        if self.is_measured {
            return Some((bps, bps));
        }
        let rtt = u64::try_from(self.least_rtt?.as_nanos()).ok()?.max(1);
        let error = u128::from(bps) * u128::from(CLOCK_ERROR.as_nanos().unsigned_abs());
        let error = u64::try_from(error.div_ceil(u128::from(rtt))).unwrap_or(u64::MAX);
        Some((bps.saturating_sub(error), bps.saturating_add(error)))
    }

    /// Bounds of the propagation time.
    pub fn least_rtt_bounds(&self) -> Option<(TimeDelta, TimeDelta)> {
        let rtt = self.least_rtt?;
        let error = if self.is_measured {
            TimeDelta::ZERO
        } else {
            CLOCK_ERROR
        };
        Some(((rtt - error).max(TimeDelta::ZERO), rtt + error))
    }
}
