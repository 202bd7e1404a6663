//! The offset between the two clocks, and its maximum error.

use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;

use super::tick::TICK_OF_CAPTURES;

/// Allowance for timestamp errors from wandering clocks and records out of order.
pub(in crate::spp) const DISORDER: TimeDelta = TimeDelta::from_millis(10);

/// Fastest delays whose sum is below minus this contradict each other, because of false matches or
/// an undetected clock step. Rounding and residual skew explain a smaller contradiction.
const EXPLAINED: TimeDelta = TimeDelta::from_micros(100);

/// Offset between the clocks: destination clock minus source clock at the first crossing.
///
/// # Proof of the bound
///
/// Let θ be the offset. For a packet on its way out, let `d` be its arrival time at the destination
/// minus its departure time at the source, each on its own clock. For a packet on its way back, let
/// `d'` be its arrival time at the source minus its departure time at the destination. With the
/// true one-way delays `o` and `b`,
///
/// ```text
/// d  = o + θ − e_dst + e_src        d' = b − θ − e_src + e_dst
/// ```
///
/// where a clock with tick `g` shows a time that is too small by `e`, `0 ≤ e < g`. No packet
/// arrives before it leaves: `o ≥ 0` and `b ≥ 0`. So every packet bounds the offset, and the
/// fastest packet of each way gives the tightest bound:
///
/// ```text
/// −min d' − g_src  ≤  θ  ≤  min d + g_dst
/// ```
///
/// The error of the middle of the bounds is at most half their distance. This is half the sum of
/// the smallest delays, which does not depend on the offset and equals half the smallest round-trip
/// time.
///
/// Assumptions: both clocks run at one rate after the detected skew is removed. Both bounds are
/// widened by the drift that the captures do not exclude, and by the uncertainties of the removed
/// clock steps. A tick of one microsecond, the resolution of most
/// capture files, is not added: the difference of two such timestamps is no more exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Lower bound: a smaller offset would give packets back a negative delay; `None` without
    /// packets back.
    pub lower: Option<TimeDelta>,
    /// Upper bound: a larger offset would give packets out a negative delay; `None` without packets
    /// out.
    pub upper: Option<TimeDelta>,
    /// Best estimate: the middle of the bounds, which assumes equal delays of the fastest packets
    /// of both ways. With one bound, the estimate is this bound, and the smallest delay is zero.
    pub middle: TimeDelta,
}

/// Sources of error of delays on the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::spp) struct DelayError {
    /// Resolution of each clock, by [`Point::index`](crate::spp::Point::index).
    pub(in crate::spp) ticks: [TimeDelta; 2],
    /// Drift between the first and the last packet that the uncertainty of a detected skew and the
    /// smallest delays allow, plus the errors of the clock steps.
    pub(in crate::spp) drift: TimeDelta,
}

impl DelayError {
    /// Sum of one tick of each clock.
    pub(in crate::spp) fn both_ticks(&self) -> TimeDelta {
        self.ticks.into_iter().sum()
    }

    /// How much earlier than its departure a packet may seem to arrive because of coarse clocks;
    /// zero for clocks with microsecond resolution.
    pub(in crate::spp) fn coarseness(&self) -> TimeDelta {
        self.coarse_ticks().into_iter().sum()
    }

    /// Tick of each clock beyond one microsecond. Below the resolution of the file, a finer clock
    /// is indistinguishable from one with microsecond ticks.
    fn coarse_ticks(&self) -> [TimeDelta; 2] {
        let beyond = |tick: TimeDelta| (tick - TICK_OF_CAPTURES).max(TimeDelta::ZERO);
        self.ticks.map(beyond)
    }
}

impl Offset {
    /// Maximum error of [`middle`](Self::middle); `None` if all packets went one way, so that the
    /// offset is unbounded, or if the fastest packets contradict each other.
    pub fn error(&self) -> Option<TimeDelta> {
        let apart = self.upper? - self.lower?;
        let half = TimeDelta::from_nanos(apart.as_nanos() / 2);
        Some(half).filter(|_| apart >= TimeDelta::ZERO)
    }

    /// Builds the offset from its bounds.
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

    /// Returns these bounds for an offset that is known to be zero. Zero replaces a missing bound, and a bound that
    /// excludes zero, which only false matches set.
    pub(super) fn around_zero(self) -> Self {
        Self {
            lower: Some(self.lower.unwrap_or_default().min(TimeDelta::ZERO)),
            upper: Some(self.upper.unwrap_or_default().max(TimeDelta::ZERO)),
            middle: TimeDelta::ZERO,
        }
    }

    /// Returns the offset that the fastest packets show.
    ///
    /// `least` holds their delays on the timeline of this offset, by
    /// [`PathDirection::index`](crate::spp::PathDirection::index). With `symmetric` the fastest packets of both ways
    /// are assumed to have equal delays, so only the resolution of the clocks and their drift limit
    /// the result.
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
            // Rounding explains contradicting bounds: the true offset is still between them.
            (Some(lower), Some(upper)) => {
                Self::between(Some(lower.min(upper)), Some(lower.max(upper)))
            }
            // The estimate is the bound without its uncertainty, so that the smallest delay is zero.
            (lower, upper) => Self {
                lower,
                upper,
                middle: self.middle + out.unwrap_or_default() - back.unwrap_or_default(),
            },
        }
    }
}

/// Smallest number of leading delays of each way that must be false matches.
///
/// No round trip is negative. If two delays, clock offset included, have a negative sum, one of
/// them belongs to a false match. Successive retransmissions give successive false matches that
/// confirm each other, but they are the minority.
pub(super) fn fewest_mistaken([out, back]: &[Vec<i64>; 2], coarseness: TimeDelta) -> [usize; 2] {
    let least_ns = -(DISORDER + coarseness).as_nanos();
    let too_fast =
        |out_ns: i64| back.partition_point(|&owd_ns| owd_ns.saturating_add(out_ns) < least_ns);
    let ways_to_agree = (0..=out.len()).map(|mistaken_out| {
        // If no delay out is left, no delay back is contradicted.
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
        fn true_offset_lies_between_the_bounds_for_all_delays_and_ticks(
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
    fn on_a_symmetric_path_the_error_is_the_clock_resolution() {
        let least = [Some(micros(101_030)), Some(micros(98_970))];
        let bound = assumed(micros(7)).settled(least, &DelayError::default(), false);
        let symmetric = assumed(micros(7)).settled(least, &DelayError::default(), true);
        assert_eq!(bound.middle, micros(1_037));
        assert_eq!(bound.error(), Some(micros(100_000)));
        assert_eq!(symmetric.middle, micros(1_037));
        assert_eq!(symmetric.error(), Some(micros(1)));
    }

    #[test]
    fn error_is_not_negative_and_unknown_if_packets_contradict_each_other() {
        let a_little = [Some(micros(20)), Some(micros(-50))];
        let found = assumed(micros(0)).settled(a_little, &DelayError::default(), false);
        assert_eq!(found.error(), Some(micros(15)));
        let a_lot = [Some(micros(20)), Some(micros(-5_000))];
        let found = assumed(micros(0)).settled(a_lot, &DelayError::default(), false);
        assert_eq!(found.error(), None);
        let crossed = Offset::between(Some(micros(20)), Some(micros(19)));
        assert_eq!(crossed.error(), None);
    }
}
