//! Finds the positions where both ways shift together.

mod placing;

use std::cmp::Reverse;

use tcpexp_units::TimeDelta;

use super::alike::{is_of_lengths, shows_in_alike};
use super::jump::{Jump, SMALLEST_NS};
use super::track::{FINE, Shift, Track, clearest, lag};
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;

/// Number of packets compared where a few packets show only queueing.
const COARSE: usize = 127;

/// Crossings around a step within which another finding is the same step.
pub(super) const REACH: usize = 4 * FINE;

/// Maximum number of steps per clock.
const MOST: usize = 16;

/// A step exceeds the next best candidate by at least this factor.
const STANDS_OUT: i64 = 4;

/// The crossings in the order of one point's records.
pub(in crate::spp) struct Walk<'a> {
    crossings: &'a [Crossing],
    point: Point,
    /// Smallest step that is searched for, in nanoseconds.
    smallest_ns: i64,
    order: Vec<usize>,
    tracks: [Track; 2],
}

/// A position on a walk where a step may be.
struct Candidate {
    position: usize,
    /// Number of crossings before it, by [`PathDirection::index`].
    passed: [usize; 2],
    size_ns: i64,
    kind: Kind,
}

/// Evidence for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Both ways show it.
    Both,
    /// The only way with packets around it shows it.
    Alone,
    /// One way shows it, and queues of the other way would hide it.
    Suspected,
}

impl<'a> Walk<'a> {
    /// `coarseness` is the error of the clock difference from the clocks' ticks.
    pub(in crate::spp) fn new(
        crossings: &'a [Crossing],
        point: Point,
        coarseness: TimeDelta,
    ) -> Self {
        let mut order: Vec<usize> = (0..crossings.len()).collect();
        // Places give the order: a clock that is set back repeats its times.
        order.sort_by_key(|&index| match point {
            Point::Src => crossings[index].src_place,
            Point::Dst => crossings[index].dst_place,
        });
        let tracks =
            PathDirection::BOTH.map(|path_direction| Track::new(crossings, &order, path_direction));
        Self {
            crossings,
            point,
            // Ticks may shift the medians on both sides of a step.
            smallest_ns: SMALLEST_NS.saturating_add((coarseness + coarseness).as_nanos()),
            order,
            tracks,
        }
    }

    /// Returns the steps of this point's clock, and steps of the other clock that look like it.
    pub(in crate::spp) fn jumps(&self) -> Vec<Jump> {
        let candidates = self.candidates();
        let (suspected, sure): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|c| c.kind == Kind::Suspected);
        // Certain steps come first, since a suspected step next to one is dropped.
        let mut places: Vec<usize> = Vec::new();
        let mut jumps = self.confirmed(sure, &mut places);
        jumps.append(&mut self.confirmed(suspected, &mut places));
        jumps
    }

    /// Returns the candidates that stand out and last, and adds their positions to `places`.
    fn confirmed(&self, mut candidates: Vec<Candidate>, places: &mut Vec<usize>) -> Vec<Jump> {
        candidates.sort_by_key(|found| (Reverse(found.size_ns.saturating_abs()), found.position));
        let mut best: Vec<&Candidate> = Vec::new();
        for candidate in &candidates {
            if best.len() > MOST {
                break;
            }
            if !best.iter().any(|other| other.is_near(candidate)) {
                best.push(candidate);
            }
        }
        // No more than `MOST` candidates are steps, so the next one shows the level of the noise.
        let noise = best
            .get(MOST)
            .map_or(0, |next| next.size_ns.saturating_abs());
        best.retain(|found| found.size_ns.saturating_abs() / STANDS_OUT >= noise);
        let mut jumps = Vec::new();
        for candidate in best {
            let clear = self.clear(candidate);
            let jump = self
                .place(candidate, &clear)
                .filter(|&place| self.lasts(place, candidate.kind, &clear, places))
                .and_then(|place| Some((place, self.jump_at(place, &clear)?)));
            if let Some((place, jump)) = jump {
                let is_believed = match candidate.kind {
                    Kind::Both => !self.is_contradicted(place, &clear),
                    // A queue of one way looks like a step that the other way cannot contradict.
                    Kind::Alone => jump.is_beyond_doubt(self.crossings),
                    // Next to a certain step, a queue may look like a step too, and so may a change
                    // from short to long packets.
                    Kind::Suspected => {
                        places.iter().all(|other| other.abs_diff(place) > REACH)
                            && !self.is_of_lengths(place, &clear)
                    }
                };
                if is_believed {
                    places.push(place);
                    let suspected = candidate.kind == Kind::Suspected;
                    jumps.push(Jump { suspected, ..jump });
                }
            }
        }
        jumps
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut passed = [0; 2];
        let mut candidates = Vec::new();
        for position in 1..self.order.len() {
            passed[self.crossing(position - 1).path_direction.index()] += 1;
            if let Some((size_ns, kind)) = self.shift_of_both(passed) {
                candidates.push(Candidate {
                    position,
                    passed,
                    size_ns,
                    kind,
                });
            }
        }
        candidates
    }

    /// Returns the shift after `passed` crossings if both ways show it, or if one way shows it and
    /// the other has no packets or none that could contradict it.
    fn shift_of_both(&self, passed: [usize; 2]) -> Option<(i64, Kind)> {
        let [out, back] = PathDirection::BOTH.map(|path_direction| {
            let path_direction = path_direction.index();
            self.tracks[path_direction]
                .fine
                .get(passed[path_direction])
                .copied()
                .flatten()
        });
        let is_clear = |shift: &Shift| shift.is_clear(self.smallest_ns);
        let (clear, other) = match (out, back) {
            (Some(only), None) | (None, Some(only)) if is_clear(&only) => {
                return Some((only.size.as_nanos(), Kind::Alone));
            }
            (Some(out), Some(back)) => match (is_clear(&out), is_clear(&back)) {
                (true, true) => (out, back),
                (true, false) => (out, self.other_of(&out, PathDirection::Back, passed)?),
                (false, true) => (back, self.other_of(&back, PathDirection::Out, passed)?),
                (false, false) => return None,
            },
            _ => return None,
        };
        if is_clear(&other) && clear.agrees_with(&other) {
            let smaller = clear.size.abs().min(other.size.abs());
            let size_ns = smaller.as_nanos() * clear.size.as_nanos().signum();
            return Some((size_ns, Kind::Both));
        }
        let is_hidden = other.spread >= clear.size.abs();
        is_hidden.then_some((clear.size.as_nanos(), Kind::Suspected))
    }

    /// Shift over many packets of the way that does not show the other way's `clear` shift; `None` if
    /// its nearest packets exclude that shift, since many packets may show a step that is elsewhere.
    fn other_of(
        &self,
        clear: &Shift,
        path_direction: PathDirection,
        passed: [usize; 2],
    ) -> Option<Shift> {
        let way = path_direction.index();
        if self.tracks[way].excludes(passed[way], clear) {
            return None;
        }
        self.coarse(path_direction, passed, &[])
    }

    /// Shift of a way's smaller delays over many packets, limited by the neighbouring steps at
    /// `places`.
    fn coarse(
        &self,
        path_direction: PathDirection,
        passed: [usize; 2],
        places: &[usize],
    ) -> Option<Shift> {
        let track = &self.tracks[path_direction.index()];
        let [mut before, mut after] = track.around(passed[path_direction.index()], COARSE);
        let here = *after.first()?;
        for &place in places {
            if place <= here {
                before = &before[before.partition_point(|&at| at < place)..];
            } else {
                after = &after[..after.partition_point(|&at| at < place)];
            }
        }
        if before.is_empty() || after.is_empty() {
            return None;
        }
        let [before, after] = [before, after].map(|side| {
            let mut owds: Vec<i64> = side
                .iter()
                .map(|&position| self.crossing(position).raw_owd().as_nanos())
                .collect();
            owds.sort_unstable();
            // The level is the lower eighth: low delays saw short queues, and the lowest may be
            // false matches.
            let rank = |sixteenths: usize| owds[owds.len() * sixteenths / 16];
            let spread_ns = rank(4).saturating_sub(rank(1));
            (rank(2), spread_ns, self.crossing(side[side.len() / 2]))
        });
        let longer = TimeDelta::from_nanos(after.0.saturating_sub(before.0));
        Some(Shift {
            size: match path_direction {
                PathDirection::Out => longer,
                PathDirection::Back => -longer,
            },
            spread: TimeDelta::from_nanos(before.1.max(after.1)),
            lag: lag(before.2, after.2),
        })
    }

    fn crossing(&self, position: usize) -> &Crossing {
        &self.crossings[self.order[position]]
    }

    /// The ways that show a step clearly.
    fn clear(&self, candidate: &Candidate) -> Vec<&Track> {
        let shows = |track: &&Track| {
            let shift = track
                .fine
                .get(candidate.passed[track.path_direction.index()]);
            shift.is_some_and(|shift| shift.is_some_and(|shift| shift.is_clear(self.smallest_ns)))
        };
        self.tracks.iter().filter(shows).collect()
    }

    /// True if the clearest way stays shifted. This excludes a stalled link that releases the
    /// waiting packets of both ways at once.
    fn lasts(&self, place: usize, kind: Kind, clear: &[&Track], places: &[usize]) -> bool {
        clearest(clear, place).is_some_and(|(track, shift)| {
            let passed = PathDirection::BOTH
                .map(|path_direction| self.tracks[path_direction.index()].before(place));
            let lasting = self.coarse(track.path_direction, passed, places);
            shift.is_clear(self.smallest_ns)
                && lasting.is_some_and(|lasting| {
                    // Over many packets, the skew of the clocks shifts a way's delays like a step.
                    // The other way rules skew out, but not for a step that only one way shows.
                    let is_drift = kind == Kind::Suspected && !lasting.is_clear(self.smallest_ns);
                    lasting.agrees_with(&shift) && !is_drift
                })
        })
    }

    /// True if the lengths of the packets around `place` explain the shift there.
    fn is_of_lengths(&self, place: usize, clear: &[&Track]) -> bool {
        clearest(clear, place)
            .is_some_and(|(track, shift)| is_of_lengths(&self.sides(place, track), shift.size))
    }

    /// True if packets of one length around `place` show the shift in no direction, although at least
    /// one direction has such packets.
    fn is_contradicted(&self, place: usize, clear: &[&Track]) -> bool {
        let shown = clear.iter().filter_map(|track| {
            let (_, shift) = clearest(&[*track], place)?;
            shows_in_alike(&self.sides(place, track), shift.size)
        });
        shown.max() == Some(false)
    }

    /// The crossings of one direction, before and after `place`.
    fn sides(&self, place: usize, track: &Track) -> [Vec<&Crossing>; 2] {
        let sides = track.around(track.before(place), COARSE);
        sides.map(|side| side.iter().map(|&at| self.crossing(at)).collect())
    }
}

impl Candidate {
    /// True if both candidates may be one step.
    fn is_near(&self, other: &Self) -> bool {
        let [out, back] = [0, 1].map(|path_direction: usize| {
            self.passed[path_direction].abs_diff(other.passed[path_direction])
        });
        // Where one way has no packets, its count stands still and would make all candidates near.
        if self.kind == Kind::Alone || other.kind == Kind::Alone {
            return self.position.abs_diff(other.position) < 2 * FINE;
        }
        out < FINE || back < FINE
    }
}
