//! Detection of data that a capture missed.

use crate::{FirstCopies, Hole, Segment, StreamOffset};

/// The data of one direction that was captured, and the data that the other end acknowledged.
///
/// A receiver acknowledges only what it has (RFC 9293, section 3.4). Acknowledged data of which no
/// byte was ever captured was missed by the capture.
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

    /// The bytes that the capture missed, at least: see [`missed`].
    pub fn missed(&self) -> Vec<Hole> {
        match (self.nxt, self.una) {
            (Some(nxt), Some(una)) => missed(&self.copies, nxt, una),
            _ => Vec::new(),
        }
    }
}

/// The largest window (RFC 7323, section 2.3): an ACK further ahead of the data is not of the
/// connection, and its sender ignores it (RFC 9293, section 3.10.7.4).
const MAX_WINDOW_BYTES: i64 = 1 << 30;

/// The bytes below `una` that were never captured, in order. `nxt` is one past the highest sequence
/// number captured.
///
/// At least these: lost packets that were captured as retransmissions, and pure ACKs, leave no hole.
pub(crate) fn missed(copies: &FirstCopies, nxt: StreamOffset, una: StreamOffset) -> Vec<Hole> {
    if una.since(nxt) > MAX_WINDOW_BYTES {
        return Vec::new();
    }
    let mut holes = copies.holes_below(una);
    // The sequence number of a FIN is not payload, so `nxt` counts, and not the highest range.
    if nxt < una {
        holes.push((nxt, una));
    }
    holes
}
