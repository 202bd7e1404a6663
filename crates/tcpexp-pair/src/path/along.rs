//! Measurements between two of several points along a path.

use tcpexp_flow::Packets;

use super::beyond::SeenBeyond;
use super::run::{Basis, FirstPass, LeastDelays, PathBatch, PathTotals, run};
use super::timeline::Timeline;
use crate::spp::{self, Alignment, JointClocks, Options, PointTimeline};

/// What the other points of the path contribute to the measurement between two of them.
#[derive(Clone, Debug)]
pub struct FromPath {
    /// The clocks of the two points.
    pub clocks: JointClocks,
    /// The minimum delays on the timeline of the path: see [`least_along`].
    pub least: LeastDelays,
    /// The packets that captures beyond the downstream point show, by [`PathDirection::index`].
    pub beyond: [SeenBeyond; 2],
}

/// Reads both captures for the minimum delays on the timeline of the path.
pub fn least_along(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    timelines: [PointTimeline; 2],
    options: Options,
) -> LeastDelays {
    let timeline = Timeline::Along(Box::new(timelines));
    let mut least = LeastDelays::default();
    let options = Options {
        outcomes: true,
        samples: false,
        ..options
    };
    let measured = spp::measure(src, dst, alignment, options, |batch| {
        for outcome in batch.outcomes {
            let outcome = timeline.settled(outcome);
            let least = &mut least[outcome.path_direction.index()];
            // `Option::min` would prefer `None`.
            *least = least.iter().chain(&outcome.one_way_delay).min().copied();
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(_) = measured;
    least
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
    };
    run(src, dst, alignment, basis, options, sink)
}
