//! The bytes of a stream that one point captured.

use std::collections::BTreeMap;

use tcpexp_flow::StreamOffset;

use super::answered::overlaps;

/// Disjoint ranges of bytes that one point captured.
///
/// The last range is not in the map: most flows have no other, and the first node of a map takes 192
/// bytes.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Ends of the other ranges by their starts; all end before `last` starts.
    earlier: BTreeMap<StreamOffset, StreamOffset>,
    /// Start and end of the last range.
    last: Option<(StreamOffset, StreamOffset)>,
}

impl Seen {
    /// Adds bytes that continue the last range, which is the usual case; returns false if they do not.
    pub(super) fn extend(&mut self, start: StreamOffset, end: StreamOffset) -> bool {
        match &mut self.last {
            Some((from, to)) if *from <= start && start <= *to => {
                *to = end.max(*to);
                true
            }
            _ => false,
        }
    }

    /// Adds bytes, and merges the ranges that they overlap or touch.
    pub(super) fn add(&mut self, mut start: StreamOffset, mut end: StreamOffset) {
        if self.extend(start, end) {
            return;
        }
        let Some((from, to)) = self.last.filter(|(from, _)| start < *from) else {
            let before = self.last.replace((start, end));
            self.earlier.extend(before);
            return;
        };
        let before = self.earlier.range(..=start).next_back();
        if let Some((&from, &to)) = before
            && to >= start
        {
            start = from;
        }
        // The inclusive end merges a range that starts where these bytes end.
        while let Some((&from, &to)) = self.earlier.range(start..=end).next_back() {
            end = end.max(to);
            self.earlier.remove(&from);
        }
        if end < from {
            self.earlier.insert(start, end);
        } else {
            self.last = Some((start, end.max(to)));
        }
    }

    /// True if `start` is before the last range.
    pub(super) fn is_before_last(&self, start: StreamOffset) -> bool {
        self.last.is_some_and(|(from, _)| start < from)
    }

    /// True if one range has all of these bytes.
    pub(super) fn has_all(&self, start: StreamOffset, end: StreamOffset) -> bool {
        match self.last {
            Some((from, to)) if from <= start => end <= to,
            _ => {
                let before = self.earlier.range(..=start).next_back();
                before.is_some_and(|(_, &to)| end <= to)
            }
        }
    }

    /// True if any of these bytes were captured.
    pub(super) fn has_any(&self, start: StreamOffset, end: StreamOffset) -> bool {
        let is_in_last = |(from, to)| from < end && start < to;
        self.last.is_some_and(is_in_last) || overlaps(&self.earlier, start, end)
    }

    /// Forgets the first range while there are more than `ranges`, which is at least 1, and returns
    /// the end of the last range forgotten.
    pub(super) fn limit(&mut self, ranges: usize) -> Option<StreamOffset> {
        let mut forgotten = None;
        while self.earlier.len() >= ranges {
            forgotten = self.earlier.pop_first().map(|(_, end)| end);
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tcpexp_wire::SeqNum;

    use super::*;

    fn at(byte: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(0)).plus(byte)
    }

    #[test]
    fn ranges_merge_once_the_holes_are_filled() {
        let mut seen = Seen::default();
        for segment in [5, 1, 3, 2, 4, 9, 7] {
            seen.add(at(segment), at(segment + 1));
        }
        let earlier: Vec<i64> = seen
            .earlier
            .iter()
            .map(|(from, to)| to.since(*from))
            .collect();
        assert_eq!(earlier, [5, 1]);
        assert_eq!(seen.last, Some((at(9), at(10))));
    }

    #[test]
    fn first_ranges_are_forgotten_beyond_the_limit() {
        let mut seen = Seen::default();
        for start in [8, 2, 6, 4] {
            seen.add(at(start), at(start + 1));
        }
        assert_eq!(seen.limit(4), None);
        assert_eq!(seen.limit(2), Some(at(5)));
        assert!(!seen.has_any(at(0), at(6)));
        assert!(seen.has_all(at(6), at(7)) && seen.has_all(at(8), at(9)));
    }

    proptest! {
        #[test]
        fn bytes_are_those_that_were_added(
            added in prop::collection::vec((0_u32..60, 1_u32..9), 0..40),
            (start, length) in (0_u32..60, 1_u32..9),
        ) {
            let mut seen = Seen::default();
            let mut bytes = [false; 80];
            for (start, length) in added {
                seen.add(at(start), at(start + length));
                bytes[start as usize..(start + length) as usize].fill(true);
            }
            let asked = &bytes[start as usize..(start + length) as usize];
            let end = start + length;
            prop_assert_eq!(seen.has_all(at(start), at(end)), asked.iter().all(|&is| is));
            prop_assert_eq!(seen.has_any(at(start), at(end)), asked.contains(&true));
            let (earlier, last) = (&seen.earlier, seen.last.map(|(from, _)| from));
            let next = earlier.keys().copied().skip(1).chain(last);
            prop_assert!(earlier.values().zip(next).all(|(to, from)| *to < from));
        }
    }
}
