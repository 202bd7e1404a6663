//! Tukey's box plots.

use crate::quantile::Sorted;

/// Maximum length of a whisker beyond the quartiles, in interquartile ranges.
const REACH: f64 = 1.5;

/// A box with whiskers (Tukey: Exploratory Data Analysis, 1977, section 2D).
#[derive(Clone, Debug, PartialEq)]
pub struct Tukey {
    /// The quantile at 1/4.
    pub lower_quartile: f64,
    /// The median.
    pub median: f64,
    /// The quantile at 3/4.
    pub upper_quartile: f64,
    /// The smallest and the largest value within 1.5 interquartile ranges of the box: whiskers end
    /// at values, not at fences.
    pub whiskers: (f64, f64),
    /// All values beyond the whiskers, in ascending order.
    pub outliers: Vec<f64>,
}

impl Tukey {
    /// Computes the box; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = Sorted::of(values);
        let [lower_quartile, median, upper_quartile] =
            [0.25, 0.5, 0.75].map(|share| sorted.quantile(share));
        let (lower_quartile, upper_quartile) = (lower_quartile?, upper_quartile?);
        let reach = REACH * (upper_quartile - lower_quartile);
        let fences = lower_quartile - reach..=upper_quartile + reach;
        let inside = || {
            sorted
                .values()
                .iter()
                .copied()
                .filter(|value| fences.contains(value))
        };
        Some(Self {
            lower_quartile,
            median: median?,
            upper_quartile,
            whiskers: (inside().next()?, inside().next_back()?),
            outliers: sorted
                .values()
                .iter()
                .copied()
                .filter(|value| !fences.contains(value))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whiskers_end_at_the_most_extreme_value_within_the_fences() {
        let tukey = Tukey::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 30.0]).unwrap();
        assert_eq!(
            tukey,
            Tukey {
                lower_quartile: 3.0,
                median: 5.0,
                upper_quartile: 7.0,
                whiskers: (1.0, 8.0),
                outliers: vec![30.0],
            }
        );
        assert_eq!(Tukey::of(&[]), None);
        assert_eq!(Tukey::of(&[4.0]).unwrap().whiskers, (4.0, 4.0));
    }

    proptest! {
        #[test]
        fn box_limits_are_ordered_and_occur_in_the_data(
            values in prop::collection::vec(prop_oneof![-10.0..10.0, -1e6..1e6], 1..200)
        ) {
            let tukey = Tukey::of(&values).unwrap();
            let (low, high) = tukey.whiskers;
            prop_assert!(values.contains(&low) && values.contains(&high));
            prop_assert!(tukey.lower_quartile <= tukey.median);
            prop_assert!(tukey.median <= tukey.upper_quartile);
            let reach = 1.5 * (tukey.upper_quartile - tukey.lower_quartile);
            prop_assert!(low >= tukey.lower_quartile - reach);
            prop_assert!(high <= tukey.upper_quartile + reach);
            let inside = values.iter().filter(|value| (low..=high).contains(value)).count();
            prop_assert_eq!(inside + tukey.outliers.len(), values.len());
            let is_beyond = |value: &f64| *value < low || *value > high;
            prop_assert!(tukey.outliers.iter().all(is_beyond));
        }
    }
}
