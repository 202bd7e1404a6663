//! The clock of one capture point seen from the other.
//!
//! A packet's times at the two points differ by the clocks' offset and the time it was on its
//! way. Packets going out and coming back bound the offset from both sides, the smallest delays
//! over time tell how the clocks drift, and what shifts both ways at once is a clock being set.

use tcpexp_units::{Skew, TimeDelta, Timestamp};

use super::skew::{self, Delay};
use super::steps::{self, Jump};
use super::timeline::{Rate, Seam, Turn};
use super::{ClockStep, Crossing, Placed, Point, SkewEstimate, TimelineReader, Way};

const TRILLION: i64 = 1_000_000_000_000;
/// The size of a step depends on the skew and the skew on the size of the steps.
const ROUNDS_WITH_STEPS: usize = 4;

/// What the clocks of two captures have to do with each other.
#[derive(Clone, Debug)]
pub struct ClockModel {
    offset: Offset,
    skew: SkewEstimate,
    steps: Vec<ClockStep>,
    readers: [TimelineReader; 2],
}

/// What the destination's clock shows more than the source's at the first crossing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Less would give packets back a negative delay; `None` without such packets.
    pub lower: Option<TimeDelta>,
    /// More would give packets out a negative delay; `None` without such packets.
    pub upper: Option<TimeDelta>,
    /// What is assumed: the middle of the bounds, as if the shortest delays were the same both
    /// ways. It is off by half of what they differ, so by no more than half of the smallest
    /// round-trip time. With one bound only it is that bound, and the shortest delay is zero.
    pub middle: TimeDelta,
}

impl ClockModel {
    /// Fits the clocks to packets seen at both points, which come in order of `src_record`.
    ///
    /// A few wrong crossings do no harm. `None` when there are no crossings.
    pub fn estimate(crossings: &[Crossing]) -> Option<Self> {
        let first = crossings.first()?;
        let mut jumps = steps::find(crossings);
        let mut skew = SkewEstimate::default();
        let mut delays = Delays::default();
        let rounds = if jumps.is_empty() { 1 } else { ROUNDS_WITH_STEPS };
        for _ in 0..rounds {
            let drift = used(skew).as_ppt() as f64 / TRILLION as f64;
            for jump in &mut jumps {
                jump.measure(crossings, drift);
            }
            delays = Delays::new(first, crossings, &unstepping(crossings, &jumps));
            let confirmed = Way::BOTH.map(|way| skew::confirmed(&delays.ways[way.index()]));
            let step_error_ns = jumps.iter().map(|jump| jump.error.as_nanos() as f64).sum();
            skew = skew::estimate(&confirmed, step_error_ns);
        }
        let offset = delays.offset(used(skew));
        let mut readers = unstepping(crossings, &jumps);
        let dst = &mut readers[Point::Dst.index()];
        dst.origin = delays.start + offset.middle;
        dst.offset = offset.middle;
        let ppt = used(skew).as_ppt();
        dst.gains = Rate::of(ppt, TRILLION.saturating_add(ppt));
        let steps = placed_steps(crossings, &jumps, &readers);
        for point in Point::BOTH {
            readers[point.index()].seams = seams(crossings, &jumps, &steps, point);
        }
        let mut steps: Vec<ClockStep> = steps;
        steps.sort_by_key(|step| step.at);
        Some(Self {
            offset,
            skew,
            steps,
            readers,
        })
    }

    /// Places the records of one of the captures on the common timeline.
    pub fn reader(&self, point: Point) -> TimelineReader {
        self.readers[point.index()].clone()
    }

    /// What the destination's clock shows more than the source's at the first crossing, on clocks
    /// that have not been set yet.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// The clocks' relative rate.
    pub fn skew(&self) -> SkewEstimate {
        self.skew
    }

    /// When the clocks were set, in order of time.
    pub fn steps(&self) -> &[ClockStep] {
        &self.steps
    }

    /// What skew adds to a raw round-trip time: `rtt = raw - share`.
    ///
    /// A raw round-trip time is the time between two packets at the near point less the
    /// `turnaround` between them at the `far` point, each on its own clock. A far clock that runs
    /// fast shows too long a turnaround, so `raw` is too short and the share negative. Zero when
    /// no skew was detected. The result is in time of the near clock.
    pub fn skew_share(&self, far: Point, turnaround: TimeDelta) -> TimeDelta {
        let ppt = used(self.skew).as_ppt();
        match far {
            Point::Dst => -Rate::of(ppt, TRILLION.saturating_add(ppt)).share(turnaround),
            // Seen from the destination the source's clock runs slow by this much.
            Point::Src => Rate::of(ppt, TRILLION).share(turnaround),
        }
    }
}

/// The skew that is corrected for.
fn used(skew: SkewEstimate) -> Skew {
    if skew.detected { skew.skew } else { Skew::NONE }
}

/// Delays of both ways in order of time at the source, with steps taken out of the clocks.
#[derive(Debug, Default)]
struct Delays {
    /// The first crossing's time at the source, where the delays' time starts.
    start: Timestamp,
    /// The first crossing's difference, which is taken off (out) or added to (back) all delays.
    difference: TimeDelta,
    /// By [`Way::index`].
    ways: [Vec<Delay>; 2],
}

impl Delays {
    fn new(first: &Crossing, crossings: &[Crossing], readers: &[TimelineReader; 2]) -> Self {
        let unstep = |crossing: &Crossing| {
            let [src, dst] = readers;
            Crossing {
                src_time: src.place(crossing.src_record, crossing.src_time).at,
                dst_time: dst.place(crossing.dst_record, crossing.dst_time).at,
                ..*crossing
            }
        };
        let first = unstep(first);
        let (start, difference) = (first.src_time, first.difference());
        let ways = Way::BOTH.map(|way| {
            let mut delays: Vec<Delay> = crossings
                .iter()
                .filter(|crossing| crossing.way == way)
                .map(|crossing| {
                    let crossing = unstep(crossing);
                    let ahead = crossing.difference() - difference;
                    Delay {
                        at_ns: (crossing.src_time - start).as_nanos(),
                        owd_ns: match way {
                            Way::Out => ahead.as_nanos(),
                            Way::Back => (-ahead).as_nanos(),
                        },
                    }
                })
                .collect();
            delays.sort_by_key(|delay| delay.at_ns);
            delays
        });
        Self {
            start,
            difference,
            ways,
        }
    }

    fn offset(&self, skew: Skew) -> Offset {
        let rate = Rate::of(skew.as_ppt(), TRILLION);
        let [out, back] = Way::BOTH.map(|way| {
            let level: Vec<Delay> = self.ways[way.index()]
                .iter()
                .map(|delay| {
                    let drifted = rate.share(TimeDelta::from_nanos(delay.at_ns)).as_nanos();
                    let owd_ns = match way {
                        Way::Out => delay.owd_ns.saturating_sub(drifted),
                        Way::Back => delay.owd_ns.saturating_add(drifted),
                    };
                    Delay { owd_ns, ..*delay }
                })
                .collect();
            let smallest = skew::confirmed(&level).iter().map(|delay| delay.owd_ns).min();
            smallest.map(TimeDelta::from_nanos)
        });
        let upper = out.map(|owd| self.difference + owd);
        let lower = back.map(|owd| self.difference - owd);
        let middle = match (lower, upper) {
            (Some(lower), Some(upper)) => {
                TimeDelta::from_nanos(lower.as_nanos().midpoint(upper.as_nanos()))
            }
            (one, other) => one.or(other).unwrap_or_default(),
        };
        Offset {
            lower,
            upper,
            middle,
        }
    }
}

/// Readers that take out nothing but each clock's own steps.
fn unstepping(crossings: &[Crossing], jumps: &[Jump]) -> [TimelineReader; 2] {
    Point::BOTH.map(|point| TimelineReader {
        seams: seams(crossings, jumps, &[], point),
        ..TimelineReader::default()
    })
}

/// The jumps as steps, in the same order; `readers` know each clock's own.
fn placed_steps(
    crossings: &[Crossing],
    jumps: &[Jump],
    readers: &[TimelineReader; 2],
) -> Vec<ClockStep> {
    let at = |crossing: &Crossing, point: Point| {
        let (record, time) = seen_at(crossing, point);
        readers[point.index()].place(record, time).at
    };
    jumps
        .iter()
        .map(|jump| {
            let after = &crossings[jump.after];
            let when = at(after, jump.point);
            let other = jump.point.opposite();
            let records = crossings.iter().map(|crossing| seen_at(crossing, other).0);
            // Where the other capture ends before the step, all of it is before the step.
            let past_the_end = records.max().map_or(0, |last| last.saturating_add(1));
            let first_there = crossings
                .iter()
                .filter(|crossing| at(crossing, other) >= when)
                .map(|crossing| seen_at(crossing, other).0)
                .min()
                .unwrap_or(past_the_end);
            let (src_record, dst_record) = match jump.point {
                Point::Src => (after.src_record, first_there),
                Point::Dst => (first_there, after.dst_record),
            };
            ClockStep {
                point: jump.point,
                size: jump.size,
                src_record,
                dst_record,
                at: when,
            }
        })
        .collect()
}

/// Where the jumps lie in one point's capture: its own, and those of the other clock if `steps`
/// tells their records.
fn seams(crossings: &[Crossing], jumps: &[Jump], steps: &[ClockStep], point: Point) -> Vec<Seam> {
    let mut seams: Vec<Seam> = jumps
        .iter()
        .filter(|jump| jump.point == point)
        .map(|jump| own_seam(crossings, jump))
        .collect();
    let others = steps.iter().filter(|step| step.point != point);
    seams.extend(others.map(|step| Seam {
        first_after: match point {
            Point::Src => step.src_record,
            Point::Dst => step.dst_record,
        },
        turn: None,
        ahead: TimeDelta::ZERO,
    }));
    seams.sort_by_key(|seam| seam.first_after);
    let mut ahead = TimeDelta::ZERO;
    for seam in &mut seams {
        ahead += seam.ahead;
        seam.ahead = ahead;
    }
    seams
}

fn own_seam(crossings: &[Crossing], jump: &Jump) -> Seam {
    let (last_before, before) = seen_at(&crossings[jump.before], jump.point);
    let (first_after, after) = seen_at(&crossings[jump.after], jump.point);
    let between = (after - before) - jump.size;
    let turn = Turn {
        last_before,
        middle: Timestamp::from_nanos(before.as_nanos().midpoint(after.as_nanos())),
        forwards: jump.size > TimeDelta::ZERO,
    };
    Seam {
        first_after,
        turn: (jump.size.abs() > between.abs()).then_some(turn),
        ahead: jump.size,
    }
}

/// Record number and time of a crossing in one point's capture.
fn seen_at(crossing: &Crossing, point: Point) -> (u64, Timestamp) {
    match point {
        Point::Src => (crossing.src_record, crossing.src_time),
        Point::Dst => (crossing.dst_record, crossing.dst_time),
    }
}
