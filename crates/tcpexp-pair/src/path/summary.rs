//! Summaries of all packets of a direction.

use tcpexp_flow::Direction;
use tcpexp_metrics::{Quantiles, RttSummary};
use tcpexp_units::TimeDelta;

use super::bottleneck::Bottleneck;
use super::losses::LossRuns;
use super::marking::{Marking, MarkingTally};
use super::packet::PathPacket;
use super::reordering::Order;
use crate::spp::{DirectionCounts, FlowSummary, PathDirection};

/// Packets beside possible clock steps are few if they are at most one in this many. Without them, the rank of
/// a quantile moves by at most 5 %.
const FEW_BESIDE_STEPS: u64 = 20;

/// Quantiles of a delay.
pub type DelaySummary = RttSummary;

/// One finished flow on the path.
#[derive(Clone, Debug)]
pub struct PathFlow {
    /// The flow with its round-trip times and packet counts.
    pub summary: FlowSummary,
    /// Way of the forward direction between the points; `None` if no packet showed it.
    pub forward: Option<PathDirection>,
    /// Path summaries, indexed by [`Direction::index`](tcpexp_flow::Direction::index).
    pub directions: [PathSummary; 2],
}

/// Path summary of one direction of a flow, or of all flows that go one way.
#[derive(Clone, Debug)]
pub struct PathSummary {
    /// Packet counts by fate.
    pub counts: DirectionCounts,
    /// Number of arrived packets that were reordered within their flow (RFC 4737, section 3).
    pub reordered: u64,
    /// Maximum reordering extent in packets (RFC 4737, section 4.2); `None` without reordering.
    pub largest_extent_packets: Option<u64>,
    /// Number of arrived packets that a queue between the points marked: see
    /// [`PathPacket::ce_marked`].
    pub ce_marked: u64,
    /// The law by which the queue marks; `None` if no packet with a queueing delay was marked.
    pub marking: Option<Marking>,
    /// Runs of consecutive losses, within each flow.
    pub losses: LossRuns,
    /// One-way delays, including the error of the clock offset. `None` if no packet has one.
    pub one_way_delay: Option<DelaySummary>,
    /// One-way delays above the minimum of all flows that go this way.
    pub queueing_delay: Option<DelaySummary>,
    /// Largest error of the one-way delays. If at most 5 % of the packets are beside a possible clock step,
    /// their errors are left out.
    pub one_way_delay_error: Option<TimeDelta>,
    /// Largest error of the queueing delays, with the same exception.
    pub queueing_delay_error: Option<TimeDelta>,
    /// Rate of the path's bottleneck in bits per second, counting packets from the IP header on.
    /// `None` if too few packets queued, or the estimates disagree, or the error of the queueing delays
    /// hides which packets queued, or each capture has flows that the other one lacks, because packets
    /// of these flows may have passed in between.
    pub bottleneck_bps: Option<u64>,
}

impl PathFlow {
    /// Way of `direction` between the points; `None` if no packet showed it.
    pub fn path_direction(&self, direction: Direction) -> Option<PathDirection> {
        match direction {
            Direction::Forward => self.forward,
            Direction::Reverse => self.forward.map(PathDirection::opposite),
        }
    }
}

impl PathSummary {
    /// Number of packets sent, duplicate records excluded.
    pub fn sent(&self) -> u64 {
        self.counts.seen - self.counts.copies
    }

    /// Number of packets sent and received.
    pub fn delivered(&self) -> u64 {
        self.counts.matched
    }

    /// Number of packets that did not arrive although the downstream capture was running and is not
    /// known to miss packets. The path lost at most [`lost_or_missed`](Self::lost_or_missed) more.
    pub fn lost(&self) -> u64 {
        self.counts.lost
    }

    /// The part of [`lost`](Self::lost) without a proof of the loss: the downstream capture may have
    /// missed some of these packets. [`CaptureLoss`](super::CaptureLoss) bounds their number.
    pub fn lost_unproven(&self) -> u64 {
        self.counts.lost_unproven
    }

    /// Number of acknowledged packets that the downstream capture missed.
    pub fn missed(&self) -> u64 {
        self.counts.missed
    }

    /// Number of packets that the path lost or the downstream capture missed.
    pub fn lost_or_missed(&self) -> u64 {
        self.counts.lost_or_missed
    }

    /// Number of packets with unknown arrival: lost or missed, indistinguishable from another
    /// packet, or sent while the downstream capture may not have been running.
    ///
    /// `sent = delivered + missed + lost + unknown`.
    pub fn unknown(&self) -> u64 {
        self.counts.lost_or_missed + self.counts.ambiguous + self.counts.outside
    }

    /// Number of duplicate arrivals. In a capture that holds each packet twice, this is every
    /// packet.
    pub fn duplicated(&self) -> u64 {
        self.counts.arrivals_copies
    }
}

/// The largest of several errors; without an `Option`, which takes twice the memory.
#[derive(Clone, Copy, Debug)]
struct LargestError(TimeDelta);

impl Default for LargestError {
    fn default() -> Self {
        Self(Self::NONE)
    }
}

impl LargestError {
    /// Stands for no error.
    const NONE: TimeDelta = TimeDelta::from_nanos(i64::MIN);

    #[inline]
    fn add(&mut self, error: Option<TimeDelta>) {
        self.0 = self.0.max(error.unwrap_or(Self::NONE));
    }

    fn get(self) -> Option<TimeDelta> {
        Some(self.0).filter(|error| *error != Self::NONE)
    }
}

/// Counters of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) queueing_delays: Quantiles,
    /// The largest errors of one-way and queueing delays: of most packets, and of those beside a
    /// possible clock step.
    errors: [[LargestError; 2]; 2],
    /// Number of packets with a delay beside a possible clock step.
    beside_steps: u64,
    pub(super) bottleneck: Bottleneck,
    pub(super) reordered: u64,
    pub(super) largest_extent_packets: Option<u64>,
    pub(super) ce_marked: u64,
    marking: MarkingTally,
}

impl Tally {
    /// Records an arrived packet; a clock step beside it may falsify its delay alone.
    pub(super) fn arrive(&mut self, packet: &PathPacket, order: Order, is_beside_step: bool) {
        if let Some(delay) = packet.queueing_delay {
            self.queueing_delays.add(delay);
            self.marking.arrive(packet, delay);
            let errors = [packet.one_way_delay_error, packet.queueing_delay_error];
            self.beside_steps += u64::from(is_beside_step);
            let largest = &mut self.errors[usize::from(is_beside_step)];
            for (largest, error) in largest.iter_mut().zip(errors) {
                largest.add(error);
            }
        }
        if packet.ce_marked == Some(true) {
            self.ce_marked += packet.packets;
        }
        if order != Order::Kept {
            // The packets of a super-packet are in order, so whatever overtook the last overtook all.
            self.reordered += packet.packets;
        }
        self.largest_extent_packets = self.largest_extent_packets.max(order.extent_packets());
    }

    /// Computes the summary.
    pub(super) fn close(
        mut self,
        counts: DirectionCounts,
        losses: LossRuns,
        least_owd: Option<TimeDelta>,
    ) -> PathSummary {
        let queueing_delay = self.queueing_delays.summary();
        let delays = queueing_delay.as_ref().map_or(0, |delay| delay.samples);
        let errors = self.errors.map(|kinds| kinds.map(LargestError::get));
        let [one_way_delay_error, queueing_delay_error] =
            largest_errors(errors, self.beside_steps, delays);
        let marking = self.marking.close(&mut self.queueing_delays);
        PathSummary {
            counts,
            reordered: self.reordered,
            largest_extent_packets: self.largest_extent_packets,
            ce_marked: self.ce_marked,
            marking,
            losses,
            // Both delays differ by a constant, so the quantiles of one give those of the other.
            one_way_delay: queueing_delay
                .zip(least_owd)
                .map(|(delay, least)| above(&delay, least)),
            queueing_delay,
            one_way_delay_error,
            queueing_delay_error,
            bottleneck_bps: self.bottleneck.rate_bps(),
        }
    }
}

/// The largest errors of one-way and queueing delays: those of the packets away from possible clock steps,
/// if the `beside_steps` others are few of all `delays`.
fn largest_errors(
    errors: [[Option<TimeDelta>; 2]; 2],
    beside_steps: u64,
    delays: u64,
) -> [Option<TimeDelta>; 2] {
    let [away, beside] = errors;
    let are_few = beside_steps <= delays / FEW_BESIDE_STEPS;
    [0, 1].map(|kind: usize| {
        if are_few {
            away[kind].or(beside[kind])
        } else {
            away[kind].max(beside[kind])
        }
    })
}

/// Adds `more` to all delays.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_beside_clock_steps_count_unless_they_are_those_of_few_packets() {
        let [small, large] = [1, 9].map(|ms| Some(TimeDelta::from_millis(ms)));
        let errors = [[small; 2], [large; 2]];
        assert_eq!(largest_errors(errors, 5, 100), [small; 2]);
        assert_eq!(largest_errors(errors, 6, 100), [large; 2]);
        assert_eq!(largest_errors([[None; 2], [large; 2]], 1, 1), [large; 2]);
    }
}
