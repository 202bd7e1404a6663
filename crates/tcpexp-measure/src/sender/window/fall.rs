//! What an answer with less in flight than the answer before means: a smaller window, or a lack of data.

use super::{Beginning, Window};
use crate::sender::reduction::MOST_SILENT;
use crate::sender::undecided::is_deferral;

impl Window {
    /// True if only a lack of data lowers the pipe of a sender that answers each ACK: the window never
    /// falls in slow start, and no reduction in use takes more than half of it. The last segment of a
    /// write may be a full one.
    pub(super) fn falls_for_lack_of_data(&self, before: u32, pipe: u32) -> bool {
        self.never_falls() && !self.is_bursty && pipe < before || pipe < before / 2
    }

    /// True if an answered ACK leaves so much less in flight that either the window has shrunk, or the rest of a
    /// write was sent, which may end with a full segment.
    pub(super) fn may_lack_data(&self, before: u32, pipe: u32) -> bool {
        if self.is_bursty {
            // Outside slow start, the pipe of a sender that waits for room for a super-packet says too little.
            return self.never_falls() && pipe < before && !is_deferral(self.cwnd, pipe);
        }
        pipe + MOST_SILENT < before
    }

    /// True in slow start, if nothing before the capture has reduced the window.
    pub(super) fn never_falls(&self) -> bool {
        let in_slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        in_slow_start && self.start == Beginning::Seen
    }
}
