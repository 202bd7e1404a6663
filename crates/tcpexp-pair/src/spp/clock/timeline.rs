//! One timeline for both captures.

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

pub(super) const TRILLION: i64 = 1_000_000_000_000;
/// Fractional bits of a [`Rate`].
const FRACTION_BITS: u32 = 62;

/// A rate as a fixed-point number.
///
/// Costs one 64-bit multiplication per time span. It is exact to the nanosecond for spans of a
/// hundred years: the rate itself is rounded to 2^-63.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::spp) struct Rate(i64);

impl Rate {
    /// The rate `part / whole`; zero if this is 2 or more.
    pub(in crate::spp) fn of(part: i64, whole: i64) -> Self {
        // Clocks without a skew are common, and a division of 128 bits is slow.
        if part == 0 {
            return Self(0);
        }
        let scaled = (i128::from(part) << FRACTION_BITS).checked_div(i128::from(whole));
        Self(scaled.map_or(0, |scaled| i64::try_from(scaled).unwrap_or(0)))
    }

    /// This rate times `span`, rounded to the nanosecond.
    pub(in crate::spp) fn share(self, span: TimeDelta) -> TimeDelta {
        let product = i128::from(span.as_nanos()) * i128::from(self.0);
        // Half a unit is added, since the shift rounds down.
        let rounded = (product + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        // A rate below 2 may nearly double the span beyond 64 bits.
        TimeDelta::from_nanos(i64::try_from(rounded).unwrap_or(if rounded < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }
}

/// A record of one capture, placed on the common timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Capture time on the source clock and at its rate, without the steps of either clock.
    pub at: Timestamp,
    /// Number of clock steps of either clock before the record.
    pub piece: u32,
}

/// Converts timestamps of one capture to the common timeline.
///
/// Records may be placed in any order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimelineReader {
    /// Time on this clock at which the two clocks are `offset` apart.
    pub(in crate::spp) origin: Timestamp,
    /// Clock time minus timeline time at `origin`.
    pub(in crate::spp) offset: TimeDelta,
    /// Time gained by this clock per time that it shows.
    pub(in crate::spp) gains: Rate,
    /// Clock steps in order of their position in this capture.
    pub(in crate::spp) seams: Vec<Seam>,
}

/// Position of a clock step in one capture.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::spp) struct Seam {
    /// Place of the first record that is known to be after the step.
    pub(in crate::spp) first_after: u64,
    /// Decides which records just before `first_after` are after the step.
    pub(in crate::spp) turn: Option<Turn>,
    /// Sum of this clock's jumps in this and all earlier steps.
    pub(in crate::spp) ahead: TimeDelta,
}

/// Decides which records between the two packets around a jump are after it.
///
/// A jump longer than the time between the two packets leaves a range of times that no record
/// shows, so the middle of the range separates the records.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::spp) struct Turn {
    /// Place of the last record that is known to be before the jump.
    pub(in crate::spp) last_before: u64,
    /// Middle between the times of the two packets.
    pub(in crate::spp) middle: Timestamp,
    /// True if the clock jumped forwards.
    pub(in crate::spp) forwards: bool,
}

impl TimelineReader {
    /// Places the record at `place` in the order of the capture, captured at `time` on the clock of this capture.
    ///
    /// The result is rounded to the nanosecond and preserves the order of times within a piece.
    #[inline]
    pub fn place(&self, place: u64, time: Timestamp) -> Placed {
        // Most clocks never step.
        if self.seams.is_empty() {
            return Placed {
                at: self.without_drift(time),
                piece: 0,
            };
        }
        self.place_between_steps(place, time)
    }

    #[inline(never)]
    fn place_between_steps(&self, place: u64, time: Timestamp) -> Placed {
        let piece = self
            .seams
            .partition_point(|seam| seam.is_before(place, time));
        let ahead = match piece.checked_sub(1) {
            None => TimeDelta::ZERO,
            Some(last) => self.seams[last].ahead,
        };
        Placed {
            at: self.without_drift(time - ahead),
            piece: u32::try_from(piece).unwrap_or(u32::MAX),
        }
    }

    /// Converts a time of this clock, without its steps, to the common timeline.
    #[inline]
    pub(super) fn without_drift(&self, unstepped: Timestamp) -> Timestamp {
        unstepped - self.offset - self.gains.share(unstepped - self.origin)
    }
}

impl Seam {
    fn is_before(&self, place: u64, time: Timestamp) -> bool {
        place >= self.first_after
            || self.turn.is_some_and(|turn| {
                place > turn.last_before && (time >= turn.middle) == turn.forwards
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tcpexp_units::Skew;

    #[test]
    fn record_near_a_clock_step_belongs_to_the_nearer_side() {
        let turn = Turn {
            last_before: 10,
            middle: Timestamp::from_nanos(500),
            forwards: true,
        };
        let reader = TimelineReader {
            seams: vec![Seam {
                first_after: 20,
                turn: Some(turn),
                ahead: TimeDelta::from_nanos(1_000),
            }],
            ..TimelineReader::default()
        };
        let placed = |record, nanos| {
            let placed = reader.place(record, Timestamp::from_nanos(nanos));
            (placed.at.as_nanos(), placed.piece)
        };
        assert_eq!(placed(10, 0), (0, 0));
        assert_eq!(placed(11, 3), (3, 0));
        assert_eq!(placed(12, 1_006), (6, 1));
        assert_eq!(placed(20, 1_009), (9, 1));
    }

    proptest! {
        #[test]
        fn rate_agrees_with_the_exact_division_to_the_nanosecond(
            ppt in -10_000_000_000_i64..10_000_000_000,
            nanos in -3_000_000_000_000_000_i64..3_000_000_000_000_000,
        ) {
            let span = TimeDelta::from_nanos(nanos);
            let exact = Skew::from_ppt(ppt).gained(span);
            let fast = Rate::of(ppt, 1_000_000_000_000 + ppt).share(span);
            prop_assert!((exact - fast).abs() <= TimeDelta::from_nanos(1));
        }

        #[test]
        fn arbitrary_input_never_panics(part: i64, whole: i64, nanos: i64) {
            let _ = Rate::of(part, whole).share(TimeDelta::from_nanos(nanos));
        }
    }
}
