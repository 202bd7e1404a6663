//! The definition of a quantile, for tables, charts and reports alike.
//!
//! A quantile of `n` sorted values at share `p` lies at position `(n - 1) p`, counted from 0, and is
//! interpolated linearly between the two values around that position: type 7 of Hyndman and Fan,
//! "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996). SQL's
//! `quantile_cont`, `percentile_cont` and `median`, and the defaults of `NumPy`, pandas and R compute
//! the same number. The median is that of RFC 2330, section 11.3: of an even number of values the
//! mean of the middle two.

/// A position closer than this to the position of a value counts as that position: `share` is
/// rarely exact in binary, and a rounding error must not make an infinite neighbour count.
const ROUNDING: f64 = 1e-9;

/// Quantile of ascending `sorted` at `share`, from 0 (smallest value) to 1 (largest).
///
/// `None` without values. Infinite values stand for events that did not happen: a quantile between a
/// finite and an infinite value is infinite. `sorted` holds no NaN.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position is between 0 and the last index"
    )]
    let below = ((position + ROUNDING).floor() as usize).min(last);
    let (low, high) = (
        sorted[below],
        *sorted.get(below + 1).unwrap_or(&sorted[below]),
    );
    let part = position - below as f64;
    // Between two equal infinities, the difference below would be NaN.
    if part <= ROUNDING || low.total_cmp(&high).is_eq() {
        return Some(low);
    }
    Some(low + (high - low) * part)
}

/// Median of `values` in any order; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    percentiles(&mut values.to_vec(), [0.5]).map(|[median]| median)
}

/// Quantiles of `values` at each of `shares`; sorts `values`. `None` without values.
pub fn percentiles<const N: usize>(values: &mut [f64], shares: [f64; N]) -> Option<[f64; N]> {
    values.sort_unstable_by(f64::total_cmp);
    let mut found = [0.0; N];
    for (place, share) in found.iter_mut().zip(shares) {
        *place = quantile(values, share)?;
    }
    Some(found)
}

/// Percentile of a percentile among sorted whole numbers, exact for any count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// Rank of the value at or below the position, counted from 1.
    pub rank: u64,
    /// Hundredths of the way from that value to the next one, 0 to 99.
    pub hundredths: u8,
}

impl Percentile {
    /// Percentile of the `percent`-th percentile, 0 to 100, of `count` values; `None` of no values.
    #[inline]
    pub fn of(percent: u8, count: u64) -> Option<Self> {
        let last = count.checked_sub(1)?;
        let percent = u64::from(percent.min(100));
        // `last * percent / 100` without overflow.
        let rest = last % 100 * percent;
        Some(Self {
            rank: last / 100 * percent + rest / 100 + 1,
            hundredths: u8::try_from(rest % 100).ok()?,
        })
    }

    /// The percentile between the values at [`Self::rank`] and the rank after it, rounded to the
    /// nearest whole number, halves up.
    #[inline]
    pub fn between(self, low: i64, high: i64) -> i64 {
        // Spans of the usual length need no 128-bit division, which takes ten times as long.
        let distance = high.checked_sub(low).map(u32::try_from);
        if let Some(Ok(distance)) = distance {
            return low + (i64::from(distance) * i64::from(self.hundredths) + 50) / 100;
        }
        let step = (i128::from(high) - i128::from(low)) * i128::from(self.hundredths);
        let rounded = i128::from(low) + (step + 50).div_euclid(100);
        // It lies between `low` and `high`, so it always fits.
        i64::try_from(rounded).unwrap_or(high)
    }
}

/// Percentile of ascending whole numbers, rounded to the nearest, halves up; `None` without values.
pub fn whole_percentile(sorted: &[i64], percent: u8) -> Option<i64> {
    let position = Percentile::of(percent, sorted.len() as u64)?;
    let below = usize::try_from(position.rank - 1).ok()?;
    let low = *sorted.get(below)?;
    Some(position.between(low, *sorted.get(below + 1).unwrap_or(&low)))
}

/// Median of whole numbers in any order, rounded to the nearest, halves up; `None` without values.
pub fn whole_median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    whole_percentile(&values, 50)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_equal_those_of_numpy_and_quantile_cont() {
        // numpy.quantile([15, 20, 35, 40, 50], q) and DuckDB's quantile_cont of the same values.
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        let shares = [0.0, 0.05, 0.25, 0.4, 0.5, 0.95, 1.0];
        let found = shares.map(|share| quantile(&sorted, share).unwrap());
        let expected = [15.0, 16.0, 20.0, 29.0, 35.0, 48.0, 50.0];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0, 4.0]), Some(3.5));
    }

    #[test]
    fn an_infinite_value_counts_only_if_the_position_is_beyond_its_neighbour() {
        let sorted = [1.0, 2.0, f64::INFINITY, f64::INFINITY];
        let shares = [1.0 / 3.0, 0.34, 0.9, 1.0];
        let found = shares.map(|share| quantile(&sorted, share));
        assert_eq!(
            found,
            [2.0, f64::INFINITY, f64::INFINITY, f64::INFINITY].map(Some)
        );
    }

    #[test]
    fn a_percentile_of_integers_rounds_half_up() {
        let position = Percentile::of(50, 4).unwrap();
        assert_eq!((position.rank, position.hundredths), (2, 50));
        assert_eq!(
            [(3, 4), (-4, -3), (3, 5)].map(|(a, b)| position.between(a, b)),
            [4, -3, 4]
        );
        assert_eq!(Percentile::of(50, 0), None);
        let last = Percentile::of(100, u64::MAX).unwrap();
        assert_eq!((last.rank, last.hundredths), (u64::MAX, 0));
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_their_share_and_stay_between_the_extremes(
            mut values in prop::collection::vec(-1e9..1e9, 1..300),
            mut shares in prop::collection::vec(0.0..=1.0, 2..20),
        ) {
            values.sort_unstable_by(f64::total_cmp);
            shares.sort_unstable_by(f64::total_cmp);
            let found: Vec<f64> = shares.iter().filter_map(|share| quantile(&values, *share)).collect();
            prop_assert_eq!(found.len(), shares.len());
            prop_assert!(found.is_sorted());
            prop_assert!(found[0] >= values[0] && found[found.len() - 1] <= values[values.len() - 1]);
        }

        #[test]
        fn whole_numbers_and_floats_have_the_same_percentiles(
            mut values in prop::collection::vec(-1_000_000_i64..1_000_000, 1..100),
            percent in 0_u8..=100,
        ) {
            values.sort_unstable();
            let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let whole = whole_percentile(&values, percent).unwrap();
            let float = quantile(&floats, f64::from(percent) / 100.0).unwrap();
            prop_assert!((whole as f64 - float).abs() <= 0.5 + 1e-6, "{whole} {float}");
        }
    }
}
