//! Results of a measurement between two points.

use crate::spp::linking::PairedFlow;
use crate::spp::matching::DirectionCounts;
use crate::spp::point::Point;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_metrics::RttSummary;
use tcpexp_units::{TimeDelta, Timestamp};

/// One round-trip time, from one outward and one returning packet.
///
/// The pair is synthetic: the second packet need not be an answer to the first. The only condition
/// is that it left the far point after the first had arrived there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// Flow of both packets.
    pub flow: FlowId,
    /// Direction of the first packet within the flow.
    pub direction: Direction,
    /// Point where the pair starts and ends.
    pub reference: Point,
    /// Time of the first packet at the reference point, on the clock of that point.
    pub time: Timestamp,
    /// Round-trip time between the points, without the turnaround. Detected clock skew is removed.
    /// The value is never clamped, so it may be negative.
    pub rtt: TimeDelta,
    /// Maximum error of `rtt` from the resolution of the clocks, the uncertainty of their skew, and
    /// movements of the clocks that the delays of both ways allow.
    pub rtt_error: TimeDelta,
    /// Time between the two packets at the far point, on its clock; not part of `rtt`.
    pub turnaround: TimeDelta,
    /// One-way delay of the first packet, clock offset included.
    pub owd_out: TimeDelta,
    /// One-way delay of the second packet, clock offset included. `owd_out + owd_back` is `rtt`
    /// before skew removal.
    pub owd_back: TimeDelta,
}

/// One finished flow: its packet counts and the distribution of its round-trip times.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// The flow.
    pub flow: PairedFlow,
    /// Time from the first packet to the last at the source point.
    pub duration: TimeDelta,
    /// Packet counts, by [`Direction::index`].
    pub counts: [DirectionCounts; 2],
    /// Round-trip times of pairs by the direction of their first packet, by [`Direction::index`];
    /// `None` without samples.
    pub rtt: [Option<RttSummary>; 2],
    /// Maximum error of these round-trip times, by [`Direction::index`]; `None` without samples.
    pub rtt_error: [Option<TimeDelta>; 2],
}

impl FlowSummary {
    /// Number of samples of both directions.
    pub fn samples(&self) -> u64 {
        self.rtt.iter().flatten().map(|rtt| rtt.samples).sum()
    }
}
