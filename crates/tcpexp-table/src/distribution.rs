//! Distribution of numbers of segments.

use std::collections::BTreeMap;

use tcpexp_metrics::quantile::Percentile;

/// Counts how often each number of segments occurred. Memory grows with the number of distinct
/// values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    counts: BTreeMap<u32, u64>,
    total: u64,
}

impl Distribution {
    pub(crate) fn add(&mut self, segments: u32) {
        *self.counts.entry(segments).or_default() += 1;
        self.total += 1;
    }

    /// The `percent`-th percentile as [`tcpexp_metrics::quantile`] defines it, rounded to a whole
    /// segment; `None` if the distribution is empty.
    pub(crate) fn quantile(&self, percent: u8) -> Option<u32> {
        let position = Percentile::of(percent, self.total)?;
        let low = self.at_rank(position.rank)?;
        // The largest value has no next one, and none is needed: its position has no fraction.
        let high = self.at_rank(position.rank + 1).unwrap_or(low);
        u32::try_from(position.between(low.into(), high.into())).ok()
    }

    fn at_rank(&self, rank: u64) -> Option<u32> {
        let mut passed = 0;
        self.counts.iter().find_map(|(segments, count)| {
            passed += count;
            (passed >= rank).then_some(*segments)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_observed_values() {
        let mut distribution = Distribution::default();
        assert_eq!(distribution.quantile(50), None);
        for segments in [10, 40, 20, 30] {
            distribution.add(segments);
        }
        let quantiles = [0, 25, 50, 75, 76, 100].map(|percent| distribution.quantile(percent));
        assert_eq!(quantiles, [10, 18, 25, 33, 33, 40].map(Some));
    }
}
