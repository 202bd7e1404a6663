//! Arrivals without a departure.

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

/// Arrivals closer than this are remembered as one range of times: less than the delays of most
/// paths vary.
const MERGED: TimeDelta = TimeDelta::from_millis(1);
/// Number of ranges remembered per direction: a packet per 30 ms within the longest one-way delay.
const REMEMBERED: usize = 1_024;

/// Times at which packets of one direction arrived that no departure explains.
///
/// Each may be a packet whose record in one of the captures is damaged. Then its departure seems to
/// have no arrival, although the packet was not lost.
#[derive(Debug, Default)]
pub(in crate::spp) struct Unexplained {
    /// First and last arrival of each range, in order of time.
    ranges: VecDeque<(Timestamp, Timestamp)>,
    /// Arrivals up to here may be forgotten.
    forgotten: Option<Timestamp>,
}

impl Unexplained {
    /// Adds an arrival.
    pub(in crate::spp) fn add(&mut self, at: Timestamp) {
        if let Some((first, last)) = self.ranges.back_mut()
            && at - *last < MERGED
        {
            // Records out of order may precede the range.
            *first = at.min(*first);
            *last = at.max(*last);
            return;
        }
        self.ranges.push_back((at, at));
        if self.ranges.len() > REMEMBERED {
            self.forgotten = self.ranges.pop_front().map(|(_, last)| last);
        }
    }

    /// True if a packet may have arrived from `from` to `to`.
    pub(in crate::spp) fn may_include(&self, from: Timestamp, to: Timestamp) -> bool {
        let next = self.ranges.partition_point(|(_, last)| *last < from);
        let is_next = self.ranges.get(next).is_some_and(|(first, _)| *first <= to);
        is_next || self.forgotten.is_some_and(|forgotten| from <= forgotten)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn millis(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    proptest! {
        #[test]
        fn no_arrival_is_overlooked(
            gaps in prop::collection::vec(0..4_i64, 1..3_000),
            place: prop::sample::Index,
            from in -3_000..0_i64,
            length in 0..3_000_i64,
        ) {
            let mut unexplained = Unexplained::default();
            let mut arrivals = Vec::new();
            for gap in gaps {
                arrivals.push(arrivals.last().unwrap_or(&0) + gap);
                unexplained.add(millis(arrivals[arrivals.len() - 1]));
            }
            let from = place.get(&arrivals) + from;
            let to = from + length;
            let is_any = arrivals.iter().any(|at| (from..=to).contains(at));
            prop_assert!(!is_any || unexplained.may_include(millis(from), millis(to)));
        }
    }

    #[test]
    fn times_without_arrivals_are_not_included() {
        let mut unexplained = Unexplained::default();
        for at in [10, 20, 30] {
            unexplained.add(millis(at));
        }
        assert!(!unexplained.may_include(millis(11), millis(19)));
        assert!(!unexplained.may_include(millis(31), millis(99)));
        assert!(unexplained.may_include(millis(11), millis(20)));
    }
}
