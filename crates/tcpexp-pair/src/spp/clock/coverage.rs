//! The times at which packets show the clocks.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::spp::point::Point;

/// The coverage extends beyond the first and the last sampled packet by this share of the time between them. A
/// full sample (16,384 packets) has sixteen packets in that time.
const BESIDE_SHARE: i64 = 1_024;

/// The times at which packets show the clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coverage {
    first: Timestamp,
    last: Timestamp,
}

/// A time at which no packet shows the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncovered {
    /// Before the packets that the clocks are estimated from.
    Before,
    /// After these packets.
    After,
}

impl Coverage {
    /// Coverage of clocks that are known at all times.
    pub(super) const ALWAYS: Self = Self {
        first: Timestamp::MIN,
        last: Timestamp::MAX,
    };

    /// Coverage by packets that pass the source between these times.
    pub(super) fn between(first: Timestamp, last: Timestamp) -> Self {
        let beside = TimeDelta::from_nanos((last - first).as_nanos() / BESIDE_SHARE);
        Self {
            first: first - beside,
            last: last + beside,
        }
    }

    /// Returns where a packet is that passes the points at `times`, by [`Point::index`], on the timeline; `None`
    /// within the coverage.
    #[inline]
    pub(crate) fn excluded(self, times: [Timestamp; 2]) -> Option<Uncovered> {
        let at = times[Point::Src.index()];
        if at < self.first {
            Some(Uncovered::Before)
        } else if at > self.last {
            Some(Uncovered::After)
        } else {
            None
        }
    }
}
