//! Where one of the two clocks was set while the captures ran.
//!
//! Setting a clock shifts what it shows more than the other at once and for packets of both ways
//! alike. A queue or a new route delays packets: that shifts one way only, or both ways in
//! opposite directions.

use tcpexp_units::{TimeDelta, Timestamp};

use super::walk::Walk;
use super::{Crossing, Point};

/// No smaller step is looked for.
pub(super) const SMALLEST_NS: i64 = 1_000_000;
/// Seen by one way only, a step that did not turn the clock back must be longer than any queue.
const LONGEST_QUEUE_NS: i64 = 60_000_000_000;

/// A moment at which one clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Whose clock jumped.
    pub point: Point,
    /// How far it jumped; positive is forwards.
    pub size: TimeDelta,
    /// The first record of the source's capture that is known to be after the step.
    pub src_record: u64,
    /// The first record of the destination's capture that is known to be after the step.
    pub dst_record: u64,
    /// When, on the common timeline.
    pub at: Timestamp,
}

/// A step as the crossings around it show it.
#[derive(Clone, Debug)]
pub(super) struct Jump {
    /// Whose clock jumped.
    pub(super) point: Point,
    /// The last crossing before it, in the order of that point's records.
    pub(super) before: usize,
    /// The first crossing after it.
    pub(super) after: usize,
    /// How far the clock jumped; positive is forwards.
    pub(super) size: TimeDelta,
    /// How far `size` may be off.
    pub(super) error: TimeDelta,
    /// The crossings of the clearer way just before and after, which `size` is measured on.
    pub(super) sides: [Vec<usize>; 2],
    /// First and last crossing that the step was looked for in, to tell two findings of one step.
    pub(super) extent: (usize, usize),
}

/// All steps of both clocks, in order of their crossings.
pub(super) fn find(crossings: &[Crossing]) -> Vec<Jump> {
    let mut found: Vec<Jump> = Point::BOTH
        .iter()
        .flat_map(|&point| Walk::new(crossings, point).jumps())
        .collect();
    // A jump of one clock looks like the opposite jump of the other, smeared over a round trip.
    // It belongs to the clock whose time between the two packets it explains best.
    found.sort_by_key(|jump| jump.unexplained(crossings).abs());
    let mut jumps: Vec<Jump> = Vec::new();
    for jump in found {
        if !jumps.iter().any(|other| other.is_same(&jump)) {
            jumps.push(jump);
        }
    }
    jumps.sort_by_key(|jump| jump.after);
    jumps
}

impl Jump {
    /// Measures the size anew, with `drift` of the clocks (destination against source) taken out.
    pub(super) fn measure(&mut self, crossings: &[Crossing], drift: f64) {
        // The clock that did not jump tells how much time passed.
        let steady = self.point.opposite();
        let start = time_at(&crossings[self.after], steady);
        let [before, after] = [0, 1].map(|side: usize| {
            let mut differences: Vec<i64> = self.sides[side]
                .iter()
                .map(|&index| {
                    let crossing = &crossings[index];
                    let passed = time_at(crossing, steady) - start;
                    let drifted = passed.as_nanos() as f64 * drift;
                    let difference = crossing.difference().as_nanos();
                    difference.saturating_sub(whole_nanos(drifted))
                })
                .collect();
            differences.sort_unstable();
            let middle = differences.get(differences.len() / 2).copied();
            (middle.unwrap_or_default(), spread(&differences))
        });
        let shift = TimeDelta::from_nanos(after.0.saturating_sub(before.0));
        self.size = match self.point {
            Point::Src => -shift,
            Point::Dst => shift,
        };
        self.error = TimeDelta::from_nanos(before.1.max(after.1) / 2 + 1_000);
    }

    /// The time between the two packets that the jump does not account for.
    fn unexplained(&self, crossings: &[Crossing]) -> TimeDelta {
        elapsed(crossings, self.point, self.before, self.after) - self.size
    }

    fn is_same(&self, other: &Self) -> bool {
        self.point != other.point
            && self.extent.0 <= other.extent.1
            && other.extent.0 <= self.extent.1
    }

    /// Whether one way alone shows that this was no queue.
    pub(super) fn is_beyond_doubt(&self, crossings: &[Crossing]) -> bool {
        let elapsed = elapsed(crossings, self.point, self.before, self.after).as_nanos();
        elapsed < -SMALLEST_NS && self.size.as_nanos() < 0
            || self.size.abs().as_nanos() > LONGEST_QUEUE_NS
    }
}

/// Distance between the second smallest and the second largest, so that one outlier is harmless.
pub(super) fn spread(sorted: &[i64]) -> i64 {
    match sorted {
        [_, low, .., high, _] => high.saturating_sub(*low),
        [low, .., high] => high.saturating_sub(*low),
        _ => 0,
    }
}

pub(super) fn elapsed(crossings: &[Crossing], point: Point, before: usize, after: usize) -> TimeDelta {
    time_at(&crossings[after], point) - time_at(&crossings[before], point)
}

fn time_at(crossing: &Crossing, point: Point) -> Timestamp {
    match point {
        Point::Src => crossing.src_time,
        Point::Dst => crossing.dst_time,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn whole_nanos(nanos: f64) -> i64 {
    nanos.round() as i64
}
