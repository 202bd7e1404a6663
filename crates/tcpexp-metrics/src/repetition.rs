//! The median over repeated runs, with a confidence interval.
//!
//! Bins within one run are correlated; runs are independent. Each run is therefore reduced to one
//! number first, and the interval describes the variation between runs only.

use crate::bounds::{Bounds, bounded_percentiles};
use crate::quantile::quantile;

/// Options of a percentile bootstrap of the median.
///
/// Each resample draws as many runs as there are, with replacement, and takes their median. The
/// interval contains the central `confidence` of these medians (Efron, Tibshirani: An Introduction
/// to the Bootstrap, 1993, section 13.3). The same seed gives the same interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: u32,
    /// The share of resampled medians inside the interval, 0 to 1.
    pub confidence: f64,
    /// Seed of the random draws.
    pub seed: u64,
}

/// A median over runs with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of runs.
    pub runs: usize,
    /// The median over the runs; infinite if it is not known.
    pub median: f64,
    /// The smallest possible median: below `median` only if the median is not known.
    pub least: f64,
    /// The largest possible median.
    pub most: f64,
    /// Lower and upper end of the interval; `None` for fewer than two runs.
    ///
    /// Too narrow for few runs: with five, a nominal 95 % interval contains the true median of a
    /// continuous quantity in at most 94 % of cases.
    pub interval: Option<(f64, f64)>,
}

impl Default for Bootstrap {
    /// 2000 resamples for a 95 % interval; Efron and Tibshirani call 1000 the least for percentile
    /// intervals.
    fn default() -> Self {
        Self {
            resamples: 2000,
            confidence: 0.95,
            seed: 1,
        }
    }
}

impl Estimate {
    /// The median; `None` if it is not known. Infinite if it was not reached.
    pub fn known(&self) -> Option<f64> {
        self.least
            .total_cmp(&self.median)
            .is_eq()
            .then_some(self.median)
    }
}

impl Bootstrap {
    /// The median of `runs` with its interval; `None` without runs.
    ///
    /// Infinity stands for a time that a run did not reach, which is longer than every time reached.
    /// An infinite median or interval end was therefore not reached either.
    pub fn estimate(&self, runs: &[f64]) -> Option<Estimate> {
        let runs: Vec<Bounds> = runs.iter().copied().map(Bounds::known).collect();
        self.estimate_bounded(&runs)
    }

    /// The median of `runs`, each known exactly or within bounds; `None` without runs.
    ///
    /// The interval holds for all possible values of the runs: its ends are the lower end for the
    /// smallest and the upper end for the largest ones.
    pub fn estimate_bounded(&self, runs: &[Bounds]) -> Option<Estimate> {
        let [median] = bounded_percentiles(runs, [0.5])?;
        let least: Vec<f64> = runs.iter().map(|run| run.least).collect();
        let interval = self.interval(&least).and_then(|low| {
            if runs.iter().all(|run| run.is_known()) {
                return Some(low);
            }
            let most: Vec<f64> = runs.iter().map(|run| run.most).collect();
            Some((low.0, self.interval(&most)?.1))
        });
        Some(Estimate {
            runs: runs.len(),
            median: median.value().unwrap_or(f64::INFINITY),
            least: median.least,
            most: median.most,
            interval,
        })
    }

    fn interval(&self, runs: &[f64]) -> Option<(f64, f64)> {
        // Each resample of a single run is the run itself, so the interval would have no width.
        if runs.len() < 2 {
            return None;
        }
        let mut random = Draws(self.seed);
        let mut drawn = vec![0.0; runs.len()];
        let mut medians = Vec::with_capacity(self.resamples as usize);
        for _ in 0..self.resamples {
            drawn.fill_with(|| runs[random.below(runs.len())]);
            // `total_cmp` sorts infinities, which stand for times not reached, to the end.
            drawn.sort_unstable_by(f64::total_cmp);
            medians.extend(quantile(&drawn, 0.5));
        }
        medians.sort_unstable_by(f64::total_cmp);
        // The percentile interval leaves out the same share of medians at each end.
        let outside = (1.0 - self.confidence) / 2.0;
        Some((
            quantile(&medians, outside)?,
            quantile(&medians, 1.0 - outside)?,
        ))
    }
}

/// Random numbers by `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014): its 64 bits are plenty for draws of a few runs.
struct Draws(u64);

impl Draws {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        // The upper half of the product: below `count`, and off an even spread by 2^-64 times it.
        let scaled = (u128::from(mixed) * count as u128) >> 64;
        usize::try_from(scaled).expect("less than a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_run_has_a_median_but_no_interval() {
        let estimate = Bootstrap::default().estimate(&[4.0]).unwrap();
        assert_eq!((estimate.median, estimate.interval), (4.0, None));
        assert_eq!(Bootstrap::default().estimate(&[]), None);
    }

    #[test]
    fn interval_matches_the_exact_distribution_of_resampled_medians() {
        // With five runs, the resampled median is at most the k-th smallest run if at least three
        // of the five draws are. For k = 1, the probability is 5.8 %, so the 2.5 % quantile is the
        // smallest run.
        let runs = [10.0, 20.0, 30.0, 40.0, 50.0];
        let five = Bootstrap::default().estimate(&runs).unwrap();
        assert_eq!((five.median, five.interval), (30.0, Some((10.0, 50.0))));
        // At 80 % it is the second: 5.8 % < 10 % < 31.7 %.
        let narrow = Bootstrap {
            confidence: 0.8,
            ..Bootstrap::default()
        };
        let five = narrow.estimate(&runs).unwrap();
        assert_eq!(five.interval, Some((20.0, 40.0)));
    }

    #[test]
    fn shares_of_resampled_medians_match_their_probability() {
        // Three runs, two of the draws or all being the smallest: 7/27.
        let runs = [1.0, 2.0, 3.0];
        let end = |confidence| {
            let bootstrap = Bootstrap {
                resamples: 20_000,
                confidence,
                seed: 7,
            };
            bootstrap.estimate(&runs).unwrap().interval.unwrap()
        };
        let outside = 7.0 / 27.0;
        assert_eq!(end(1.0 - 2.0 * (outside - 0.01)), (1.0, 3.0));
        assert_eq!(end(1.0 - 2.0 * (outside + 0.01)), (2.0, 2.0));
    }

    #[test]
    fn value_missed_by_most_runs_has_no_finite_median() {
        let most = [1.0, f64::INFINITY, f64::INFINITY];
        let estimate = Bootstrap::default().estimate(&most).unwrap();
        assert!(estimate.median.is_infinite());
        let (low, high) = estimate.interval.unwrap();
        assert!(low <= 1.0 && high.is_infinite());
    }

    #[test]
    fn run_known_only_to_be_longer_leaves_the_median_unknown_unless_it_is_above_it() {
        let estimate = |runs: &[Bounds]| Bootstrap::default().estimate_bounded(runs).unwrap();
        let [short, long] = [1.0, 3.0].map(Bounds::known);
        let above = estimate(&[short, long, Bounds::at_least(4.0)]);
        assert_eq!((above.median, above.known()), (3.0, Some(3.0)));
        assert_eq!(above.interval, Some((1.0, f64::INFINITY)));
        let either = estimate(&[short, long, Bounds::at_least(2.0)]);
        assert_eq!((either.known(), either.least), (None, 2.0));
        assert!(either.median.is_infinite());
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_median_and_lies_within_the_runs(
            runs in prop::collection::vec(0.0..1e9_f64, 2..20),
            seed in any::<u64>(),
        ) {
            let bootstrap = Bootstrap { resamples: 500, seed, ..Bootstrap::default() };
            let estimate = bootstrap.estimate(&runs).unwrap();
            let (low, high) = estimate.interval.unwrap();
            prop_assert!(low <= estimate.median && estimate.median <= high);
            prop_assert!(runs.iter().any(|run| *run <= low) && runs.iter().any(|run| *run >= high));
            prop_assert_eq!(bootstrap.estimate(&runs).unwrap(), estimate);
        }

        #[test]
        fn runs_scale_with_their_interval(
            runs in prop::collection::vec(0.0..1e6_f64, 2..10),
        ) {
            let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
            let twice: Vec<f64> = runs.iter().map(|run| run * 2.0).collect();
            let (low, high) = bootstrap.estimate(&runs).unwrap().interval.unwrap();
            let scaled = bootstrap.estimate(&twice).unwrap().interval.unwrap();
            prop_assert_eq!(scaled, (low * 2.0, high * 2.0));
        }
    }
}
