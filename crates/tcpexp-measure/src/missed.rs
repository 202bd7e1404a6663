//! Data and acknowledgments that a capture missed.

use std::ops::AddAssign;

use tcpexp_flow::{Holes, StreamOffset};

/// Sequence numbers that the sender may use without data that counts as sent: a FIN, or the byte of a window
/// probe that the receiver accepts (RFC 9293, section 3.8.6.1).
pub(crate) const UNCOUNTED_BYTES: i64 = 1;

/// True if `ack` shows that the capture missed data behind `nxt`, the end of the captured data.
#[inline]
pub(crate) fn has_missed_data(ack: StreamOffset, nxt: StreamOffset) -> bool {
    ack.since(nxt) > UNCOUNTED_BYTES
}

/// Data that the flows of a capture acknowledge and that the capture never shows, and acknowledgments
/// that only the answers to them show.
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
    /// Number of gaps between the ACKs of a flow: in each, the capture missed at least one ACK that reached
    /// the sender of the data.
    pub ack_gaps: u64,
}

impl MissedData {
    /// What the capture missed of one direction of a flow.
    pub fn of(holes: &Holes) -> Self {
        Self {
            bytes: holes.bytes(),
            possible_bytes: holes.possible_bytes(),
            directions: u64::from(!holes.is_empty()),
            ack_gaps: 0,
        }
    }
}

impl AddAssign for MissedData {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.possible_bytes += other.possible_bytes;
        self.directions += other.directions;
        self.ack_gaps += other.ack_gaps;
    }
}
