//! Detection of data that a capture missed.

use crate::holes::Hole;
use crate::{FirstCopies, Holes, Segment, StreamOffset};

/// The data of one direction that was captured, and the data that the other end acknowledged.
///
/// A receiver acknowledges only data that it has (RFC 9293, section 3.4). The capture missed the bytes
/// that were acknowledged and never captured. If it has no SYN of the direction, it may have begun
/// within a recovery: then the first data is a retransmission, and the data above it was sent before.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    copies: FirstCopies,
    una: Option<StreamOffset>,
    /// One past the highest sequence number captured.
    nxt: Option<StreamOffset>,
    /// True if the first segment was a SYN.
    is_whole: bool,
}

impl Coverage {
    /// Adds a segment of this direction; returns the number of its payload bytes that were captured
    /// for the first time.
    #[inline]
    pub fn send(&mut self, segment: &Segment) -> u32 {
        let start = segment.payload_start();
        // A pure ACK before any data need not be where the stream begins.
        if segment.is_numbered() {
            if self.nxt.is_none() {
                self.is_whole = segment.flags.syn();
            }
            self.nxt = self.nxt.max(Some(segment.end()));
        }
        self.copies
            .take(start, start.plus(segment.seen.payload_bytes))
    }

    /// Adds an acknowledgment number from the other end.
    #[inline]
    pub fn acknowledge(&mut self, ack: StreamOffset) {
        self.una = self.una.max(Some(ack));
    }

    /// The bytes that the capture missed.
    pub fn missed(&self) -> Holes {
        match (self.nxt, self.una) {
            (Some(nxt), Some(una)) => missed(&self.copies, nxt, una, self.is_whole),
            _ => Holes::default(),
        }
    }
}

/// The largest window (RFC 7323, section 2.3): an ACK further ahead of the data is not of the
/// connection, and its sender ignores it (RFC 9293, section 3.10.7.4).
const MAX_WINDOW_BYTES: i64 = 1 << 30;

/// The bytes below `una` that were never captured. `nxt` is one past the highest sequence number
/// captured; `is_whole` is true if the SYN was captured.
pub(crate) fn missed(
    copies: &FirstCopies,
    nxt: StreamOffset,
    una: StreamOffset,
    is_whole: bool,
) -> Holes {
    if una.since(nxt) > MAX_WINDOW_BYTES {
        return Holes::default();
    }
    let mut holes = copies.holes_below(una);
    // The sequence number of a FIN is not payload, so `nxt` counts, and not the highest range.
    if nxt < una {
        holes.certain.push((nxt, una));
    }
    if !is_whole && let Some(began) = copies.began() {
        // What had been sent when the capture began is within a window of the first retransmission.
        let may_be_before = |hole: &Hole| hole.0.since(began) < MAX_WINDOW_BYTES;
        let certain = holes.certain.partition_point(may_be_before);
        let certain = holes.certain.split_off(certain);
        holes.possible = std::mem::replace(&mut holes.certain, certain);
    }
    holes
}
