//! Where one of the two clocks was set while the captures ran.
//!
//! Setting a clock shifts what it shows more than the other at once and for packets of both ways
//! alike. A queue or a new route delays packets: that shifts one way only, or both ways in
//! opposite directions.

use super::jump::{Jump, SMALLEST_NS};
use super::walk::Walk;
use crate::spp::crossing::{Crossing, Way};
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

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

/// All steps of both clocks, in order of their crossings.
///
/// `coarseness` is how far the difference of the two clocks may be off because of their ticks.
pub(in crate::spp) fn find(crossings: &[Crossing], coarseness: TimeDelta) -> Vec<Jump> {
    let mut found: Vec<Jump> = Point::BOTH
        .iter()
        .flat_map(|&point| Walk::new(crossings, point, coarseness).jumps())
        .collect();
    // A jump of one clock looks like the opposite jump of the other, smeared over a round trip.
    // It belongs to the clock whose time between the two packets it explains best.
    found.sort_by_key(|jump| (jump.suspected, jump.unexplained(crossings).abs()));
    let mut jumps: Vec<Jump> = Vec::new();
    for jump in found {
        if !jumps.iter().any(|other| other.is_same(&jump)) {
            jumps.push(jump);
        }
    }
    jumps.sort_by_key(|jump| jump.after);
    // Close to a step another way's queue can seem to shift as the step did. Measured apart from
    // the step nothing is left of it.
    let mut parted = jumps.clone();
    part(&mut parted, crossings);
    let mut real = parted.iter_mut().map(|jump| {
        jump.measure(crossings, 0.0);
        jump.size.abs().as_nanos() > SMALLEST_NS / 2
    });
    jumps.retain(|_| real.next().unwrap_or(false));
    part(&mut jumps, crossings);
    jumps
}

/// Keeps the crossings that one step is measured on clear of all other steps.
fn part(jumps: &mut [Jump], crossings: &[Crossing]) {
    let all = jumps.to_vec();
    for (number, jump) in jumps.iter_mut().enumerate() {
        for (side, next) in [jump.before, jump.after].into_iter().enumerate() {
            for way in Way::BOTH {
                jump.sides[way.index()][side].retain(|&index| {
                    all.iter().enumerate().all(|(other, step)| {
                        let is_past = |index: usize| step.is_before(&crossings[index], crossings);
                        other == number || is_past(index) == is_past(next)
                    })
                });
            }
        }
    }
}
