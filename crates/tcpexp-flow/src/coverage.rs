//! Detection of data that a capture missed.

use crate::holes::Hole;
use crate::{FirstCopies, Holes, MAX_WINDOW_BYTES, Segment, StreamOffset};

/// The data of one direction that was captured, and the data that the other end acknowledged.
///
/// A receiver acknowledges only data that it has (RFC 9293, section 3.4). The capture missed the bytes
/// that were acknowledged and never captured, unless they were sent before the capture began.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    copies: FirstCopies,
    una: Option<StreamOffset>,
    /// One past the highest sequence number captured.
    nxt: Option<StreamOffset>,
    beginning: Beginning,
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
                self.beginning.send(segment);
            }
            self.nxt = self.nxt.max(Some(segment.end()));
        }
        // A keep-alive of an end that has sent no data (RFC 9293, section 3.8.4).
        if self.beginning.is_syn(start) && !self.copies.has_any() {
            return 0;
        }
        self.copies
            .take(start, start.plus(segment.seen.payload_bytes))
    }

    /// Adds an acknowledgment number from the other end, and its segment.
    #[inline]
    pub fn acknowledge(&mut self, ack: StreamOffset, segment: &Segment) {
        self.beginning.acknowledge(ack, segment, &self.copies);
        self.una = self.una.max(Some(ack));
    }

    /// The bytes that the capture missed.
    pub fn missed(&self) -> Holes {
        match (self.nxt, self.una) {
            (Some(nxt), Some(una)) => missed(&self.copies, nxt, una, self.beginning),
            _ => Holes::default(),
        }
    }
}

/// The bytes below `una` that were never captured. `nxt` is one past the highest sequence number
/// captured.
pub(crate) fn missed(
    copies: &FirstCopies,
    nxt: StreamOffset,
    una: StreamOffset,
    beginning: Beginning,
) -> Holes {
    // An ACK further ahead of the data is not of the connection, and its sender ignores it (RFC 9293,
    // section 3.10.7.4).
    if una.since(nxt) > MAX_WINDOW_BYTES {
        return Holes::default();
    }
    let mut holes = copies.holes_below(una);
    // The sequence number of a FIN is not payload, so `nxt` counts, and not the highest range.
    if nxt < una {
        holes.certain.push((nxt, una));
    }
    let may_be_before = |hole: &Hole| beginning.0.is_none_or(|from| hole.0 < from);
    let certain = holes.certain.partition_point(may_be_before);
    let certain = holes.certain.split_off(certain);
    holes.possible = std::mem::replace(&mut holes.certain, certain);
    holes
}

/// Offset from which all data was sent after the capture of the flow began.
///
/// A capture without the SYN may begin within a recovery: then its first data is a retransmission, and
/// the data above it was sent before. A receiver that has data above a gap reports it in SACK blocks
/// (RFC 2018, section 4). So an ACK of captured data without blocks shows that all data above it
/// arrived later, and was sent after the captured data, unless packets overtake each other.
///
/// A receiver without SACK reports nothing, and a capture may cut the blocks off. Then the captured data
/// can be a retransmission only if at least [`RUN_BYTES`] in a row were lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beginning(Option<StreamOffset>);

/// Number of captured bytes in a row before an ACK: with segments of 1448 bytes, 45 of them. The longest
/// run of lost data in 19 captures with full queues and random losses has 17 packets.
const RUN_BYTES: i64 = 65_536;

impl Beginning {
    /// Adds the first segment of the stream that takes a sequence number.
    pub(crate) fn send(&mut self, segment: &Segment) {
        self.0 = segment.flags.syn().then_some(segment.start);
    }

    /// True if the stream's SYN was captured and has this sequence number, the only one below the first
    /// byte.
    pub(crate) fn is_syn(self, start: StreamOffset) -> bool {
        self.0 == Some(start)
    }

    /// True if the capture of the stream is known to begin at some byte.
    pub(crate) fn is_known(self) -> bool {
        self.0.is_some()
    }

    /// Adds an acknowledgment number from the other end, and its segment.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        ack: StreamOffset,
        segment: &Segment,
        copies: &FirstCopies,
    ) {
        if self.0.is_none()
            && segment.sack_block_count() == 0
            && copies.has_run_before(ack, RUN_BYTES)
        {
            self.0 = Some(ack);
        }
    }
}
