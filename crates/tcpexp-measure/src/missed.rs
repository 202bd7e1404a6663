//! Data that a capture missed.

use std::ops::AddAssign;

use tcpexp_flow::Holes;

/// Data that the flows of a capture acknowledge and that the capture never shows.
///
/// A lower bound, as for [`Holes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedData {
    /// Bytes of payload.
    pub bytes: u64,
    /// Further bytes of payload that the capture missed, or that were sent before the capture of their
    /// flow began.
    pub possible_bytes: u64,
    /// Directions of flows with such bytes.
    pub directions: u64,
}

impl MissedData {
    /// What the capture missed of one direction of a flow.
    pub fn of(holes: &Holes) -> Self {
        Self {
            bytes: holes.bytes(),
            possible_bytes: holes.possible_bytes(),
            directions: u64::from(!holes.is_empty()),
        }
    }
}

impl AddAssign for MissedData {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.possible_bytes += other.possible_bytes;
        self.directions += other.directions;
    }
}
