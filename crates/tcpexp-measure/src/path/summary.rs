//! What is said of all packets of a direction together.

use tcpexp_flow::Direction;
use tcpexp_metrics::{Quantiles, RttSummary};
use tcpexp_units::TimeDelta;

use super::bottleneck::Bottleneck;
use super::losses::LossRuns;
use super::reordering::Order;
use crate::spp::{DirectionCounts, FlowSummary, Way};

/// The quantiles of a delay.
pub type DelaySummary = RttSummary;

/// One finished flow on the path.
#[derive(Clone, Debug)]
pub struct PathFlow {
    /// Which flow it was, its round-trip times and the packets counted.
    pub summary: FlowSummary,
    /// Which way its forward direction goes between the points; `None` if no packet showed it.
    pub forward: Option<Way>,
    /// What its packets met, by [`Direction::index`](tcpexp_flow::Direction::index).
    pub directions: [PathSummary; 2],
}

/// What the packets of one direction of a flow, or of all flows that go one way, met on the path.
#[derive(Clone, Debug)]
pub struct PathSummary {
    /// How many packets met which fate.
    pub counts: DirectionCounts,
    /// Arrived packets that were reordered (RFC 4737, section 3) within their flow.
    pub reordered: u64,
    /// The largest reordering extent in packets (RFC 4737, section 4.2); `None` without reordering.
    pub largest_extent_packets: Option<u64>,
    /// Losses in a row, each flow on its own.
    pub losses: LossRuns,
    /// One-way delays: off by the error of the clocks' offset. `None` if no packet has one.
    pub one_way_delay: Option<DelaySummary>,
    /// One-way delays above the smallest of all flows that go this way.
    pub queueing_delay: Option<DelaySummary>,
    /// The rate at which the narrowest link of the path passes on IP packets, headers from IP on
    /// included, in bits per second. `None` if too few packets queued for it, or at too many rates.
    pub bottleneck_bps: Option<u64>,
}

impl PathFlow {
    /// Which way the packets of `direction` go between the points, if one showed it.
    pub fn way(&self, direction: Direction) -> Option<Way> {
        match direction {
            Direction::Forward => self.forward,
            Direction::Reverse => self.forward.map(Way::opposite),
        }
    }
}

impl PathSummary {
    /// Packets that left, each counted once.
    pub fn sent(&self) -> u64 {
        self.counts.seen - self.counts.copies
    }

    /// Packets that left and arrived.
    pub fn delivered(&self) -> u64 {
        self.counts.matched
    }

    /// Packets that left and did not arrive though the downstream capture was running, and that
    /// it did not miss as far as is known: at least this many the path lost, and at most as many
    /// more as are [`lost_or_missed`](Self::lost_or_missed).
    pub fn lost(&self) -> u64 {
        self.counts.lost
    }

    /// Packets that arrived, as their acknowledgments show, and that the downstream capture missed.
    pub fn missed(&self) -> u64 {
        self.counts.missed
    }

    /// Packets that the path lost or the downstream capture missed.
    pub fn lost_or_missed(&self) -> u64 {
        self.counts.lost_or_missed
    }

    /// Packets that left and of which it is not known whether they arrived: lost or missed, like
    /// another packet, or sent where the downstream capture may not have been running.
    /// `sent = delivered + missed + lost + unknown`.
    pub fn unknown(&self) -> u64 {
        self.counts.lost_or_missed + self.counts.ambiguous + self.counts.outside
    }

    /// Packets that arrived once more. All of those in a capture that holds each packet twice.
    pub fn duplicated(&self) -> u64 {
        self.counts.arrivals_copies
    }
}

/// What is gathered of one direction's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) queueing_delays: Quantiles,
    pub(super) bottleneck: Bottleneck,
    pub(super) reordered: u64,
    pub(super) largest_extent_packets: Option<u64>,
}

impl Tally {
    /// A packet arrived, this much above the smallest delay.
    pub(super) fn arrive(&mut self, queueing_delay: Option<TimeDelta>, order: Order) {
        if let Some(delay) = queueing_delay {
            self.queueing_delays.add(delay);
        }
        self.reordered += u64::from(order != Order::Kept);
        self.largest_extent_packets = self.largest_extent_packets.max(order.extent_packets());
    }

    /// Sums up.
    pub(super) fn close(
        mut self,
        counts: DirectionCounts,
        losses: LossRuns,
        least_owd: Option<TimeDelta>,
    ) -> PathSummary {
        let queueing_delay = self.queueing_delays.summary();
        PathSummary {
            counts,
            reordered: self.reordered,
            largest_extent_packets: self.largest_extent_packets,
            losses,
            one_way_delay: queueing_delay
                .zip(least_owd)
                .map(|(delay, least)| above(&delay, least)),
            queueing_delay,
            bottleneck_bps: self.bottleneck.rate_bps(),
        }
    }
}

/// The same delays, each `more` longer.
fn above(delay: &DelaySummary, more: TimeDelta) -> DelaySummary {
    DelaySummary {
        samples: delay.samples,
        min: delay.min + more,
        p5: delay.p5 + more,
        median: delay.median + more,
        p95: delay.p95 + more,
        p99: delay.p99 + more,
        max: delay.max + more,
    }
}
