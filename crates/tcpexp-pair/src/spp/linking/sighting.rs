//! One packet at one point.

use tcpexp_flow::{Direction, FlowId, Slot};
use tcpexp_units::Timestamp;
use tcpexp_wire::Ecn;

use super::mark::Mark;
use crate::spp::crossing::PathDirection;

/// One packet at one point, reduced to what matching needs.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Sighting {
    /// Time on the common timeline.
    pub(in crate::spp) at: Timestamp,
    /// Time on the clock of the point.
    pub(in crate::spp) time: Timestamp,
    /// Number of clock steps before the packet.
    pub(in crate::spp) piece: u16,
    /// Lower half of the record number; the upper half is left out to save space.
    pub(in crate::spp) record: u32,
    /// See [`Sighted::moved`](tcpexp_flow::Sighted::moved). Takes 2 bytes, where a place takes 4.
    pub(in crate::spp) moved: i16,
    /// Bytes of all headers from the IP header on.
    pub(in crate::spp) header_bytes: u16,
    /// The ECN field.
    pub(in crate::spp) ecn: Ecn,
    /// Slot of the flow in the point's flow table.
    pub(in crate::spp) slot: Slot,
    /// Direction of the packet in the point's flow table.
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) mark: Mark,
}

impl Sighting {
    /// Lower half of its place in the order of the capture; see
    /// [`Sighted::place`](tcpexp_flow::Sighted::place).
    #[inline]
    pub(in crate::spp) fn place(&self) -> u32 {
        self.record.wrapping_add_signed(self.moved.into())
    }
}

/// A sighting of a flow found at both points.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Event {
    pub(in crate::spp) flow: FlowId,
    pub(in crate::spp) direction: Direction,
    pub(in crate::spp) path_direction: PathDirection,
    pub(in crate::spp) sighting: Sighting,
}

impl Event {
    /// True if only their times distinguish the two packets.
    pub(in crate::spp) fn is_identical(&self, other: &Self) -> bool {
        self.flow == other.flow && self.sighting.mark.digest == other.sighting.mark.digest
    }
}

/// The largest number not above `latest` whose lower half is `low`. No packet stays in flight for
/// 2^32 records.
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
        fn record_number_is_restored_within_2_to_the_32_records(number in 0..u64::MAX / 2, later: u32) {
            prop_assert_eq!(whole(low_half(number), number + u64::from(later)), number);
        }
    }
}
