//! The distribution of many round-trip times in little memory.

mod exact;

use std::collections::VecDeque;

use tcpexp_units::TimeDelta;

use crate::quantile::Percentile;
use exact::Exact;

/// How many values are kept as they are before they are folded into buckets.
const EXACT_VALUES: usize = 16_384;
/// Buckets per power of two, as a power of two: neighbours differ by less than 0.1 %.
const BUCKET_BITS: u32 = 10;

/// A growing collection of time spans with its quantiles, as [`crate::quantile`] defines them,
/// rounded to the nanosecond.
///
/// Exact up to 16 384 values. Beyond that, a quantile is interpolated between values that differ from added
/// ones by at most 0.1 %; the smallest and the largest value stay exact. Memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Quantiles(Values);

#[derive(Clone, Debug)]
enum Values {
    /// As they are, as long as they are few.
    Exact(Exact),
    Folded(Box<Folded>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Exact::default())
    }
}

/// Many values, in buckets.
#[derive(Clone, Debug)]
struct Folded {
    count: u64,
    smallest: TimeDelta,
    largest: TimeDelta,
    buckets: Buckets,
}

/// The quantiles that tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSummary {
    /// How many samples.
    pub samples: u64,
    /// Smallest sample.
    pub min: TimeDelta,
    /// 5th percentile.
    pub p5: TimeDelta,
    /// Median.
    pub median: TimeDelta,
    /// 95th percentile.
    pub p95: TimeDelta,
    /// 99th percentile.
    pub p99: TimeDelta,
    /// Largest sample.
    pub max: TimeDelta,
}

impl Quantiles {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: TimeDelta) {
        match &mut self.0 {
            Values::Exact(exact) => {
                exact.push(value);
                if exact.len() > EXACT_VALUES {
                    self.0 = Values::Folded(Box::new(Folded::of(exact)));
                }
            }
            Values::Folded(folded) => folded.add(value),
        }
    }

    /// The memory beside which the next value is written, if it is outside `self`.
    ///
    /// For callers that prefetch it: with a hundred thousand collections alive, waiting for this
    /// memory takes longer than adding the value.
    #[inline]
    pub fn last_stored(&self) -> Option<&u32> {
        match &self.0 {
            Values::Exact(exact) => exact.last_stored(),
            Values::Folded(_) => None,
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        match &other.0 {
            Values::Exact(exact) => exact.iter().for_each(|value| self.add(value)),
            Values::Folded(other) => {
                // Buckets cannot become exact values again, so values of `self` are added to the
                // buckets.
                let mut both = other.clone();
                match &self.0 {
                    Values::Exact(exact) => exact.iter().for_each(|value| both.add(value)),
                    Values::Folded(folded) => both.merge(folded),
                }
                self.0 = Values::Folded(both);
            }
        }
    }

    /// The quantiles that tables show; `None` before the first value.
    pub fn summary(&mut self) -> Option<RttSummary> {
        self.sort();
        let samples = self.count();
        // Most collections are few short spans, and there may be two for each of a million
        // connections: decide once how they are stored.
        if let Values::Exact(exact) = &self.0
            && let Some(sorted) = exact.short()
        {
            let place = |rank: u64| usize::try_from(rank - 1).ok();
            return RttSummary::of(samples, |rank| {
                let nanos = *sorted.get(place(rank)?)?;
                Some(TimeDelta::from_nanos(nanos.into()))
            });
        }
        RttSummary::of(samples, |rank| self.sorted_rank(rank))
    }

    /// The empirical distribution in at most `steps` steps: values with the fraction of all values
    /// that do not exceed them, up to 1.
    pub fn ecdf(&mut self, steps: u64) -> Vec<(TimeDelta, f64)> {
        self.sort();
        let count = self.count();
        // More steps than values would repeat values. No values give no step, so nothing divides by
        // 0.
        let steps = steps.min(count);
        let step = |step: u64| {
            let value = self.sorted_rank((count * step).div_ceil(steps))?;
            Some((value, step as f64 / steps as f64))
        };
        (1..=steps).filter_map(step).collect()
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Values::Exact(exact) => exact.len() as u64,
            Values::Folded(folded) => folded.count,
        }
    }

    /// How many values are at least `value`; within 0.1 % of `value` once values are many.
    pub fn count_from(&mut self, value: TimeDelta) -> u64 {
        self.sort();
        // Bisects for the lowest rank whose value is at least `value`.
        let (mut low, mut high) = (1, self.count() + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sorted_rank(middle).is_some_and(|found| found < value) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.count() + 1 - low
    }

    /// The `percent`-th percentile; `None` before the first value.
    pub fn quantile(&mut self, percent: u8) -> Option<TimeDelta> {
        self.sort();
        self.sorted_quantile(percent)
    }

    fn sorted_quantile(&self, percent: u8) -> Option<TimeDelta> {
        quantile_of(percent, self.count(), |rank| self.sorted_rank(rank))
    }

    /// The value at `rank`, counted from 1, of all values in order.
    fn sorted_rank(&self, rank: u64) -> Option<TimeDelta> {
        match &self.0 {
            Values::Exact(exact) => {
                let place = usize::try_from(rank).ok()?.checked_sub(1)?;
                exact.get(place)
            }
            Values::Folded(folded) => folded.at_rank(rank),
        }
    }

    fn sort(&mut self) {
        if let Values::Exact(exact) = &mut self.0 {
            exact.sort();
        }
    }
}

impl RttSummary {
    /// Summary of `samples` values; `at_rank` returns the value at a rank, counted from 1.
    #[inline]
    fn of(samples: u64, at_rank: impl Fn(u64) -> Option<TimeDelta>) -> Option<Self> {
        let quantile = |percent| quantile_of(percent, samples, &at_rank);
        if samples == 0 {
            return None;
        }
        Some(Self {
            samples,
            min: at_rank(1)?,
            p5: quantile(5)?,
            median: quantile(50)?,
            p95: quantile(95)?,
            p99: quantile(99)?,
            max: at_rank(samples)?,
        })
    }
}

/// The `percent`-th percentile of `count` values; `at_rank` returns the value at a rank, counted
/// from 1.
#[inline]
fn quantile_of(
    percent: u8,
    count: u64,
    at_rank: impl Fn(u64) -> Option<TimeDelta>,
) -> Option<TimeDelta> {
    let position = Percentile::of(percent, count)?;
    let low = at_rank(position.rank)?;
    if position.hundredths == 0 {
        return Some(low);
    }
    let high = at_rank(position.rank + 1)?;
    let nanos = position.between(low.as_nanos(), high.as_nanos());
    Some(TimeDelta::from_nanos(nanos))
}

impl Folded {
    fn of(values: &Exact) -> Self {
        let mut folded = Self {
            count: 0,
            smallest: TimeDelta::from_nanos(i64::MAX),
            largest: TimeDelta::from_nanos(i64::MIN),
            buckets: Buckets::default(),
        };
        for value in values.iter() {
            folded.add(value);
        }
        folded
    }

    fn add(&mut self, value: TimeDelta) {
        self.count += 1;
        self.smallest = self.smallest.min(value);
        self.largest = self.largest.max(value);
        self.buckets.add(bucket_of(value), 1);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        for (bucket, count) in other.buckets.iter() {
            self.buckets.add(bucket, count);
        }
    }

    fn at_rank(&self, rank: u64) -> Option<TimeDelta> {
        // The ends are kept as they are.
        if rank == 1 {
            return Some(self.smallest);
        } else if rank == self.count {
            return Some(self.largest);
        }
        let mut below = 0;
        let (bucket, rank, count) = self.buckets.iter().find_map(|(bucket, count)| {
            let rank = rank - below;
            below += count;
            (count >= rank).then_some((bucket, rank, count))
        })?;
        // The first and the last bucket may extend past the extreme values.
        Some(value_in(bucket, rank, count).clamp(self.smallest, self.largest))
    }
}

/// Counts of neighbouring buckets, from the first one in use to the last.
#[derive(Clone, Debug, Default)]
struct Buckets {
    first: i32,
    counts: VecDeque<u64>,
}

impl Buckets {
    fn add(&mut self, bucket: i32, count: u64) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        while bucket < self.first {
            self.counts.push_front(0);
            self.first -= 1;
        }
        let place = bucket.abs_diff(self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += count;
    }

    fn iter(&self) -> impl Iterator<Item = (i32, u64)> {
        (self.first..).zip(self.counts.iter().copied())
    }
}

/// The width of a bucket depends on the magnitude of the value: exact below 1024 ns, and 1024
/// buckets per power of two above. Negative spans mirror positive ones.
fn bucket_of(value: TimeDelta) -> i32 {
    let nanos = value.as_nanos();
    let magnitude = nanos.unsigned_abs();
    let bits = u64::BITS - magnitude.leading_zeros();
    // The upper 11 bits remain, so a bucket is at most 1/1024 of its values wide.
    let shift = bits.saturating_sub(BUCKET_BITS + 1);
    let index = u64::from(shift << BUCKET_BITS) + (magnitude >> shift);
    let index = i32::try_from(index).expect("53 shifts of 2048 steps at the most");
    if nanos < 0 { -index } else { index }
}

fn middle_of(bucket: i32) -> TimeDelta {
    let index = bucket.unsigned_abs();
    // The first two thousand buckets are one value each; from there `index` holds the shift and
    // a mantissa between 1024 and 2047.
    let shift = (index >> BUCKET_BITS).saturating_sub(1);
    let mantissa = u64::from(index - (shift << BUCKET_BITS));
    let middle = (mantissa << shift) + ((1_u64 << shift) >> 1);
    let nanos = i64::try_from(middle).unwrap_or(i64::MAX);
    TimeDelta::from_nanos(if bucket < 0 { -nanos } else { nanos })
}

/// The value at `rank` of the `count` values in a bucket, as if they were evenly spaced: a drawn
/// distribution then has no steps that the data does not have.
fn value_in(bucket: i32, rank: u64, count: u64) -> TimeDelta {
    let width = 1_i128 << (bucket.unsigned_abs() >> BUCKET_BITS).saturating_sub(1);
    let (rank, count) = (i128::from(rank), i128::from(count));
    // Value `rank` of `count` lies at (2 rank - 1) / (2 count) of the width, and the middle at 1/2.
    // In 128 bits, because the width alone may have 54.
    let off_middle = width * (2 * rank - 1 - count) / (2 * count);
    let nanos = i128::from(middle_of(bucket).as_nanos()) + off_middle;
    TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summary_of(values: impl IntoIterator<Item = i64>) -> Option<RttSummary> {
        let mut quantiles = Quantiles::default();
        for value in values {
            quantiles.add(TimeDelta::from_nanos(value));
        }
        quantiles.summary()
    }

    #[test]
    fn an_empty_set_has_no_summary() {
        assert_eq!(summary_of([]), None);
    }

    #[test]
    fn values_from_a_bound_on_are_counted() {
        for most in [4, 40_000] {
            let mut quantiles = Quantiles::default();
            (1..=most).for_each(|n| quantiles.add(TimeDelta::from_nanos(n)));
            let mut from = |nanos| {
                quantiles
                    .count_from(TimeDelta::from_nanos(nanos))
                    .cast_signed()
            };
            assert_eq!(
                [0, 1, 2, most, most + 1].map(&mut from),
                [most, most, most - 1, 1, 0]
            );
        }
        assert_eq!(Quantiles::default().count_from(TimeDelta::ZERO), 0);
    }

    #[test]
    fn quantiles_of_few_values_are_exact() {
        let summary = summary_of((1..=201).rev().map(|n| n * 10)).unwrap();
        let nanos = [
            summary.min,
            summary.p5,
            summary.median,
            summary.p95,
            summary.p99,
            summary.max,
        ]
        .map(TimeDelta::as_nanos);
        assert_eq!(nanos, [10, 110, 1010, 1910, 1990, 2010]);
    }

    #[test]
    fn a_distribution_of_few_values_has_a_step_for_each() {
        let mut quantiles = Quantiles::default();
        assert_eq!(quantiles.ecdf(10), []);
        for nanos in [4, 2, 2, 8] {
            quantiles.add(TimeDelta::from_nanos(nanos));
        }
        let steps = |steps: &[(i64, f64)]| -> Vec<_> {
            steps
                .iter()
                .map(|&(nanos, share)| (TimeDelta::from_nanos(nanos), share))
                .collect()
        };
        assert_eq!(
            quantiles.ecdf(10),
            steps(&[(2, 0.25), (2, 0.5), (4, 0.75), (8, 1.0)])
        );
        assert_eq!(quantiles.ecdf(2), steps(&[(2, 0.5), (8, 1.0)]));
    }

    #[test]
    fn many_values_stay_within_a_thousandth() {
        let million = summary_of((1..=1_000_000).map(|n| n * 40)).unwrap();
        assert_eq!(million.samples, 1_000_000);
        for (got, percent) in [(million.p5, 5), (million.median, 50), (million.p99, 99)] {
            let exact = percent * 10_000 * 40;
            assert!(
                (got.as_nanos() - exact).abs() * 1000 <= exact,
                "{got} at {percent} %"
            );
        }
        assert_eq!(million.max.as_nanos(), 40_000_000);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_within_a_thousandth(nanos in any::<i64>()) {
            let value = TimeDelta::from_nanos(nanos);
            let middle = middle_of(bucket_of(value)).as_nanos();
            prop_assert!(i128::from(middle.abs_diff(nanos)) * 1000 <= i128::from(nanos).abs());
        }

        #[test]
        fn values_within_a_bucket_stay_in_it(nanos in -i64::MAX / 2..i64::MAX / 2, rank in 1_u64..50, more in 0_u64..50) {
            let bucket = bucket_of(TimeDelta::from_nanos(nanos));
            prop_assert_eq!(bucket_of(value_in(bucket, rank, rank + more)), bucket);
        }

        #[test]
        fn buckets_keep_the_order_of_their_values(a in any::<i64>(), b in any::<i64>()) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(bucket_of(TimeDelta::from_nanos(low)) <= bucket_of(TimeDelta::from_nanos(high)));
        }

        #[test]
        fn merging_equals_adding_one_by_one(a in prop::collection::vec(any::<i32>(), 0..50), b in prop::collection::vec(any::<i32>(), 0..50)) {
            let fill = |values: &[i32]| {
                let mut quantiles = Quantiles::default();
                for &value in values {
                    quantiles.add(TimeDelta::from_nanos(value.into()));
                }
                quantiles
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            prop_assert_eq!(merged.summary(), fill(&[a, b].concat()).summary());
        }
    }
}
