//! Connections that go on after a RST.

use crate::StreamOffset;

/// What the two ends sent after a RST.
///
/// An end ignores a RST that is not at `RCV.NXT`, as that of an attacker or of an earlier connection
/// (RFC 5961, section 3.2; RFC 9293, figures 9 and 10). A host that has reset a connection acknowledges
/// nothing more, and sends nothing after an answer to its data.
#[derive(Clone, Copy, Debug, Default)]
pub struct AfterReset {
    /// Start of the first segment with a sequence number that the other end sent.
    other_start: Option<StreamOffset>,
    /// Start of the first segment with a sequence number in the direction of the RST. It may have been sent
    /// before the RST, if the path reordered them.
    own_start: Option<StreamOffset>,
    /// Acknowledgment of that segment.
    own_acked: Option<StreamOffset>,
}

impl AfterReset {
    /// Processes a later segment; returns true if it shows that the RST ended nothing. `start` is its first
    /// sequence number, `None` if it takes none, and `is_own` is true in the direction of the RST.
    #[cold]
    pub fn is_refuted_by(
        &mut self,
        is_own: bool,
        start: Option<StreamOffset>,
        ack: Option<StreamOffset>,
    ) -> bool {
        let is_above = |ack: Option<StreamOffset>, start: Option<StreamOffset>| {
            start.is_some_and(|start| ack > Some(start))
        };
        if !is_own {
            self.other_start = self.other_start.or(start);
            if is_above(ack, self.own_start) {
                self.own_acked = ack;
            }
            return false;
        }
        let goes_on = self.own_acked.is_some() && start >= self.own_acked;
        self.own_start = self.own_start.or(start);
        goes_on || is_above(ack, self.other_start)
    }
}
