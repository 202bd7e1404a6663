//! The smallest one-way delay of each way.

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

/// The smallest one-way delays, indexed by [`PathDirection::index`](crate::spp::PathDirection::index);
/// `None` without packets.
pub type LeastDelays = [Option<LeastDelay>; 2];

/// The smallest one-way delay of a way; of equal delays, that of the earliest packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeastDelay {
    /// The delay on the timeline.
    pub delay: TimeDelta,
    /// Times of the packet at both points, on the timeline of the matching, by
    /// [`Point::index`](crate::spp::Point::index).
    pub times: [Timestamp; 2],
}

/// Returns the smaller of two delays, or the one that is known.
#[inline]
pub(crate) fn lesser(a: Option<LeastDelay>, b: Option<LeastDelay>) -> Option<LeastDelay> {
    // `Option::min` would prefer `None`.
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}
