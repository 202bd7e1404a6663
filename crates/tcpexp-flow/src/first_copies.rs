//! Detection of stream bytes that are captured for the first time.

use crate::StreamOffset;
use crate::holes::{Hole, Holes};

/// Upper bound on separate ranges; beyond it, the lowest hole counts as filled.
const MAX_RANGES: usize = 1_024;

/// Byte ranges of one direction that were captured, to distinguish first transmissions from
/// repeated ones.
///
/// A stream without holes is one range, and each open hole adds one. Beyond 1024 ranges the lowest
/// hole is given up: a byte that fills it later does not count as new. Memory is therefore bounded
/// even if a capture misses packets for hours.
#[derive(Clone, Debug, Default)]
pub struct FirstCopies {
    /// The range that grew last; most segments extend it.
    current: Option<(StreamOffset, StreamOffset)>,
    /// All other ranges; `None` for most streams.
    others: Option<Box<Others>>,
}

/// The ranges beside the current one.
#[derive(Clone, Debug, Default)]
struct Others {
    /// Start of the first range captured. Bytes before it may have been sent before the capture began.
    began: Option<StreamOffset>,
    /// End of the highest hole that was given up.
    given_up: Option<StreamOffset>,
    /// Start of the next range above the current one, if there is one.
    ceiling: Option<StreamOffset>,
    /// Ranges in order; they touch neither each other nor the current one.
    ranges: Vec<(StreamOffset, StreamOffset)>,
}

impl FirstCopies {
    /// Adds a segment's bytes from `start` up to but not including `end`; returns the number of new
    /// bytes. Returns 0 if `end` is not after `start`.
    #[inline]
    pub fn take(&mut self, start: StreamOffset, end: StreamOffset) -> u32 {
        if end <= start {
            return 0;
        }
        match &mut self.current {
            Some(current)
                if current.1 == start
                    && self
                        .others
                        .as_ref()
                        .is_none_or(|others| others.are_above(end)) =>
            {
                current.1 = end;
                length(start, end)
            }
            _ => self.take_elsewhere(start, end),
        }
    }

    /// True if all bytes from `start` up to but not including `end` were captured; false if there are
    /// none.
    pub(crate) fn has(&self, start: StreamOffset, end: StreamOffset) -> bool {
        let others = self.others.as_ref().map(|others| &*others.ranges);
        let mut ranges = self.current.iter().chain(others.unwrap_or_default());
        start < end && ranges.any(|range| range.0 <= start && end <= range.1)
    }

    /// True if any bytes were captured.
    pub(crate) fn has_any(&self) -> bool {
        self.current.is_some()
    }

    /// True if the range that grew last has at least `bytes` bytes before `end`, and ends there or
    /// later.
    pub(crate) fn has_run_before(&self, end: StreamOffset, bytes: i64) -> bool {
        self.current
            .is_some_and(|(from, to)| end <= to && end.since(from) >= bytes)
    }

    /// One past the last byte captured.
    pub(crate) fn end(&self) -> Option<StreamOffset> {
        let others = self.others.as_ref().and_then(|others| others.ranges.last());
        self.current.iter().chain(others).map(|range| range.1).max()
    }

    /// The bytes below `una` that were never captured. `from` is the first byte of the stream, if it is known.
    /// Otherwise leaves out bytes before the first range captured: the capture may have begun after them.
    pub(crate) fn holes_below(&self, una: StreamOffset, from: Option<StreamOffset>) -> Holes {
        let Some(current) = self.current else {
            return Holes::default();
        };
        let others = self.others.as_deref();
        let mut ranges = others.map_or_else(Vec::new, |others| others.ranges.clone());
        let place = ranges.partition_point(|range| range.0 < current.0);
        ranges.insert(place, current);
        let first = others.and_then(|others| others.began).unwrap_or(current.0);
        let began = from.filter(|from| *from <= ranges[0].0).unwrap_or(first);
        let below = |(start, end): Hole| {
            let hole = (start.max(began), end.min(una));
            (hole.0 < hole.1).then_some(hole)
        };
        let before = std::iter::once((began, ranges[0].0));
        let between = ranges.windows(2).map(|pair| (pair[0].1, pair[1].0));
        Holes {
            certain: before.chain(between).filter_map(below).collect(),
            possible: Vec::new(),
            forgotten: others
                .and_then(|others| others.given_up)
                .and_then(|end| below((began, end))),
        }
    }

    #[cold]
    fn take_elsewhere(&mut self, start: StreamOffset, end: StreamOffset) -> u32 {
        let Some(current) = &mut self.current else {
            self.current = Some((start, end));
            return length(start, end);
        };
        let began = current.0;
        let others = self.others.get_or_insert_default();
        others.began.get_or_insert(began);
        others.take(current, start, end)
    }
}

impl Others {
    /// True if no range above the current one starts at or before `end`.
    #[inline]
    fn are_above(&self, end: StreamOffset) -> bool {
        self.ceiling.is_none_or(|ceiling| end < ceiling)
    }

    /// Adds the range from `start` to `end`, merges it with the ranges it touches and makes it the
    /// current one; returns the number of new bytes.
    fn take(
        &mut self,
        current: &mut (StreamOffset, StreamOffset),
        start: StreamOffset,
        end: StreamOffset,
    ) -> u32 {
        let Self {
            ceiling,
            ranges,
            given_up,
            ..
        } = self;
        let place = ranges.partition_point(|range| range.0 < current.0);
        ranges.insert(place, *current);
        if ranges.len() > MAX_RANGES {
            *given_up = Some(ranges[1].0);
            ranges[1].0 = ranges[0].0;
            ranges.remove(0);
        }
        // Merge the ranges that overlap or touch the new one.
        let from = ranges.partition_point(|range| range.1 < start);
        let to = ranges.partition_point(|range| range.0 <= end);
        let mut merged = (start, end);
        let mut known = 0;
        for range in ranges.drain(from..to) {
            known += length(range.0.max(start), range.1.min(end));
            merged = (merged.0.min(range.0), merged.1.max(range.1));
        }
        *current = merged;
        *ceiling = ranges.get(from).map(|range| range.0);
        length(start, end) - known
    }
}

/// Number of bytes from `start` to `end`, within one segment.
#[inline]
fn length(start: StreamOffset, end: StreamOffset) -> u32 {
    u32::try_from(end.since(start)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use tcpexp_wire::SeqNum;

    use super::*;

    const START: StreamOffset = StreamOffset::first(SeqNum(u32::MAX - 50));

    /// Returns the number of new bytes in each range, given as first byte and length.
    fn taken(ranges: &[(u32, u32)]) -> Vec<u32> {
        let mut copies = FirstCopies::default();
        let take = |&(start, bytes)| {
            let start = START.plus(start);
            copies.take(start, start.plus(bytes))
        };
        ranges.iter().map(take).collect()
    }

    fn others(copies: &FirstCopies) -> &[(StreamOffset, StreamOffset)] {
        copies.others.as_ref().map_or(&[], |others| &others.ranges)
    }

    #[test]
    fn bytes_in_order_are_all_new() {
        assert_eq!(taken(&[(0, 100), (100, 100), (200, 50)]), [100, 100, 50]);
    }

    #[test]
    fn retransmitted_bytes_are_not_new() {
        assert_eq!(taken(&[(0, 100), (0, 100), (50, 100)]), [100, 0, 50]);
        assert_eq!(
            taken(&[(100, 10), (120, 10), (90, 60), (90, 60)]),
            [10, 10, 40, 0]
        );
    }

    #[test]
    fn late_bytes_are_new_once() {
        assert_eq!(
            taken(&[(0, 10), (20, 10), (30, 10), (10, 10), (10, 10), (40, 10)]),
            [10, 10, 10, 10, 0, 10]
        );
    }

    #[test]
    fn bytes_from_before_the_first_segment_seen_are_new() {
        assert_eq!(taken(&[(100, 10), (0, 10), (95, 5)]), [10, 10, 5]);
    }

    #[test]
    fn empty_segment_has_no_new_bytes() {
        assert_eq!(taken(&[(0, 0), (0, 5), (3, 0)]), [0, 5, 0]);
        let mut copies = FirstCopies::default();
        assert_eq!(copies.take(START.plus(9), START), 0);
    }

    #[test]
    fn captured_bytes_are_there_and_no_others() {
        let copies = captured(&[(0, 10), (20, 10), (40, 10)]);
        let has = |from, to| copies.has(START.plus(from), START.plus(to));
        assert!(has(0, 10) && has(22, 30) && has(40, 41));
        assert!(!has(5, 25) && !has(10, 20) && !has(49, 51) && !has(5, 5));
    }

    #[test]
    fn memory_is_bounded_if_every_other_segment_is_missing() {
        let mut copies = FirstCopies::default();
        for number in 0..10_000 {
            let start = START.plus(number * 20);
            assert_eq!(copies.take(start, start.plus(10)), 10);
            assert!(others(&copies).len() <= MAX_RANGES);
        }
        let (given_up, kept) = (START.plus(10), START.plus(9_998 * 20 + 10));
        assert_eq!(copies.take(given_up, given_up.plus(10)), 0);
        assert_eq!(copies.take(kept, kept.plus(10)), 10);
    }

    fn captured(ranges: &[(u32, u32)]) -> FirstCopies {
        let mut copies = FirstCopies::default();
        for &(start, bytes) in ranges {
            let start = START.plus(start);
            copies.take(start, start.plus(bytes));
        }
        copies
    }

    /// The holes below `una` after these ranges, relative to the start.
    fn holes(ranges: &[(u32, u32)], una: u32) -> Vec<(i64, i64)> {
        let holes = captured(ranges).holes_below(START.plus(una), None);
        let place = |offset: StreamOffset| offset.since(START);
        let places = holes
            .certain
            .iter()
            .map(|(from, to)| (place(*from), place(*to)));
        places.collect()
    }

    #[test]
    fn acknowledged_bytes_between_captured_bytes_are_holes() {
        let ranges = [(0, 100), (200, 100), (400, 100), (250, 60)];
        assert_eq!(holes(&ranges, 500), [(100, 200), (310, 400)]);
        assert_eq!(holes(&ranges, 350), [(100, 200), (310, 350)]);
        assert_eq!(holes(&ranges, 100), []);
    }

    #[test]
    fn bytes_from_before_the_capture_are_no_hole() {
        assert_eq!(holes(&[(100, 10), (0, 10), (120, 10)], 130), [(110, 120)]);
    }

    #[test]
    fn bytes_from_the_known_start_of_the_stream_to_the_first_range_are_a_hole() {
        let holes = |ranges: &[(u32, u32)]| {
            let copies = captured(ranges);
            let holes = copies.holes_below(START.plus(130), Some(START));
            holes.bytes()
        };
        assert_eq!(holes(&[(100, 40)]), 100);
        assert_eq!(holes(&[(100, 10), (50, 20)]), 50 + 30);
        assert_eq!(holes(&[(0, 10), (100, 40)]), 90);
        assert_eq!(holes(&[(200, 10)]), 130);
    }

    #[test]
    fn filled_holes_are_none() {
        assert_eq!(holes(&[(0, 10), (20, 10), (10, 10)], 30), []);
    }

    #[test]
    fn bytes_in_holes_that_were_given_up_are_not_counted() {
        let mut ranges: Vec<_> = (0..3_000).map(|number| (number * 20, 10)).collect();
        // The lowest hole is filled after it was given up.
        ranges.push((10, 10));
        let holes = captured(&ranges).holes_below(START.plus(60_000), None);
        let missing = 2_998 * 10;
        assert!(holes.bytes() > 10_000 && holes.bytes() <= missing);
        assert!(holes.overlap(START, START.plus(10)));
        assert!(holes.overlap(START.plus(59_000), START.plus(59_020)));
    }

    proptest! {
        #[test]
        fn a_byte_is_new_once(ranges in prop::collection::vec((0_u32..300, 0_u32..40), 0..60)) {
            let mut seen = HashSet::new();
            let new = |&(start, bytes): &(u32, u32)| -> u32 {
                (start..start + bytes).map(|byte| u32::from(seen.insert(byte))).sum()
            };
            let expected: Vec<u32> = ranges.iter().map(new).collect();
            prop_assert_eq!(taken(&ranges), expected);
        }

        #[test]
        fn ranges_stay_disjoint_and_sorted(ranges in prop::collection::vec((0_u32..3000, 1_u32..20), 0..200)) {
            let mut copies = FirstCopies::default();
            for (start, bytes) in ranges {
                copies.take(START.plus(start), START.plus(start + bytes));
                let mut all: Vec<_> = others(&copies).iter().copied().chain(copies.current).collect();
                all.sort_unstable();
                prop_assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0));
                let above = all.into_iter().find(|range| Some(*range) > copies.current);
                let ceiling = copies.others.as_ref().and_then(|others| others.ceiling);
                prop_assert_eq!(ceiling, above.map(|range| range.0));
            }
        }
    }
}
