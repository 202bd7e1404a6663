//! What a measurement between two points yields.

use crate::spp::linking::PairedFlow;
use crate::spp::matching::DirectionCounts;
use crate::spp::point::Point;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_metrics::RttSummary;
use tcpexp_units::{TimeDelta, Timestamp};

/// One round-trip time, from one packet that went out and one that came back.
///
/// The pair is synthetic: the second packet need not answer the first, it only left the far point
/// after the first had arrived there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// The flow both packets belong to.
    pub flow: FlowId,
    /// Which way the pair's first packet went within the flow.
    pub direction: Direction,
    /// Where the pair starts and ends; `time` is on this point's clock.
    pub reference: Point,
    /// When the pair's first packet passed the reference point, on that point's clock.
    pub time: Timestamp,
    /// Time on the path between the points, out and back, without the turnaround; clock skew
    /// removed where it was detected. Never clamped: a negative one is a finding.
    pub rtt: TimeDelta,
    /// Time between the two packets at the far point, on its clock: no part of `rtt`.
    pub turnaround: TimeDelta,
    /// Time of the first packet from the reference point to the far one, clock offset included.
    pub owd_out: TimeDelta,
    /// Time of the second packet back, clock offset included; `owd_out + owd_back` is `rtt`
    /// before the skew is removed.
    pub owd_back: TimeDelta,
}

/// One finished flow: what was seen of it and the distribution of its round-trip times.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Which flow.
    pub flow: PairedFlow,
    /// Time from its first packet to its last, at the source point.
    pub duration: TimeDelta,
    /// Packet counts, by [`Direction::index`].
    pub counts: [DirectionCounts; 2],
    /// Round-trip times of the pairs whose first packet went this way, by [`Direction::index`];
    /// `None` where there is no sample.
    pub rtt: [Option<RttSummary>; 2],
}

impl FlowSummary {
    /// Samples of both directions.
    pub fn samples(&self) -> u64 {
        self.rtt.iter().flatten().map(|rtt| rtt.samples).sum()
    }
}
