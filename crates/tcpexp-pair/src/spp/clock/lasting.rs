//! Whether the smallest delays on both sides of a step differ by its size.
//!
//! While the queue of one direction fills and that of the other drains, the delays of both directions
//! move as after a clock step. But queues come and go, and a step moves the smallest delays of both
//! directions for good.

use std::cmp::Reverse;

use tcpexp_units::TimeDelta;

use super::delay::confirmed;
use super::jump::{Jump, SMALLEST_NS, elapsed};
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;

/// Time before and after a step within which the smallest delays count. BBR drains the queue at least
/// every 10 s to see the smallest delay (Linux `bbr_min_rtt_win_sec`). In 10 s, a remaining skew of
/// 1 ppm moves delays by a tenth of the smallest step that is searched for.
const STRETCH: TimeDelta = TimeDelta::from_seconds(10);

/// A smallest delay has stayed if it moved by at most one part in this many of the size of the step. It has moved
/// with the step if its change differs from the size by at most as much. Between these limits, it shows neither.
const PARTS: i64 = 4;

/// Number of packets on each side of a suspected step that show the smallest delay of a direction well enough to
/// contradict the step. A choice, not measured.
const ENOUGH: usize = 64;

/// Removes the steps across which the smallest delays of both directions stay; returns true if there are any.
/// For a suspected step, which only one direction shows, it is sufficient that the other direction stays, if both have
/// enough packets.
///
/// A suspected step may be real if a queue hides it in the direction that does not show it. But a queue that stands on
/// one side of the step for as long as the smallest delays count, and is as long as the step, is improbable. The
/// movement that the delays of both directions allow stays in the errors of all times.
///
/// A larger step that lasts limits the stretches on which a smaller step is checked.
pub(super) fn remove_passing(jumps: &mut Vec<Jump>, crossings: &[Crossing], drift: f64) -> bool {
    let mut by_size: Vec<usize> = (0..jumps.len()).collect();
    by_size.sort_by_key(|&index| Reverse(jumps[index].size.abs()));
    let mut lasts = vec![false; jumps.len()];
    for index in by_size {
        let jump = &jumps[index];
        let limits = (0..jumps.len()).filter(|&other| lasts[other]);
        let limits: Vec<&Jump> = limits.map(|other| &jumps[other]).collect();
        let moved = moved(jump, &limits, crossings, drift);
        let stays = |moved: &TimeDelta| is_near(*moved, TimeDelta::ZERO, jump);
        let passes = moved.is_some_and(|moved| {
            if jump.suspected && has_enough(jump, &limits, crossings) {
                moved.iter().any(stays)
            } else {
                moved.iter().all(stays)
            }
        });
        lasts[index] = !passes;
    }
    let before = jumps.len();
    let mut lasts = lasts.into_iter();
    jumps.retain(|_| lasts.next().unwrap_or(true));
    jumps.len() < before
}

/// Marks each step as suspected that the smallest delays do not show: those of a direction stay, or neither moves by
/// the size of the step.
pub(super) fn doubt_unmoved(jumps: &mut [Jump], crossings: &[Crossing], drift: f64) {
    let all = jumps.to_vec();
    for (index, jump) in jumps.iter_mut().enumerate() {
        let others = all.iter().enumerate().filter(|(other, _)| *other != index);
        let limits: Vec<&Jump> = others.map(|(_, other)| other).collect();
        jump.suspected |= moved(jump, &limits, crossings, drift).is_some_and(|moved| {
            let stays = |moved| is_near(moved, TimeDelta::ZERO, jump);
            let moves = |moved| is_near(moved, difference(jump), jump);
            // A queue that stands on one side may hide the size in one direction.
            moved.into_iter().any(stays) || !moved.into_iter().any(moves)
        });
    }
}

/// True if `moved` is `expected` for this step, as far as the delays of idle hosts show.
fn is_near(moved: TimeDelta, expected: TimeDelta, jump: &Jump) -> bool {
    let part = jump.size.abs().as_nanos() / PARTS;
    (moved - expected).abs().as_nanos() <= part.max(SMALLEST_NS / 2)
}

/// Change of the destination clock minus the source clock at the step.
fn difference(jump: &Jump) -> TimeDelta {
    match jump.point {
        Point::Src => -jump.size,
        Point::Dst => jump.size,
    }
}

/// Change of the destination clock minus the source clock that the smallest delays of each direction show, by
/// [`PathDirection::index`]; `None` if a direction lacks packets on a side. No packet beyond the `limits` counts.
fn moved(
    jump: &Jump,
    limits: &[&Jump],
    crossings: &[Crossing],
    drift: f64,
) -> Option<[TimeDelta; 2]> {
    let smallest = |path_direction: PathDirection, next: usize| {
        let stretch = stretch(jump, limits, crossings, path_direction, next);
        let delays = jump.delays(crossings, drift, path_direction, &stretch);
        confirmed(&delays).iter().map(|delay| delay.owd_ns).min()
    };
    let longer = |path_direction: PathDirection| {
        let before = smallest(path_direction, jump.before)?;
        let after = smallest(path_direction, jump.after)?;
        Some(TimeDelta::from_nanos(after.saturating_sub(before)))
    };
    Some([longer(PathDirection::Out)?, -longer(PathDirection::Back)?])
}

/// True if each direction has enough packets on each side of the step.
fn has_enough(jump: &Jump, limits: &[&Jump], crossings: &[Crossing]) -> bool {
    PathDirection::BOTH.into_iter().all(|path_direction| {
        [jump.before, jump.after]
            .into_iter()
            .all(|next| stretch(jump, limits, crossings, path_direction, next).len() >= ENOUGH)
    })
}

/// The crossings of a direction on the side of the step that has the crossing `next`, as far as they count.
fn stretch(
    jump: &Jump,
    limits: &[&Jump],
    crossings: &[Crossing],
    path_direction: PathDirection,
    next: usize,
) -> Vec<usize> {
    (0..crossings.len())
        .filter(|&index| crossings[index].path_direction == path_direction)
        .filter(|&index| {
            let away = elapsed(crossings, jump.point.opposite(), jump.after, index);
            away.abs() <= STRETCH
        })
        .filter(|&index| {
            let mut steps = limits.iter().chain([&jump]);
            steps.all(|step| {
                let is_past = |index: usize| step.is_before(&crossings[index], crossings);
                is_past(index) == is_past(next)
            })
        })
        .collect()
}
