//! The position and the size of a step.

use std::cmp::Reverse;

use super::{Candidate, REACH, Walk};
use crate::spp::clock::jump::{Jump, elapsed};
use crate::spp::clock::track::{FINE, Track, clearest};
use crate::spp::crossing::PathDirection;
use crate::spp::point::Point;

/// Delays of packets vary by at least this much: the resolution of most captures.
const FINEST_NS: i64 = 1_000;

impl Walk<'_> {
    /// Returns the first position after a step.
    ///
    /// Each packet of a way that shows the step clearly is closer either to the level before or to
    /// the level after it, and counts the more, the less the delays of its way vary. For packets of the
    /// other way in between, the largest leap of the clock's own time decides.
    pub(super) fn place(&self, candidate: &Candidate, clear: &[&Track]) -> Option<usize> {
        let levels: Vec<(PathDirection, [i64; 2], i128)> = clear
            .iter()
            .map(|track| {
                let passed = candidate.passed[track.path_direction.index()];
                let levels = track.around(passed, FINE).map(|side| self.middle(side));
                let shift = track.fine.get(passed).copied().flatten();
                let spread_ns = shift.map_or(0, |shift| shift.spread.as_nanos());
                (
                    track.path_direction,
                    levels,
                    spread_ns.max(FINEST_NS).into(),
                )
            })
            .collect();
        let (mut from, mut to) = (candidate.position, candidate.position);
        for track in clear {
            let [before, after] =
                track.around(candidate.passed[track.path_direction.index()], FINE / 2 + 1);
            from = from.min(*before.first()?);
            to = to.max(*after.last()?);
        }
        let leap = |position: usize| {
            let (before, after) = (self.order[position - 1], self.order[position]);
            let elapsed = elapsed(self.crossings, self.point, before, after);
            elapsed
                .as_nanos()
                .saturating_mul(self.own(candidate.size_ns).signum())
        };
        // Misfit of a later position of the step relative to `from`, in thousandths of the variation.
        let mut misfit = 0_i128;
        let mut best: Option<(i128, Reverse<i64>, usize)> = None;
        for position in from + 1..=to {
            let moved = self.crossing(position - 1);
            if let Some((_, [before, after], spread_ns)) = levels
                .iter()
                .find(|(path_direction, ..)| *path_direction == moved.path_direction)
            {
                let off = |level: i64| {
                    (i128::from(moved.difference().as_nanos()) - i128::from(level)).abs()
                };
                misfit += (off(*before) - off(*after)) * 1_000 / spread_ns;
            }
            let found = (misfit, Reverse(leap(position)), position);
            best = Some(best.map_or(found, |best| best.min(found)));
        }
        Some(best?.2)
    }

    /// Returns the step just before `position`.
    pub(super) fn jump_at(&self, position: usize, clear: &[&Track]) -> Option<Jump> {
        let (_, shift) = clearest(clear, position)?;
        let around = position.saturating_sub(REACH)..(position + REACH).min(self.order.len());
        let extent = &self.order[around];
        let sides = PathDirection::BOTH.map(|path_direction| {
            let track = &self.tracks[path_direction.index()];
            let sides = track.around(track.before(position), Jump::SIDES[1]);
            sides.map(|side| side.iter().map(|&at| self.order[at]).collect())
        });
        Some(Jump {
            point: self.point,
            before: self.order[position - 1],
            after: self.order[position],
            size: match self.point {
                // The clock difference is destination minus source.
                Point::Src => -shift.size,
                Point::Dst => shift.size,
            },
            error: shift.spread,
            suspected: false,
            sides,
            extent: (*extent.iter().min()?, *extent.iter().max()?),
        })
    }

    /// Converts a shift of the clock difference to a jump of this walk's clock.
    fn own(&self, shift_ns: i64) -> i64 {
        match self.point {
            Point::Src => shift_ns.saturating_neg(),
            Point::Dst => shift_ns,
        }
    }

    fn middle(&self, side: &[usize]) -> i64 {
        let mut differences: Vec<i64> = side
            .iter()
            .map(|&position| self.crossing(position).difference().as_nanos())
            .collect();
        differences.sort_unstable();
        differences.get(side.len() / 2).copied().unwrap_or_default()
    }
}
