//! One packet at one point.

use tcpexp_flow::{Direction, FlowId, Slot};
use tcpexp_units::Timestamp;

use super::mark::Mark;
use crate::spp::crossing::Way;

/// One packet at one point, reduced to what matching needs.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Sighting {
    /// When, on the common timeline.
    pub(in crate::spp) at: Timestamp,
    /// When, on the point's own clock.
    pub(in crate::spp) time: Timestamp,
    /// Which stretch between clock steps.
    pub(in crate::spp) piece: u16,
    /// Lower half of the record's number in its capture: there is room for no more.
    pub(in crate::spp) record: u32,
    /// Bytes of all headers from IP on.
    pub(in crate::spp) header_bytes: u16,
    /// Where the point's flow table keeps the flow.
    pub(in crate::spp) slot: Slot,
    /// Which way it goes in its flow, as the point's flow table sees it.
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) mark: Mark,
}

/// A sighting of a flow that is known at both points.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Event {
    pub(in crate::spp) flow: FlowId,
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) way: Way,
    pub(in crate::spp) sighting: Sighting,
}

/// The number that ends in `low` and is not above `latest`: nothing is in flight for as long as it
/// takes to count to 2^32.
pub(in crate::spp) fn whole(low: u32, latest: u64) -> u64 {
    latest.wrapping_sub(u64::from(low_half(latest).wrapping_sub(low)))
}

/// The lower 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "`whole` puts the upper half back"
)]
pub(in crate::spp) const fn low_half(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn number_is_whole_again_as_long_as_fewer_than_2_to_the_32_follow(number in 0..u64::MAX / 2, later: u32) {
            prop_assert_eq!(whole(low_half(number), number + u64::from(later)), number);
        }
    }
}
