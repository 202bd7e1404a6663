//! What all shards know of the run.

use tcpexp_units::{TimeDelta, Timestamp};

use super::Way;
use super::clock::ClockModel;
use super::exact::SLACK;

/// What all shards know of the run.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) clock: ClockModel,
    /// First and last packet of each capture on the common timeline.
    pub(super) spans: [(Timestamp, Timestamp); 2],
    /// The largest one-way delay of the sample on the common timeline, by [`Way::index`].
    pub(super) max_owd: [TimeDelta; 2],
    /// The smallest round-trip time between the points that the sample shows.
    pub(super) min_rtt: TimeDelta,
    /// After this time in flight a packet is given up.
    pub(super) horizon: TimeDelta,
    /// First and last departure that arrived so far, by [`Way::index`]: both captures were
    /// running then.
    pub(super) proven: [Option<(Timestamp, Timestamp)>; 2],
}

impl Setting {
    /// Whether a packet that left at `at` cannot have been seen at the other point.
    pub(super) fn is_surely_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().opposite().index()];
        at + self.max_owd[way.index()] < first || at > last
    }

    /// Whether a packet that left at `at` and did not arrive may have passed the other point
    /// before its capture began or after it ended. What left between two packets that arrived
    /// was lost, whatever the delay.
    pub(super) fn may_be_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().opposite().index()];
        let is_proven = |(from, to)| from <= at && at <= to;
        let is_covered = first <= at && at + self.max_owd[way.index()] <= last;
        !is_covered && !self.proven[way.index()].is_some_and(is_proven)
    }

    /// Whether a packet that arrived at `at` may have passed the first point before its capture
    /// began or after it ended.
    pub(super) fn may_have_left_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().index()];
        at - self.max_owd[way.index()] < first || at - SLACK > last
    }
}

/// Makes `span` reach `at`.
pub(super) fn widen(span: &mut Option<(Timestamp, Timestamp)>, at: Timestamp) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}
