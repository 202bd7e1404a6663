//! Packets that bring nothing new: copies, probes, and what was overtaken.

use tcpexp_flow::{Segment, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

/// A copy of a packet that the capture has twice comes within this time.
const COPY_SPAN: TimeDelta = TimeDelta::from_millis(2);

/// By what a packet is known again that a capture has twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    at: Timestamp,
    start: StreamOffset,
    payload_bytes: u32,
    ip_id: Option<u16>,
    timestamps: Option<(u32, u32)>,
}

impl Mark {
    pub(super) fn of(segment: &Segment) -> Self {
        Self {
            at: segment.seen.at,
            start: segment.start,
            payload_bytes: segment.seen.payload_bytes,
            ip_id: segment.seen.ip_id,
            timestamps: segment.timestamps,
        }
    }

    /// Whether this is the data packet captured right before, once more.
    pub(super) fn is_copy_of(&self, latest: &Self) -> bool {
        let same = |mark: &Self| (mark.ip_id, mark.start, mark.payload_bytes, mark.timestamps);
        self.payload_bytes > 0
            && self.ip_id.is_some_and(|id| id != 0)
            && same(self) == same(latest)
            && self.at - latest.at < COPY_SPAN
    }
}

/// Whether `segment` sends nothing, but asks whether the other end is there: one byte that was
/// sent before (RFC 9293, section 3.8.4).
pub(super) fn is_keepalive(segment: &Segment, furthest: StreamOffset) -> bool {
    segment.seen.payload_bytes <= 1
        && !segment.flags.syn()
        && !segment.flags.fin()
        && furthest.since(segment.payload_start()) == 1
}

/// Timestamp and IPv4 identification of the packet that came furthest in the stream.
pub(super) type Newest = (Option<u32>, Option<u16>);

/// Whether `segment` left before the packet of which `newest` is: it was overtaken on its way.
pub(super) fn is_older(segment: &Segment, newest: Newest) -> bool {
    if let (Some(id), Some(newest)) = (segment.seen.ip_id, newest.1)
        && (id, newest) != (0, 0)
        && id != newest
    {
        return id.wrapping_sub(newest).cast_signed() < 0;
    }
    match (segment.timestamps, newest.0) {
        (Some((stamp, _)), Some(newest)) => stamp.wrapping_sub(newest).cast_signed() < 0,
        _ => false,
    }
}
