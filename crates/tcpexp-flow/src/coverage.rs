//! Detection of data that a capture missed.

use crate::{FirstCopies, Holes, Segment, StreamOffset};

/// The data of one direction that was captured, and the data that the other end acknowledged.
///
/// A receiver acknowledges only data that it has (RFC 9293, section 3.4). The capture missed the bytes
/// that were acknowledged and never captured.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    copies: FirstCopies,
    una: Option<StreamOffset>,
    /// One past the highest sequence number captured.
    nxt: Option<StreamOffset>,
}

impl Coverage {
    /// Adds a segment of this direction; returns the number of its payload bytes that were captured
    /// for the first time.
    #[inline]
    pub fn send(&mut self, segment: &Segment) -> u32 {
        let start = segment.payload_start();
        // A pure ACK before any data need not be where the stream begins.
        if segment.is_numbered() {
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
            (Some(nxt), Some(una)) => missed(&self.copies, nxt, una),
            _ => Holes::default(),
        }
    }
}

/// The largest window (RFC 7323, section 2.3): an ACK further ahead of the data is not of the
/// connection, and its sender ignores it (RFC 9293, section 3.10.7.4).
const MAX_WINDOW_BYTES: i64 = 1 << 30;

/// The bytes below `una` that were never captured. `nxt` is one past the highest sequence number
/// captured.
pub(crate) fn missed(copies: &FirstCopies, nxt: StreamOffset, una: StreamOffset) -> Holes {
    if una.since(nxt) > MAX_WINDOW_BYTES {
        return Holes::default();
    }
    let mut holes = copies.holes_below(una);
    // The sequence number of a FIN is not payload, so `nxt` counts, and not the highest range.
    if nxt < una {
        holes.certain.push((nxt, una));
    }
    holes
}
