//! How often which number of segments was seen.

use std::collections::BTreeMap;

/// Numbers of segments with how often each occurred. Memory follows the different numbers.
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

    /// The number that `percent` of all are not above, by nearest rank; `None` if there is none.
    pub(crate) fn quantile(&self, percent: u64) -> Option<u32> {
        // The smallest is not above any share of them.
        let rank = (self.total * percent).div_ceil(100).max(1);
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
    fn quantiles_are_numbers_that_occurred() {
        let mut distribution = Distribution::default();
        assert_eq!(distribution.quantile(50), None);
        for segments in [10, 40, 20, 30] {
            distribution.add(segments);
        }
        let quantiles = [0, 25, 50, 75, 76, 100].map(|percent| distribution.quantile(percent));
        assert_eq!(quantiles, [10, 10, 20, 30, 40, 40].map(Some));
    }
}
