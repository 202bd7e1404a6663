//! A set of segment numbers, stored as ranges.

/// Sorted, disjoint ranges that do not touch; ends are exclusive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    ranges: Vec<(u32, u32)>,
    covered: u32,
}

impl Ranges {
    /// Count of numbers in the set.
    pub(crate) fn covered(&self) -> u32 {
        self.covered
    }

    /// One more than the highest number; 0 if empty.
    pub(crate) fn end(&self) -> u32 {
        self.ranges.last().map_or(0, |range| range.1)
    }

    /// The ranges in ascending order.
    pub(crate) fn as_slice(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Returns the range that contains a number.
    pub(crate) fn around(&self, number: u32) -> Option<(u32, u32)> {
        let after = self.ranges.partition_point(|range| range.1 <= number);
        self.ranges
            .get(after)
            .copied()
            .filter(|range| range.0 <= number)
    }

    /// Inserts a range; returns false if the set already contains all of it.
    pub(crate) fn insert(&mut self, mut start: u32, mut end: u32) -> bool {
        if start >= end {
            return false;
        }
        let before = self.covered;
        // Ranges that only touch the new range are merged with it too.
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        for range in self.ranges.drain(first..last) {
            start = start.min(range.0);
            end = end.max(range.1);
            self.covered -= range.1 - range.0;
        }
        self.ranges.insert(first, (start, end));
        self.covered += end - start;
        self.covered > before
    }

    /// Removes all numbers below `floor`.
    pub(crate) fn remove_below(&mut self, floor: u32) {
        let gone = self.ranges.partition_point(|range| range.1 <= floor);
        for range in self.ranges.drain(..gone) {
            self.covered -= range.1 - range.0;
        }
        if let Some(range) = self.ranges.first_mut()
            && range.0 < floor
        {
            self.covered -= floor - range.0;
            range.0 = floor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_equal_a_plain_set(
            inserts in prop::collection::vec((0..200_u32, 0..20_u32), 0..40), floor in 0..200_u32,
        ) {
            let mut ranges = Ranges::default();
            let mut plain = BTreeSet::new();
            for (start, len) in inserts {
                let grows = (start..start + len).any(|number| !plain.contains(&number));
                prop_assert_eq!(ranges.insert(start, start + len), grows);
                plain.extend(start..start + len);
            }
            ranges.remove_below(floor);
            plain.retain(|number| *number >= floor);
            let listed: Vec<u32> = ranges.as_slice().iter().flat_map(|range| range.0..range.1).collect();
            prop_assert_eq!(&listed, &plain.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(ranges.covered() as usize, plain.len());
            for number in 0..220 {
                prop_assert_eq!(ranges.around(number).is_some(), plain.contains(&number));
            }
        }
    }
}
