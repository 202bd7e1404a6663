//! The part of a flow's path that the table `flows` shows.
//!
//! An analysis keeps the paths of all flows until its last pass, so they have to be small.

use tcpexp_flow::Direction;
use tcpexp_metrics::RttSummary;
use tcpexp_pair::path::{PathFlow, PathSummary};
use tcpexp_pair::spp::PathDirection;
use tcpexp_units::TimeDelta;

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
    directions: [DirectionPath; 2],
}

/// The packets of one direction. The fields are those of [`PathSummary`].
#[derive(Clone, Debug)]
pub(super) struct DirectionPath {
    pub(super) sent: u64,
    pub(super) delivered: u64,
    rare: Option<Box<RareFates>>,
    pub(super) queueing_delay: Option<RttSummary>,
    pub(super) one_way_delay: Option<RttSummary>,
    pub(super) queueing_delay_error: Option<TimeDelta>,
    pub(super) one_way_delay_error: Option<TimeDelta>,
    pub(super) bottleneck_bps: Option<u64>,
}

/// Counts that are zero for most directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RareFates {
    pub(super) lost: u64,
    pub(super) lost_unproven: u64,
    pub(super) missed: u64,
    pub(super) lost_or_missed: u64,
    pub(super) ambiguous: u64,
    pub(super) outside: u64,
    pub(super) duplicated: u64,
    pub(super) unseen_upstream: u64,
    pub(super) reordered: u64,
    pub(super) loss_runs: u64,
}

impl From<PathFlow> for FlowPath {
    fn from(flow: PathFlow) -> Self {
        Self {
            forward: flow.forward,
            rtt: flow.summary.rtt,
            rtt_error: flow.summary.rtt_error,
            directions: flow.directions.map(DirectionPath::from),
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
        self.directions.iter().map(|of| of.sent).sum()
    }

    /// The packets of `direction`.
    pub(super) fn direction(&self, direction: Direction) -> &DirectionPath {
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

impl From<PathSummary> for DirectionPath {
    fn from(of: PathSummary) -> Self {
        let rare = RareFates {
            lost: of.lost(),
            lost_unproven: of.lost_unproven(),
            missed: of.missed(),
            lost_or_missed: of.lost_or_missed(),
            ambiguous: of.counts.ambiguous,
            outside: of.counts.outside,
            duplicated: of.duplicated(),
            unseen_upstream: of.counts.unseen_upstream,
            reordered: of.reordered,
            loss_runs: of.losses.runs,
        };
        Self {
            sent: of.sent(),
            delivered: of.delivered(),
            rare: (rare != RareFates::NONE).then(|| Box::new(rare)),
            queueing_delay: of.queueing_delay,
            one_way_delay: of.one_way_delay,
            queueing_delay_error: of.queueing_delay_error,
            one_way_delay_error: of.one_way_delay_error,
            bottleneck_bps: of.bottleneck_bps,
        }
    }
}

impl DirectionPath {
    /// Counts that are zero for most directions.
    pub(super) fn rare(&self) -> &RareFates {
        self.rare.as_deref().unwrap_or(&RareFates::NONE)
    }
}

impl RareFates {
    const NONE: Self = Self {
        lost: 0,
        lost_unproven: 0,
        missed: 0,
        lost_or_missed: 0,
        ambiguous: 0,
        outside: 0,
        duplicated: 0,
        unseen_upstream: 0,
        reordered: 0,
        loss_runs: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_takes_half_of_the_memory_of_the_measurement() {
        assert!(size_of::<FlowPath>() < size_of::<PathFlow>() / 2);
    }
}
