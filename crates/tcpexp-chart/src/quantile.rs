//! Sorted values, their quantiles and their empirical distribution.

use crate::Group;

/// Finite values in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts `values`; infinite values and NaN are omitted.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self(sorted)
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The quantile at `share`, as [`tcpexp_metrics::quantile`] defines it; `None` without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        tcpexp_metrics::quantile::quantile(&self.0, share)
    }

    /// At most `most` steps of the empirical distribution, each a value and the share of all values
    /// that do not exceed it.
    ///
    /// The first step is the smallest value with share 0; the last step is the largest value.
    pub fn steps(&self, most: usize) -> Vec<(f64, f64)> {
        let count = self.0.len();
        let steps = most.min(count);
        let mut line: Vec<(f64, f64)> = self
            .0
            .first()
            .map(|least| (*least, 0.0))
            .into_iter()
            .collect();
        line.extend((1..=steps).map(|step| {
            let rank = (count * step).div_ceil(steps);
            (self.0[rank - 1], rank as f64 / count as f64)
        }));
        line
    }
}

/// The smallest and the largest value of all groups.
pub fn extremes(groups: &[Group]) -> Option<(f64, f64)> {
    let values = groups.iter().flat_map(|group| &group.values);
    let numbers = values.copied().filter(|value| value.is_finite());
    numbers.fold(None, |found, value| {
        let (least, most) = found.unwrap_or((value, value));
        Some((value.min(least), value.max(most)))
    })
}

/// The range that contains all ranges; `None` if there are none.
pub(crate) fn joined(ranges: impl Iterator<Item = Option<(f64, f64)>>) -> Option<(f64, f64)> {
    ranges
        .flatten()
        .reduce(|(least, most), (low, high)| (least.min(low), most.max(high)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_that_are_not_finite_are_omitted() {
        let sorted = Sorted::of(&[4.0, 1.0, f64::NAN, 3.0, 2.0]);
        assert_eq!(sorted.quantile(0.5), Some(2.5));
        assert_eq!(Sorted::of(&[f64::INFINITY]).quantile(0.5), None);
    }

    proptest! {
        #[test]
        fn thinned_steps_lie_on_the_distribution_and_keep_its_ends(
            values in prop::collection::vec(-1e3..1e3, 1..500),
            most in 1_usize..50,
        ) {
            let sorted = Sorted::of(&values);
            let steps = sorted.steps(most);
            prop_assert!(steps.len() <= most + 1);
            prop_assert_eq!(steps[0], (sorted.values()[0], 0.0));
            prop_assert_eq!(steps[steps.len() - 1], (sorted.values()[values.len() - 1], 1.0));
            for (value, share) in &steps[1..] {
                let not_above = values.iter().filter(|v| *v <= value).count() as f64;
                prop_assert!(not_above >= (share * values.len() as f64).round());
            }
        }
    }
}
