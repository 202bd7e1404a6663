//! The window while nothing shows it: after a reduction of unknown size, behind missed packets, or after a
//! growth of unknown size.

use super::round::ROUNDING_SEGMENTS;
use super::silence::Silence;
use super::{Beginning, Window};

impl Window {
    /// True if nothing has shown the window since a reduction of unknown size.
    pub(in crate::sender) fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// True if the window may have grown by an unknown number of segments since the sender last filled it.
    pub(in crate::sender) fn is_unsure(&self) -> bool {
        self.unsure > ROUNDING_SEGMENTS
    }

    /// Ends a recovery that shows neither the window nor the threshold, with `pipe` segments in the
    /// network. The replay goes on from half of the window, the usual least factor.
    pub(in crate::sender) fn hide(&mut self, pipe: u32) {
        self.settle_unfilled((self.cwnd / 2).max(pipe));
        self.set_least(self.cwnd);
        self.assumed_ssthresh = self.ssthresh;
        self.is_hidden = true;
    }

    /// Continues behind packets that the capture missed, which may have grown or reduced the window and set
    /// another threshold.
    pub(in crate::sender) fn lose_sight(&mut self) {
        self.is_hidden = true;
        self.is_filled = false;
        self.set_least(0);
        self.ssthresh = None;
        self.forget_origin();
        if self.start == Beginning::Seen {
            self.start = Beginning::Shown;
        }
        self.increase.forget();
        self.answered = None;
        self.silence = Silence::default();
        self.rounds.interrupt();
    }

    /// Ends the recovery of a timeout. The window is at least `cwnd`; the next answer that fills it shows how far the
    /// latest ACKs have grown it.
    pub(in crate::sender) fn await_fill(&mut self) {
        self.is_hidden = true;
        self.answered = Some(self.cwnd);
    }

    /// Goes on from a timeout in a window that the capture does not show, so that nothing bounds the threshold
    /// unless it is set.
    pub(in crate::sender) fn miss_threshold(&mut self) {
        if self.ssthresh.is_none() {
            self.start = Beginning::Shown;
        }
    }

    /// Something other than the replay shows the window.
    pub(super) fn show(&mut self) {
        self.is_hidden = false;
        self.unsure = 0;
    }
}
