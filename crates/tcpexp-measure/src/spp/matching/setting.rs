//! What all shards know of the run.

use crate::spp::alignment::Alignment;
use crate::spp::clock::{ClockModel, DISORDER};
use crate::spp::crossing::Way;
use crate::spp::linking::{Found, whole};
use crate::spp::point::Point;
use tcpexp_flow::Protocol;
use tcpexp_units::{TimeDelta, Timestamp};

/// What the smallest delay of the sample may be above the smallest of all.
const LITTLE: TimeDelta = TimeDelta::from_micros(100);

/// What all shards know of the run.
#[derive(Debug)]
pub(in crate::spp) struct Setting {
    pub(in crate::spp) clock: ClockModel,
    /// How much earlier a packet can seem to arrive than it left because of coarse clocks.
    coarseness: TimeDelta,
    /// First and last packet of each capture on the common timeline.
    pub(in crate::spp) spans: [(Timestamp, Timestamp); 2],
    /// The largest one-way delay of the sample on the common timeline, by [`Way::index`]; the
    /// longest there may be where the sample has none.
    pub(in crate::spp) max_owd: [TimeDelta; 2],
    /// Whether a capture holds each packet twice, by [`Point::index`](Point::index).
    pub(in crate::spp) doubles: [bool; 2],
    /// Whether a capture is known to miss packets, by [`Point::index`](Point::index).
    pub(in crate::spp) misses: [bool; 2],
    /// After this time in flight a packet is given up.
    pub(in crate::spp) horizon: TimeDelta,
    /// First and last departure that arrived so far, by [`Way::index`]: both captures were
    /// running then.
    pub(in crate::spp) proven: [Option<(Timestamp, Timestamp)>; 2],
    /// A record of each capture after all that were dealt with, by
    /// [`Point::index`](Point::index).
    pub(in crate::spp) latest_record: [u64; 2],
}

impl Setting {
    /// `longest` is the longest one-way delay there may be.
    pub(in crate::spp) fn new(alignment: &Alignment, longest: TimeDelta) -> Self {
        Self {
            clock: alignment.clock.clone(),
            coarseness: alignment.clock.delay_error.coarseness(),
            spans: alignment.spans,
            max_owd: alignment.max_owd.map(|owd| owd.unwrap_or(longest)),
            doubles: alignment.doubles,
            misses: [false; 2],
            horizon: longest,
            proven: [None; 2],
            latest_record: [0; 2],
        }
    }

    /// Whether a packet that left at `at` and did not arrive may have passed the other point
    /// before its capture began or after it ended. What left between two packets that arrived
    /// was lost, whatever the delay.
    pub(in crate::spp) fn may_be_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().opposite().index()];
        // A coarse clock may show the same time for what left before and after.
        let off = self.coarseness;
        let is_proven = |(from, to)| from + off <= at && at + off <= to;
        let is_covered = first + off <= at && at + self.max_owd[way.index()] + off <= last;
        !is_covered && !self.proven[way.index()].is_some_and(is_proven)
    }

    /// How much earlier than it left a packet may seem to arrive on the timeline, which takes the
    /// middle of the offset's bounds while the clocks may be anywhere between them.
    pub(in crate::spp) fn slack(&self) -> TimeDelta {
        let offset = self.clock.offset();
        let apart = match (offset.lower, offset.upper) {
            (Some(lower), Some(upper)) => (upper - lower).max(TimeDelta::ZERO),
            _ => TimeDelta::ZERO,
        };
        let disorder = DISORDER + self.coarseness;
        disorder + TimeDelta::from_nanos(apart.as_nanos() / 2)
    }

    /// From when on what arrives of a flow was seen leaving at a point, by
    /// [`Point::index`]: at once where its capture shows how the flow began, never where it is
    /// guessed which way the flow goes.
    pub(in crate::spp) fn covered_from(&self, found: &Found) -> [Timestamp; 2] {
        Way::BOTH.map(|way| {
            let upstream = way.upstream().index();
            let longest = self.max_owd[way.index()];
            // The sample may not show the longest, and TCP sends again what it has sent before.
            let again = match found.flow.protocol {
                Protocol::Tcp => longest,
                Protocol::Udp => TimeDelta::ZERO,
            };
            match (found.way_is_known, found.began[upstream]) {
                (false, _) => Timestamp::MAX,
                (true, true) => Timestamp::MIN,
                (true, false) => self.spans[upstream].0 + longest + again,
            }
        })
    }

    /// Delays of packets that arrived at `at`, of a flow that is covered from then on.
    ///
    /// By the timeline's making the smallest delays of both ways are half of what the offset's
    /// bounds are apart; another half is left for its error, and a little where there is but one
    /// way. None is usual where another packet like the one that was seen may have left before the
    /// upstream capture began or after it ended.
    #[inline]
    pub(in crate::spp) fn usual_owds(
        &self,
        way: Way,
        at: Timestamp,
        covered_from: Timestamp,
    ) -> UsualOwds {
        let (_, last) = self.spans[way.upstream().index()];
        let offset = self.clock.offset();
        let smallest = match (offset.lower, offset.upper) {
            (Some(lower), Some(upper)) => TimeDelta::from_nanos((upper - lower).as_nanos() / 4),
            _ => -LITTLE,
        };
        let smallest = smallest - self.coarseness;
        let left_before = at < covered_from;
        let left_after = at - smallest > last;
        UsualOwds {
            least: smallest,
            most: self.horizon,
            slack: self.slack(),
            is_any: self.clock.offset_is_sure() && !left_before && !left_after,
        }
    }

    /// Whether a packet that arrived at `at` may have passed the first point before its capture
    /// began or after it ended.
    pub(in crate::spp) fn may_have_left_outside(&self, way: Way, at: Timestamp) -> bool {
        let (first, last) = self.spans[way.upstream().index()];
        at - self.max_owd[way.index()] < first || at - DISORDER - self.coarseness > last
    }

    /// The number of a record of which the lower half is known.
    pub(super) fn record(&self, point: Point, low: u32) -> u64 {
        whole(low, self.latest_record[point.index()])
    }
}

/// One-way delays that are no wonder, on the timeline.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct UsualOwds {
    least: TimeDelta,
    most: TimeDelta,
    /// How much earlier than it left a packet may seem to arrive.
    slack: TimeDelta,
    /// Whether there are any.
    is_any: bool,
}

impl UsualOwds {
    /// Whether a packet that left and arrived then took one of them.
    #[inline]
    pub(in crate::spp) fn include(&self, left: Timestamp, arrived: Timestamp) -> bool {
        self.is_any && self.least <= arrived - left
    }

    /// When a packet left at the latest that arrived then.
    #[inline]
    pub(in crate::spp) fn latest_departure(&self, arrived: Timestamp) -> Timestamp {
        arrived + self.slack
    }

    /// Whether what left then cannot arrive any more.
    #[inline]
    pub(in crate::spp) fn is_over(&self, left: Timestamp, arrived: Timestamp) -> bool {
        arrived - left > self.most
    }
}

/// Makes `span` reach `at`.
pub(in crate::spp) fn widen(span: &mut Option<(Timestamp, Timestamp)>, at: Timestamp) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}
