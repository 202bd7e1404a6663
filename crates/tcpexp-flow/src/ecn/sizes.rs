//! The length of a sender's segments, if its own MSS option is below that of the data's receiver.
//!
//! Both options usually limit the segments, because a sender's own option follows from the MTU of its interface
//! (RFC 6691). But only the receiver's option is a limit (RFC 9293, section 3.7.1), and a packet that is longer
//! than the own option allows may be a super-packet of shorter segments or one segment.

use crate::StreamOffset;

/// The two lengths that the segments may have, until the data shows which one is right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Payload of a full segment by the shorter MSS option; `None` once the data has shown the length.
    shorter_bytes: Option<u32>,
    /// Payload of a full segment by the receiver's MSS option.
    longer_bytes: u32,
    /// End of the latest packet that may be one segment or several, until the byte counter covers it.
    until: Option<StreamOffset>,
    /// True if a packet was counted that may be one segment or several.
    is_unsure: bool,
}

impl Sizes {
    pub(super) fn new(shorter_bytes: u32, longer_bytes: u32) -> Self {
        Self {
            shorter_bytes: Some(shorter_bytes).filter(|bytes| *bytes < longer_bytes),
            longer_bytes,
            ..Self::default()
        }
    }

    /// True if the number of segments in some packets so far is uncertain.
    pub(super) fn are_unsure(&self) -> bool {
        self.is_unsure
    }

    /// True if the number of segments in some packets since the latest byte counter is uncertain.
    pub(super) fn are_latest_unsure(&self) -> bool {
        self.until.is_some()
    }

    /// Processes a packet that is longer than the shorter option allows and ends at `end`. Returns the payload of
    /// full segments if it is the longer one.
    pub(super) fn exceed(&mut self, payload_bytes: u32, end: StreamOffset) -> Option<u32> {
        let shorter_bytes = self.shorter_bytes?;
        if payload_bytes.is_multiple_of(self.longer_bytes) {
            self.shorter_bytes = None;
            return Some(self.longer_bytes);
        }
        if payload_bytes.is_multiple_of(shorter_bytes) {
            // All packets were counted as this length.
            *self = Self::default();
        } else {
            self.until = Some(end);
            self.is_unsure = true;
        }
        None
    }

    /// Processes an ACK with the byte counter, of the data before `ack`.
    pub(super) fn cover(&mut self, ack: StreamOffset) {
        self.until = self.until.filter(|until| *until > ack);
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    /// What packets with these payloads show, and whether some of them may be one segment or several.
    fn shown(payloads: &[u32]) -> (Option<u32>, bool) {
        let mut sizes = Sizes::new(1_448, 8_948);
        let end = StreamOffset::first(SeqNum(0));
        let shown = payloads
            .iter()
            .filter_map(|bytes| sizes.exceed(*bytes, end));
        (shown.last(), sizes.are_unsure())
    }

    #[test]
    fn a_full_packet_shows_which_option_limits_the_segments() {
        assert_eq!(shown(&[8_948, 5_000]), (Some(8_948), false));
        assert_eq!(shown(&[17_896]), (Some(8_948), false));
        assert_eq!(shown(&[2_896, 5_000, 8_948]), (None, false));
        assert_eq!(shown(&[14_480]), (None, false));
    }

    #[test]
    fn the_end_of_a_write_shows_no_length() {
        assert_eq!(shown(&[5_000]), (None, true));
        // It was a super-packet of shorter segments, as counted.
        assert_eq!(shown(&[5_000, 2_896]), (None, false));
        assert_eq!(shown(&[5_000, 8_948]), (Some(8_948), true));
    }
}
