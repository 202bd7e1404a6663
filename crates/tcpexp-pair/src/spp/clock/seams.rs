//! Positions of the clock steps in the captures.

use super::jump::Jump;
use super::steps::ClockStep;
use super::timeline::{Seam, TimelineReader, Turn};
use crate::spp::crossing::Crossing;
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// Readers that remove only each clock's own steps.
pub(super) fn unstepping(crossings: &[Crossing], jumps: &[Jump]) -> [TimelineReader; 2] {
    Point::BOTH.map(|point| TimelineReader {
        seams: seams(crossings, jumps, &[], point),
        ..TimelineReader::default()
    })
}

/// Converts jumps to steps, in the same order; `readers` remove each clock's own steps.
pub(super) fn placed_steps(
    crossings: &[Crossing],
    jumps: &[Jump],
    readers: &[TimelineReader; 2],
) -> Vec<ClockStep> {
    let at = |crossing: &Crossing, point: Point| {
        let (place, time) = seen_at(crossing, point);
        readers[point.index()].place(place, time).at
    };
    jumps
        .iter()
        .map(|jump| {
            let after = &crossings[jump.after];
            let when = at(after, jump.point);
            let other = jump.point.opposite();
            let places = crossings.iter().map(|crossing| seen_at(crossing, other).0);
            // If the other capture ends before the step, all of its records are before the step.
            let past_the_end = places.max().map_or(0, |last| last.saturating_add(1));
            let first_there = crossings
                .iter()
                .filter(|crossing| at(crossing, other) >= when)
                .map(|crossing| seen_at(crossing, other).0)
                .min()
                .unwrap_or(past_the_end);
            let (src_place, dst_place) = match jump.point {
                Point::Src => (after.src_place, first_there),
                Point::Dst => (first_there, after.dst_place),
            };
            ClockStep {
                point: jump.point,
                size: jump.size,
                src_place,
                dst_place,
                at: when,
            }
        })
        .collect()
}

/// Positions of the jumps in one point's capture: those of its own clock, and those of the other
/// clock if `steps` holds their places.
pub(super) fn seams(
    crossings: &[Crossing],
    jumps: &[Jump],
    steps: &[ClockStep],
    point: Point,
) -> Vec<Seam> {
    let mut seams: Vec<Seam> = jumps
        .iter()
        .filter(|jump| jump.point == point)
        .map(|jump| own_seam(crossings, jump))
        .collect();
    let others = steps.iter().filter(|step| step.point != point);
    seams.extend(others.map(|step| Seam {
        first_after: match point {
            Point::Src => step.src_place,
            Point::Dst => step.dst_place,
        },
        // A step of the other clock changes no time here. It starts a new piece, since delays
        // across it are not used.
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
    let between = (after - before) - jump.taken_out();
    let turn = Turn {
        last_before,
        middle: Timestamp::from_nanos(before.as_nanos().midpoint(after.as_nanos())),
        forwards: jump.size > TimeDelta::ZERO,
    };
    Seam {
        first_after,
        // A smaller jump leaves no range of times without records.
        turn: (jump.taken_out().abs() > between.abs()).then_some(turn),
        ahead: jump.taken_out(),
    }
}

/// Place and time of a crossing in the capture of `point`.
pub(super) fn seen_at(crossing: &Crossing, point: Point) -> (u64, Timestamp) {
    match point {
        Point::Src => (crossing.src_place, crossing.src_time),
        Point::Dst => (crossing.dst_place, crossing.dst_time),
    }
}
