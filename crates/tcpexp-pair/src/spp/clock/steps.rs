//! Detects when one of the two clocks was set while the captures ran.
//!
//! A clock step shifts the difference of the clocks at once and equally for packets of both ways. A
//! queue or a route change shifts one way only, or both ways in opposite directions.

use super::jump::{Jump, SMALLEST_NS};
use super::walk::{REACH, Walk};
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;
use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

/// Next to a larger step, a step is uncertain if it is smaller by this factor.
const REMAINDER: i64 = 4;
/// Number of crossings by which a step may be misplaced: twice the range in which both clocks'
/// findings are one step.
const MISPLACED: usize = 2 * REACH;

/// A clock step: the moment at which one clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStep {
    /// Point whose clock was set.
    pub point: Point,
    /// Size of the step; positive is forwards.
    pub size: TimeDelta,
    /// Place of the first record of the source capture that is known to be after the step.
    pub src_place: u64,
    /// Place of the first record of the destination capture that is known to be after the step.
    pub dst_place: u64,
    /// Time of the step on the common timeline.
    pub at: Timestamp,
}

/// Finds all steps of both clocks, in order of their crossings.
///
/// `coarseness` is the error of the clock difference from the clocks' ticks.
pub(in crate::spp) fn find(crossings: &[Crossing], coarseness: TimeDelta) -> Vec<Jump> {
    let mut found: Vec<Jump> = Point::BOTH
        .iter()
        .flat_map(|&point| Walk::new(crossings, point, coarseness).jumps())
        .collect();
    // A jump of one clock looks like the opposite jump of the other clock, spread over a round
    // trip. It belongs to the clock whose elapsed time between the two packets it explains better.
    found.sort_by_key(|jump| (jump.suspected, jump.unexplained(crossings).abs()));
    let mut jumps: Vec<Jump> = Vec::new();
    for jump in found {
        if !jumps.iter().any(|other| other.is_same(&jump)) {
            jumps.push(jump);
        }
    }
    jumps.sort_by_key(|jump| jump.after);
    // Close to a step, a queue of the other way can look like another step. Measured apart from the
    // real step, its size almost vanishes.
    let mut parted = jumps.clone();
    part(&mut parted, crossings);
    let mut real = parted.iter_mut().map(|jump| {
        // The skew is estimated after the steps, so no drift is removed here.
        jump.measure(crossings, 0.0);
        jump.size.abs().as_nanos() > SMALLEST_NS / 2
    });
    jumps.retain(|_| real.next().unwrap_or(false));
    // Without the false steps, more crossings are left to measure the real ones on.
    part(&mut jumps, crossings);
    jumps
}

/// Marks small steps next to a larger one as suspected. If the larger step is misplaced by some
/// packets, its remainder looks like a step of both ways.
pub(super) fn doubt_remainders(jumps: &mut [Jump]) {
    let all: Vec<(usize, i64)> = jumps
        .iter()
        .map(|jump| (jump.after, jump.size.abs().as_nanos()))
        .collect();
    for jump in jumps {
        let size_ns = jump.size.abs().as_nanos();
        jump.suspected |= all.iter().any(|&(after, other_ns)| {
            other_ns / REMAINDER >= size_ns && after.abs_diff(jump.after) < MISPLACED
        });
    }
}

/// Removes the crossings beyond other steps from the crossings that each step is measured on.
fn part(jumps: &mut [Jump], crossings: &[Crossing]) {
    let all = jumps.to_vec();
    for (number, jump) in jumps.iter_mut().enumerate() {
        for (side, next) in [jump.before, jump.after].into_iter().enumerate() {
            for path_direction in PathDirection::BOTH {
                jump.sides[path_direction.index()][side].retain(|&index| {
                    all.iter().enumerate().all(|(other, step)| {
                        let is_past = |index: usize| step.is_before(&crossings[index], crossings);
                        other == number || is_past(index) == is_past(next)
                    })
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_step_next_to_a_large_one_is_uncertain() {
        let step = |after, micros| Jump {
            point: Point::Dst,
            before: after - 1,
            after,
            size: TimeDelta::from_micros(micros),
            error: TimeDelta::ZERO,
            suspected: false,
            sides: Default::default(),
            extent: (after, after),
        };
        let mut jumps = [
            step(100, 116),
            step(130, -4_884),
            step(140, 2_000),
            step(900, 116),
        ];
        doubt_remainders(&mut jumps);
        let suspected = jumps.map(|jump| jump.suspected);
        assert_eq!(suspected, [true, false, false, false]);
    }
}
