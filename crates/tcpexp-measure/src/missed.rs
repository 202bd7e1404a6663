//! Data that a capture missed.

use std::ops::AddAssign;

use tcpexp_flow::Hole;

/// Data that the flows of a capture acknowledge and that the capture never shows.
///
/// A lower bound: lost packets that were captured as retransmissions, pure ACKs, and data without an
/// ACK leave no trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedData {
    /// Bytes of payload.
    pub bytes: u64,
    /// Directions of flows with such bytes.
    pub directions: u64,
}

impl MissedData {
    /// What one direction of a flow missed, in bytes.
    pub fn of(bytes: u64) -> Self {
        Self {
            bytes,
            directions: u64::from(bytes > 0),
        }
    }
}

impl AddAssign for MissedData {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.directions += other.directions;
    }
}

/// Number of bytes in the holes.
pub(crate) fn bytes_of(holes: &[Hole]) -> u64 {
    let lengths = holes.iter().map(|(start, end)| end.since(*start));
    lengths.sum::<i64>().max(0).cast_unsigned()
}
