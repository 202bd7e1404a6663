//! The offset between the two clocks, and how far it can be off.

use tcpexp_units::TimeDelta;

use super::tick::TICK_OF_CAPTURES;

/// What clocks that wander and a capture's own disorder may make times wrong by.
pub(in crate::spp) const DISORDER: TimeDelta = TimeDelta::from_millis(10);

/// Fastest packets whose delays add up to less than this are not believed: wrong matches, or an
/// undetected clock step. Below it, rounding and a residue of skew explain the contradiction.
const EXPLAINED: TimeDelta = TimeDelta::from_micros(100);

/// The offset between the clocks: what the destination's clock shows more than the source's at the
/// first crossing.
///
/// # Proof of the bound
///
/// Let θ be the offset, `d` the time of a packet's arrival at the destination less the time of its
/// departure at the source, both as the clocks show them, and `d'` the same for a packet on its way
/// back (source less destination). With the true one-way delays `o` and `b`,
///
/// ```text
/// d  = o + θ − e_dst + e_src        d' = b − θ − e_src + e_dst
/// ```
///
/// where a clock that advances in ticks of `g` shows up to `e` < `g` too little. No packet arrives
/// before it leaves: `o ≥ 0` and `b ≥ 0`. So every packet bounds the offset, and the fastest of
/// each way bounds it best:
///
/// ```text
/// −min d' − g_src  ≤  θ  ≤  min d + g_dst
/// ```
///
/// The middle of the two bounds is off by no more than half of their distance. That is half of the
/// sum of the smallest delays, which does not depend on the offset, and equals half of the smallest
/// round-trip time.
///
/// Assumptions: both clocks run at one rate once the detected skew is taken out, and its
/// uncertainty times the length of the captures is added to both bounds; so are the uncertainties
/// of the clock steps that were taken out. A tick of a microsecond, which is that of most capture
/// files, is not added: the difference of what two such clocks show is itself no more definite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Less would give packets back a negative delay; `None` without such packets.
    pub lower: Option<TimeDelta>,
    /// More would give packets out a negative delay; `None` without such packets.
    pub upper: Option<TimeDelta>,
    /// The best estimate: the middle of the bounds, as if the fastest packets took equally long
    /// both ways. With one bound only it is that bound, and the shortest delay is zero.
    pub middle: TimeDelta,
}

/// What makes the delays on the timeline uncertain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::spp) struct DelayError {
    /// How far apart two times that a clock can show are, by [`Point::index`](crate::spp::Point::index).
    pub(in crate::spp) ticks: [TimeDelta; 2],
    /// What the uncertainty of a detected skew adds up to from the first packet to the last, and
    /// the uncertainties of the clock steps.
    pub(in crate::spp) drift: TimeDelta,
}

impl DelayError {
    /// How much earlier a packet can seem to arrive than it left because of coarse clocks; nothing
    /// with clocks of microseconds.
    pub(in crate::spp) fn coarseness(&self) -> TimeDelta {
        self.coarse_ticks().into_iter().sum()
    }

    /// The ticks of each clock beyond a microsecond: a finer clock than the file's microseconds
    /// cannot be told from one of microseconds.
    fn coarse_ticks(&self) -> [TimeDelta; 2] {
        let beyond = |tick: TimeDelta| (tick - TICK_OF_CAPTURES).max(TimeDelta::ZERO);
        self.ticks.map(beyond)
    }
}

impl Offset {
    /// How far [`middle`](Self::middle) can be off; `None` if packets went one way only, which
    /// leaves the offset unbounded, or if the fastest packets contradict each other.
    pub fn error(&self) -> Option<TimeDelta> {
        let (lower, upper) = (self.lower?, self.upper?);
        Some(TimeDelta::from_nanos((upper - lower).as_nanos() / 2))
    }

    /// The offset between `lower` and `upper`.
    pub(super) fn between(lower: Option<TimeDelta>, upper: Option<TimeDelta>) -> Self {
        let middle = match (lower, upper) {
            (Some(lower), Some(upper)) => {
                TimeDelta::from_nanos(lower.as_nanos().midpoint(upper.as_nanos()))
            }
            (one, other) => one.or(other).unwrap_or_default(),
        };
        Self {
            lower,
            upper,
            middle,
        }
    }

    /// The offset that the fastest of all packets show.
    ///
    /// `least` are their delays on the timeline of this offset, by [`Way::index`](crate::spp::Way::index).
    /// With `symmetric` the fastest packets are taken to be equally fast both ways: only the clocks'
    /// resolution is left to be off.
    #[must_use]
    pub(super) fn settled(
        &self,
        least: [Option<TimeDelta>; 2],
        error: &DelayError,
        symmetric: bool,
    ) -> Self {
        let [out, back] = least;
        let [src_tick, dst_tick] = error.coarse_ticks();
        if let (Some(out), Some(back)) = (out, back)
            && out + back + EXPLAINED + error.drift + src_tick + dst_tick < TimeDelta::ZERO
        {
            return Self {
                lower: None,
                upper: None,
                middle: self.middle,
            };
        }
        let upper = out.map(|owd| self.middle + owd + dst_tick + error.drift);
        let lower = back.map(|owd| self.middle - owd - src_tick - error.drift);
        match (lower, upper) {
            (Some(lower), Some(upper)) if symmetric => {
                let middle = Self::between(Some(lower), Some(upper)).middle;
                let off = TimeDelta::from_nanos((src_tick + dst_tick).as_nanos() / 2)
                    + error.drift
                    + TICK_OF_CAPTURES;
                Self::between(Some(middle - off), Some(middle + off))
            }
            // Contradicting bounds that rounding explains: the truth lies between them all the same.
            (Some(lower), Some(upper)) => {
                Self::between(Some(lower.min(upper)), Some(lower.max(upper)))
            }
            (lower, upper) => Self::between(lower, upper),
        }
    }
}

/// How many of the smallest delays of each way must be mistaken, if those are the fewest.
///
/// There and back no packet takes less than no time, so of two delays, both with the clocks' offset
/// in them, whose sum is below that one is of a packet that was mistaken for another. Packets that
/// are sent again one after the other are mistaken one after the other, so that some confirm each
/// other, but they are the fewer.
pub(super) fn fewest_mistaken([out, back]: &[Vec<i64>; 2], coarseness: TimeDelta) -> [usize; 2] {
    let least_ns = -(DISORDER + coarseness).as_nanos();
    let too_fast =
        |out_ns: i64| back.partition_point(|&owd_ns| owd_ns.saturating_add(out_ns) < least_ns);
    let ways_to_agree = (0..=out.len()).map(|mistaken_out| {
        let mistaken_back = out.get(mistaken_out).map_or(0, |&out_ns| too_fast(out_ns));
        (mistaken_out + mistaken_back, [mistaken_out, mistaken_back])
    });
    ways_to_agree.min().map_or([0, 0], |(_, mistaken)| mistaken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn micros(micros: i64) -> TimeDelta {
        TimeDelta::from_micros(micros)
    }

    fn assumed(middle: TimeDelta) -> Offset {
        Offset {
            middle,
            ..Offset::default()
        }
    }

    proptest! {
        #[test]
        fn true_offset_lies_between_the_bounds_whatever_the_delays_and_ticks(
            offset in -1_000_000..1_000_000_i64,
            assumed_micros in -1_000_000..1_000_000_i64,
            out in prop::collection::vec((0..10_000_000_i64, 0..200_000_i64), 1..40),
            back in prop::collection::vec((0..10_000_000_i64, 0..200_000_i64), 1..40),
            src_tick in prop::sample::select(vec![1, 10, 1_000, 10_000, 100_000_i64]),
            dst_tick in prop::sample::select(vec![1, 10, 1_000, 10_000, 100_000_i64]),
        ) {
            let src = |at: i64| at.div_euclid(src_tick) * src_tick;
            let dst = |at: i64| (at + offset).div_euclid(dst_tick) * dst_tick - assumed_micros;
            let fastest_out = out.iter().map(|(at, owd)| dst(at + owd) - src(*at)).min();
            let fastest_back = back.iter().map(|(at, owd)| src(at + owd) - dst(*at)).min();
            let error = DelayError {
                ticks: [micros(src_tick), micros(dst_tick)],
                ..DelayError::default()
            };
            let least = [fastest_out.map(micros), fastest_back.map(micros)];
            let found = assumed(micros(assumed_micros)).settled(least, &error, false);
            let off = (found.middle - micros(offset)).abs();
            prop_assert!(off <= found.error().unwrap() + micros(1), "{found:?}");
        }
    }

    #[test]
    fn symmetric_path_leaves_nothing_but_the_resolution_of_the_clocks() {
        let least = [Some(micros(101_030)), Some(micros(98_970))];
        let bound = assumed(micros(7)).settled(least, &DelayError::default(), false);
        let symmetric = assumed(micros(7)).settled(least, &DelayError::default(), true);
        assert_eq!(bound.middle, micros(1_037));
        assert_eq!(bound.error(), Some(micros(100_000)));
        assert_eq!(symmetric.middle, micros(1_037));
        assert_eq!(symmetric.error(), Some(micros(1)));
    }

    #[test]
    fn error_is_never_negative_and_unknown_where_packets_contradict_each_other() {
        let a_little = [Some(micros(20)), Some(micros(-50))];
        let found = assumed(micros(0)).settled(a_little, &DelayError::default(), false);
        assert_eq!(found.error(), Some(micros(15)));
        let a_lot = [Some(micros(20)), Some(micros(-5_000))];
        let found = assumed(micros(0)).settled(a_lot, &DelayError::default(), false);
        assert_eq!(found.error(), None);
    }
}
