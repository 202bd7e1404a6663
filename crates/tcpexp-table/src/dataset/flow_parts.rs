//! The parts of measurements that the table `flows` shows.
//!
//! An analysis keeps the parts of all flows until its last pass. They take less memory than the
//! measurements.

use tcpexp_flow::Direction;
use tcpexp_measure::flows::DirectionSummary;
use tcpexp_measure::sender::{CongestionFamily, LimitedTime, SenderSummary};
use tcpexp_metrics::RttSummary;
use tcpexp_pair::path::{PathFlow, PathSummary};
use tcpexp_pair::spp::PathDirection;
use tcpexp_units::TimeDelta;

/// The packets of a direction at the point that it passes second.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of the IP datagrams.
    pub ip_bytes: u64,
    /// Bytes of payload, each counted once.
    pub unique_bytes: u64,
    /// Time from the first packet to the last; `None` without packets.
    pub span: Option<TimeDelta>,
}

impl From<&DirectionSummary> for Arrived {
    fn from(summary: &DirectionSummary) -> Self {
        Self {
            packets: summary.packets,
            ip_bytes: summary.ip_bytes,
            unique_bytes: summary.unique_bytes,
            span: summary.span.map(|(first, last)| last - first),
        }
    }
}

/// The packets of a flow between two captures.
#[derive(Clone, Debug)]
pub struct FlowPath {
    /// Way of the forward direction between the points; `None` if no packet showed it.
    forward: Option<PathDirection>,
    /// Round-trip times of pairs by the direction of their first packet, by [`Direction::index`].
    rtt: [Option<RttSummary>; 2],
    /// Maximum error of these round-trip times.
    rtt_error: [Option<TimeDelta>; 2],
    /// By [`Direction::index`].
    directions: [PathSummary; 2],
}

impl From<PathFlow> for FlowPath {
    fn from(flow: PathFlow) -> Self {
        Self {
            forward: flow.forward,
            rtt: flow.summary.rtt,
            rtt_error: flow.summary.rtt_error,
            directions: flow.directions,
        }
    }
}

impl FlowPath {
    /// Way of `direction` between the points; `None` if no packet showed it.
    pub fn path_direction(&self, direction: Direction) -> Option<PathDirection> {
        match direction {
            Direction::Forward => self.forward,
            Direction::Reverse => self.forward.map(PathDirection::opposite),
        }
    }

    /// Number of packets sent in both directions, duplicate records excluded.
    pub fn sent(&self) -> u64 {
        self.directions.iter().map(PathSummary::sent).sum()
    }

    /// The packets of `direction`.
    pub(super) fn direction(&self, direction: Direction) -> &PathSummary {
        &self.directions[direction.index()]
    }

    /// Round-trip times of pairs whose first packet has this direction; `None` without pairs.
    pub(super) fn rtt(&self, direction: Direction) -> Option<RttSummary> {
        self.rtt[direction.index()]
    }

    /// Maximum error of these round-trip times.
    pub(super) fn rtt_error(&self, direction: Direction) -> Option<TimeDelta> {
        self.rtt_error[direction.index()]
    }
}

/// The totals of a reconstructed sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderTotals {
    /// Number of recoveries of all kinds.
    pub recoveries: u32,
    /// Number of recoveries that began with a timeout.
    pub timeouts: u32,
    /// Time spent in each limit.
    pub limited: LimitedTime,
    /// Family of the likely congestion control; `None` if the evidence fits no family.
    pub family: Option<CongestionFamily>,
}

impl From<&SenderSummary> for SenderTotals {
    fn from(summary: &SenderSummary) -> Self {
        Self {
            recoveries: summary.recoveries,
            timeouts: summary.timeouts,
            limited: summary.limited,
            family: summary.hint.family,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_less_memory_than_the_measurements() {
        assert!(size_of::<Arrived>() < size_of::<DirectionSummary>() / 2);
        assert!(size_of::<FlowPath>() < size_of::<PathFlow>());
        assert!(size_of::<SenderTotals>() < size_of::<SenderSummary>());
    }
}
