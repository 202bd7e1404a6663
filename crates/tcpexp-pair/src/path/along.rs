//! Measurements between two of several points along a path.

use std::fmt;

use tcpexp_flow::Packets;

use super::beyond::SeenBeyond;
use super::books::{Basis, PathBatch};
use super::run::{FirstPass, PathTotals, matched_by, run};
use super::timeline::Timeline;
use crate::spp::{
    self, Alignment, JointClocks, LeastDelay, LeastDelays, Options, PacketOutcome, PairedFlow,
    PointTimeline,
};

/// Two points of a path, by their numbers from 0 in the order along the path.
///
/// Shown with numbers from 1: `1>2` is from the first point to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathSegment {
    /// The point nearer to the first.
    pub from: usize,
    /// The point further from the first.
    pub to: usize,
}

impl PathSegment {
    /// True if no point of the path lies between the two.
    pub const fn joins_neighbours(self) -> bool {
        self.to == self.from + 1
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{}", self.from + 1, self.to + 1)
    }
}

/// What the other points of the path contribute to the measurement between two of them.
#[derive(Clone, Debug)]
pub struct FromPath {
    /// The clocks of the two points.
    pub clocks: JointClocks,
    /// The minimum delays on the timeline of the path: see [`first_pass_along`].
    pub least: LeastDelays,
    /// The packets that captures beyond the downstream point show: on the way out, then back.
    pub beyond: [SeenBeyond; 2],
}

/// Reads both captures for packets that a capture missed, and for the minimum delays on both
/// timelines: that of [`first_pass`](super::first_pass), and that of the path. Passes newly found flows and
/// the packets after them to `seen`.
pub fn first_pass_along(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    timelines: [PointTimeline; 2],
    options: Options,
    mut seen: impl FnMut(&[PairedFlow], &[PacketOutcome]) + Send,
) -> (FirstPass, LeastDelays) {
    let timeline = Timeline::Along(Box::new(timelines));
    let clock = alignment.clock.clone();
    let coverage = clock.coverage();
    let mut least = LeastDelays::default();
    let options = Options {
        outcomes: true,
        samples: false,
        ..options
    };
    let mut matched = 0;
    let measured = spp::measure(src, dst, alignment, options, |batch| {
        matched += matched_by(&batch.ended);
        seen(&batch.flows, &batch.outcomes);
        for outcome in batch.outcomes {
            let delay = timeline.settled(outcome).one_way_delay;
            if let Some((delay, times)) = delay.zip(outcome.times()) {
                let least = &mut least[outcome.path_direction.index()];
                let delay = LeastDelay::of(delay, times);
                let uncovered = coverage.excluded(times);
                LeastDelay::add(least, delay, uncovered, |times| clock.is_beside_step(times));
            }
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = measured;
    (FirstPass::of(&totals, matched), least)
}

/// Determines the fate of each packet between two of several points: see
/// [`measure`](super::measure).
///
/// Times are on the timeline of the path's first point.
pub fn measure_along<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    first: FirstPass,
    path: FromPath,
    options: Options,
    sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathTotals, E> {
    let basis = Basis {
        timeline: Timeline::Along(Box::new(path.clocks.timelines)),
        clock: path.clocks.clock,
        least: path.least,
        beyond: Some(path.beyond),
        misses: first.misses(),
        hides_traffic: first.hides_traffic(),
    };
    let alignment = alignment.contradicted_at(first.contradicted);
    run(src, dst, alignment, basis, options, sink)
}
