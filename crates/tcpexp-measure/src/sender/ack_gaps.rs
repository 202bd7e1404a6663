//! Gaps in the ACKs of one direction's data: in each, the capture missed ACKs that the sender answered.

use tcpexp_flow::{Direction, Segment, StreamOffset, SynOptions};

use crate::missed_acks::AckWatch;

/// The gaps, by the captured ACKs around each.
#[derive(Clone, Debug, Default)]
pub(super) struct AckGaps {
    /// Places of the ACK before and the ACK behind a gap, in order. A gap at the end of the capture
    /// has no ACK behind it.
    around: Vec<(u64, u64)>,
}

impl AckGaps {
    /// The gaps, to be passed in the order of the capture.
    pub(super) fn walk(&self) -> AckGapWalk<'_> {
        AckGapWalk(&self.around)
    }
}

/// The gaps that are still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckGapWalk<'a>(&'a [(u64, u64)]);

/// Gaps next to an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NextToGap {
    /// True if the capture missed ACKs between the ACK before and this one, or data that this one acknowledges.
    pub(super) before: bool,
    /// True if the capture missed ACKs between this one and the next.
    pub(super) behind: bool,
    /// True if data that the capture missed, and that a later packet shows, may be in flight.
    pub(super) hides_flight: bool,
}

impl AckGapWalk<'_> {
    /// Passes the captured ACK at this place.
    #[inline]
    pub(super) fn pass(&mut self, place: u64) -> NextToGap {
        match self.0 {
            [(before, _), ..] if place < *before => NextToGap::default(),
            [] => NextToGap::default(),
            _ => self.arrive(place),
        }
    }

    #[cold]
    fn arrive(&mut self, place: u64) -> NextToGap {
        let mut next_to = NextToGap::default();
        if let [(_, behind), rest @ ..] = self.0
            && place >= *behind
        {
            next_to.before = true;
            self.0 = rest;
        }
        next_to.behind = self.0.first().is_some_and(|(before, _)| place >= *before);
        next_to
    }
}

/// Search for the gaps in the first pass.
#[derive(Debug, Default)]
pub(super) struct AckGapSearch {
    watch: AckWatch,
    /// Place of the latest ACK.
    latest: u64,
    found: AckGaps,
}

impl AckGapSearch {
    pub(super) fn open(&mut self, syns: [Option<SynOptions>; 2], direction: Direction) {
        self.watch.open(syns, direction);
    }

    #[inline]
    pub(super) fn send(&mut self, segment: &Segment) {
        self.watch.send(segment);
    }

    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment, ack: StreamOffset) {
        let place = segment.seen.place();
        if self.watch.on_ack(segment, ack) {
            self.found.around.push((self.latest, place));
        }
        self.latest = place;
    }

    /// True if the capture missed ACKs since the latest one.
    pub(super) fn is_open(&self) -> bool {
        self.watch.misses_acks()
    }

    /// Adds a gap between two captured ACKs that a later echo shows.
    pub(super) fn add(&mut self, around: (u64, u64)) {
        self.found.around.push(around);
    }

    /// Number of gaps.
    pub(super) fn count(&self) -> u64 {
        self.found().around.len() as u64
    }

    pub(super) fn found(&self) -> AckGaps {
        let mut around = self.found.around.clone();
        if self.is_open() {
            around.push((self.latest, u64::MAX));
        }
        // An echo shows a gap later than a window does.
        around.sort_unstable();
        around.dedup_by(|next, gap| {
            let is_same = next.0 < gap.1;
            if is_same {
                gap.1 = gap.1.max(next.1);
            }
            is_same
        });
        AckGaps { around }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_overlap_count_once() {
        let mut search = AckGapSearch::default();
        for around in [(5, 9), (1, 3), (3, 5), (6, 7), (8, 12)] {
            search.add(around);
        }
        assert_eq!(search.found().around, [(1, 3), (3, 5), (5, 12)]);
        assert_eq!(search.count(), 3);
    }
}
