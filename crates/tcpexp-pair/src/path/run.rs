//! The two passes over both captures.

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

use super::PathSummary;
use super::books::{Basis, Books, PathBatch};
use super::timeline::Timeline;
use crate::spp::{
    self, Alignment, FlowSummary, LeastDelay, LeastDelays, Options, PairedFlow, Totals,
};
use tcpexp_flow::Packets;

/// Results of the first pass over both captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstPass {
    /// The minimum delays, on the timeline that the survey assumes.
    pub least_delays: LeastDelays,
    /// Number of packets that the other capture shows and this one does not, by
    /// [`Point::index`](spp::Point::index).
    pub missed: [u64; 2],
    /// Number of packets that each capture file reports as dropped, and of its records that cannot
    /// be used, by [`Point::index`](spp::Point::index).
    pub unusable: [u64; 2],
    /// Number of packets in flows that only this capture shows, by [`Point::index`](spp::Point::index).
    pub unpaired: [u64; 2],
    /// Number of packets found at both points.
    pub matched: u64,
    /// Times on the timeline between which packets seem to arrive before they leave.
    pub contradicted: Option<(Timestamp, Timestamp)>,
}

/// Unrecognised traffic changes an estimate of the bottleneck's rate by its share. If more than one
/// packet in this many is unrecognised, the estimates disagree by more than the rates of links do.
const UNRECOGNISED: u64 = 20;

impl FirstPass {
    /// `matched` is the number of packets found at both points.
    pub(super) fn of(totals: &Totals, matched: u64) -> Self {
        Self {
            least_delays: totals.least_delays,
            missed: totals.unseen,
            unusable: [0; 2],
            unpaired: totals.unpaired.map(|unpaired| unpaired.packets),
            matched,
            contradicted: totals.contradicted,
        }
    }

    /// True if flows that seem to be in one capture only may be the same in both: a middlebox changed
    /// them. Their packets share the path unrecognised.
    pub(super) fn hides_traffic(&self) -> bool {
        let in_both = self.unpaired[0].min(self.unpaired[1]);
        in_both.saturating_mul(UNRECOGNISED) > self.matched
    }

    /// True for a capture that provably misses packets, by [`Point::index`](spp::Point::index).
    pub(super) fn misses(&self) -> [bool; 2] {
        [0, 1].map(|point: usize| self.missed[point] > 0 || self.unusable[point] > 0)
    }
}

/// Totals of both captures.
#[derive(Clone, Debug)]
pub struct PathTotals {
    /// Flows seen at one point only, and packets not usable because of a clock step.
    pub totals: Totals,
    /// Summaries over all flows found at both points, indexed by [`PathDirection::index`](spp::PathDirection::index).
    pub path_directions: [PathSummary; 2],
}

impl PathTotals {
    /// The largest error of one-way delays, as in [`PathSummary`]; `None` without delays, or if
    /// the offset of the clocks has no bound.
    pub fn one_way_delay_error(&self) -> Option<TimeDelta> {
        let [out, back] = &self.path_directions;
        out.one_way_delay_error.max(back.one_way_delay_error)
    }

    /// The largest error of queueing delays, as in [`PathSummary`]; `None` without delays, or if
    /// the offset of the clocks has no bound.
    pub fn queueing_delay_error(&self) -> Option<TimeDelta> {
        let [out, back] = &self.path_directions;
        out.queueing_delay_error.max(back.queueing_delay_error)
    }
}

/// Reads both captures for the minimum delays and for packets that a capture missed. Passes the
/// flows found at both points to `flows`.
pub fn first_pass(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    options: Options,
    mut flows: impl FnMut(Vec<PairedFlow>) + Send,
) -> FirstPass {
    let options = Options {
        outcomes: false,
        samples: false,
        ..options
    };
    let mut matched = 0;
    let measured = spp::measure(src, dst, alignment, options, |batch| {
        matched += matched_by(&batch.ended);
        flows(batch.flows);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = measured;
    FirstPass::of(&totals, matched)
}

/// Number of packets of ended flows that were found at both points.
pub(super) fn matched_by(ended: &[FlowSummary]) -> u64 {
    let counts = ended.iter().flat_map(|flow| &flow.counts);
    counts.map(|counts| counts.matched).sum()
}

/// Determines the fate of each packet between two captures and passes results to `sink` as they
/// become known.
///
/// Memory grows with the number of live flows and packets in flight. The batches do not depend on
/// the number of threads.
pub fn measure<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    first: FirstPass,
    options: Options,
    sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let assumed = alignment.clock.offset().middle;
    let clock = alignment
        .clock
        .settled(first.least_delays, options.symmetric);
    let moved = clock.offset().middle - assumed;
    let basis = Basis {
        least: moved_by(first.least_delays, moved),
        timeline: Timeline::Moved(moved),
        clock,
        beyond: None,
        misses: first.misses(),
        hides_traffic: first.hides_traffic(),
    };
    let alignment = alignment.contradicted_at(first.contradicted);
    run(src, dst, alignment, basis, options, sink)
}

/// The smallest delays on a timeline with a larger offset.
fn moved_by([out, back]: LeastDelays, moved: TimeDelta) -> LeastDelays {
    // A larger offset makes delays out shorter and delays back longer by the same time.
    let by = |least: LeastDelay, time| LeastDelay {
        delay: least.delay + time,
        away_from_steps: least.away_from_steps.map(|away| away + time),
        longest_uncovered: least
            .longest_uncovered
            .map(|longest| longest.map(|longest| longest + time)),
        ..least
    };
    [
        out.map(|least| by(least, -moved)),
        back.map(|least| by(least, moved)),
    ]
}

/// The last pass.
pub(super) fn run<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    basis: Basis,
    options: Options,
    mut sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let misses = basis.misses;
    let mut books = Books::new(basis, options.max_owd);
    let options = Options {
        outcomes: true,
        misses,
        ..options
    };
    let totals = spp::measure(src, dst, alignment, options, |batch| {
        sink(books.enter(batch))
    })?;
    Ok(PathTotals {
        totals,
        path_directions: books.close_ways(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_show_that_a_capture_misses_packets() {
        let misses = |missed: u64, unusable: u64| {
            let first = FirstPass {
                missed: [missed, 0],
                unusable: [unusable, 0],
                ..FirstPass::default()
            };
            first.misses()
        };
        assert_eq!(misses(0, 0), [false, false]);
        assert_eq!(misses(1, 0), [true, false]);
        assert_eq!(misses(1, u64::MAX), [true, false]);
    }
}
