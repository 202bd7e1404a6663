//! The crossings of one way on a walk, and the shifts between them.

use tcpexp_units::TimeDelta;

use super::jump::spread;
use crate::spp::crossing::{Crossing, PathDirection};

/// Number of packets of one way that are compared on each side of a step.
pub(super) const FINE: usize = 7;

/// Minimum number of packets on each side of a step.
const LEAST: usize = 3;

/// Drift allowed between the clocks without a step: 1 ns in this many.
const DRIFT: i64 = 1_000;

/// The crossings of one way on a walk.
pub(super) struct Track {
    pub(super) path_direction: PathDirection,
    /// Positions of the crossings in the order of the walk.
    pub(super) positions: Vec<usize>,
    /// Shift between the few crossings before and after each crossing.
    pub(super) fine: Vec<Option<Shift>>,
    /// Clock differences of the crossings, in nanoseconds.
    differences_ns: Vec<i64>,
}

/// Change of the clock difference from one group of packets to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) size: TimeDelta,
    /// Variation within a group.
    pub(super) spread: TimeDelta,
    /// Time between the groups.
    pub(super) lag: TimeDelta,
}

impl Shift {
    pub(super) fn is_clear(&self, smallest_ns: i64) -> bool {
        let size = self.size.abs().as_nanos();
        let drift = self.lag.as_nanos() / DRIFT;
        // A shift below twice the variation within the groups may itself be variation.
        size > smallest_ns.saturating_add(drift) && size / 2 >= self.spread.as_nanos()
    }

    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        let [mine, theirs] = [self, other].map(|shift| shift.size.abs().as_nanos());
        let same_sign = (self.size > TimeDelta::ZERO) == (other.size > TimeDelta::ZERO);
        // A queue may grow on one way at the time of the step, so the sizes need not be equal.
        same_sign && mine / 2 <= theirs && theirs / 2 <= mine
    }
}

impl Track {
    pub(super) fn new(
        crossings: &[Crossing],
        order: &[usize],
        path_direction: PathDirection,
    ) -> Self {
        let positions: Vec<usize> = (0..order.len())
            .filter(|&position| crossings[order[position]].path_direction == path_direction)
            .collect();
        let differences_ns: Vec<i64> = positions
            .iter()
            .map(|&position| crossings[order[position]].difference().as_nanos())
            .collect();
        let group = |from: usize, to: usize| {
            let mut sorted = [0; FINE];
            let sorted = &mut sorted[..to - from];
            sorted.copy_from_slice(&differences_ns[from..to]);
            sorted.sort_unstable();
            let middle = &crossings[order[positions[from.midpoint(to)]]];
            (sorted[sorted.len() / 2], spread(sorted), middle)
        };
        let fine = (0..positions.len())
            .map(|at| {
                let end = (at + FINE).min(positions.len());
                if at < LEAST || end - at < LEAST {
                    return None;
                }
                let (before, after) = (group(at.saturating_sub(FINE), at), group(at, end));
                Some(Shift {
                    size: TimeDelta::from_nanos(after.0.saturating_sub(before.0)),
                    spread: TimeDelta::from_nanos(before.1.max(after.1)),
                    lag: lag(before.2, after.2),
                })
            })
            .collect();
        Self {
            path_direction,
            positions,
            fine,
            differences_ns,
        }
    }

    /// True if the nearest crossings before and after the first `passed` ones vary too little to hide
    /// the `shift` of the other way.
    pub(super) fn excludes(&self, passed: usize, shift: &Shift) -> bool {
        let Some((before, after)) = self.differences_ns.split_at_checked(passed) else {
            return false;
        };
        let (Some(before), Some(after)) = (before.last_chunk(), after.first_chunk()) else {
            return false;
        };
        let [before, after] = [before, after].map(|nearest: &[i64; LEAST]| {
            let mut sorted = *nearest;
            sorted.sort_unstable();
            (sorted[LEAST / 2], spread(&sorted))
        });
        let own_ns = after.0.saturating_sub(before.0);
        let apart_ns = own_ns
            .saturating_sub(shift.size.as_nanos())
            .saturating_abs();
        let varies_ns = before
            .1
            .max(after.1)
            .saturating_add(shift.spread.as_nanos());
        apart_ns / 2 > varies_ns
    }

    /// Number of this way's crossings before a position of the walk.
    pub(super) fn before(&self, position: usize) -> usize {
        self.positions.partition_point(|&at| at < position)
    }

    /// Positions of up to `count` crossings before and after the first `passed` crossings.
    pub(super) fn around(&self, passed: usize, count: usize) -> [&[usize]; 2] {
        let end = (passed + count).min(self.positions.len());
        [
            &self.positions[passed.saturating_sub(count)..passed],
            &self.positions[passed..end],
        ]
    }
}

/// Returns the way that shows a step before `place` with the least variation, and its shift.
pub(super) fn clearest<'a>(clear: &[&'a Track], place: usize) -> Option<(&'a Track, Shift)> {
    clear
        .iter()
        .filter_map(|track| Some((*track, (*track.fine.get(track.before(place))?)?)))
        .min_by_key(|(_, shift)| shift.spread)
}

/// Time between two crossings on the clock that shows the shorter time.
pub(super) fn lag(before: &Crossing, after: &Crossing) -> TimeDelta {
    let src = (after.src_time - before.src_time).abs();
    let dst = (after.dst_time - before.dst_time).abs();
    src.min(dst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_delays_exclude_a_shift_and_varying_delays_do_not() {
        let drained_queue = Shift {
            size: TimeDelta::from_micros(-4_841),
            spread: TimeDelta::from_micros(1_219),
            lag: TimeDelta::ZERO,
        };
        let excludes = |micros: &[i64]| {
            let track = Track {
                path_direction: PathDirection::Back,
                positions: Vec::new(),
                fine: Vec::new(),
                differences_ns: micros.iter().map(|micros| micros * 1_000).collect(),
            };
            track.excludes(3, &drained_queue)
        };
        assert!(excludes(&[0, 1, 0, 0, -1, 0]));
        assert!(!excludes(&[0, 1, 0, -5_000, -5_001, -5_000]));
        assert!(!excludes(&[0, 1, -5_000, -5_000, -5_000, -5_001]));
        assert!(!excludes(&[0, 1, 0, 0, 1]), "too few");
    }
}
