//! The state before a reduction without a loss, until the sender shows whether it reduced its window.

use tcpexp_flow::StreamOffset;

use super::Window;

/// The state before a reduction for which the capture shows neither a loss nor a mark. The sender may have reduced
/// its window because of delay, or may only wait for room in its send buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// The window before, in segments.
    cwnd: u32,
    ssthresh: Option<u32>,
    assumed_ssthresh: Option<u32>,
    noticed_ssthresh: Option<u32>,
    /// `snd_nxt` at the reduction, which is acknowledged one round trip later.
    until: StreamOffset,
}

impl Window {
    /// The state to restore if the reduction of a window of `cwnd` segments, with `una..nxt` outstanding, proves
    /// to be none.
    pub(super) fn doubt(&self, cwnd: u32, una: StreamOffset, nxt: StreamOffset) -> Doubt {
        let earlier = self.doubt.filter(|earlier| una < earlier.until);
        earlier.unwrap_or(Doubt {
            cwnd,
            ssthresh: self.ssthresh,
            assumed_ssthresh: self.assumed_ssthresh,
            noticed_ssthresh: self.noticed_ssthresh,
            until: nxt,
        })
    }

    /// Restores the threshold from before a reduction if the sender fills its earlier window within a round trip.
    /// After a reduction, which takes two segments or more, the window grows by one segment per round trip
    /// (RFC 5681, section 3.1).
    pub(super) fn resolve_doubt(&mut self, una: StreamOffset) {
        let Some(doubt) = self.doubt else {
            return;
        };
        if una >= doubt.until {
            self.doubt = None;
        } else if self.cwnd >= doubt.cwnd {
            self.ssthresh = doubt.ssthresh;
            self.assumed_ssthresh = doubt.assumed_ssthresh;
            self.noticed_ssthresh = doubt.noticed_ssthresh;
            self.doubt = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;
    use crate::sender::profile::Profile;
    use crate::sender::undecided::Reduced;

    fn at(bytes: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(1)).plus(bytes)
    }

    /// A window of 45 segments, its threshold too, after a reduction to 42 when 60,000 bytes are outstanding.
    fn reduced(is_bursty: bool, ssthresh: Option<u32>) -> Window {
        let mut window = Window::new(Profile::default(), 1448, is_bursty, true);
        window.settle(45);
        let reduced = Reduced {
            before: 45,
            cwnd: 42,
            ssthresh,
        };
        window.reduced(reduced, at(0), at(60_000));
        window
    }

    #[test]
    fn a_reduction_without_a_loss_leaves_the_threshold_unknown() {
        for is_bursty in [false, true] {
            for ssthresh in [None, Some(40)] {
                assert_eq!(reduced(is_bursty, ssthresh).known_ssthresh(), None);
            }
        }
    }

    #[test]
    fn a_window_filled_again_within_a_round_trip_keeps_its_threshold() {
        let known = |cwnd, una| {
            let mut window = reduced(false, Some(40));
            window.cwnd = cwnd;
            window.resolve_doubt(una);
            window.known_ssthresh()
        };
        assert_eq!(known(44, at(30_000)), None);
        assert_eq!(known(45, at(30_000)), Some(45));
        assert_eq!(known(45, at(60_000)), None);
    }

    #[test]
    fn of_two_reductions_in_a_round_trip_the_first_is_resolved() {
        let mut window = reduced(false, Some(40));
        let again = Reduced {
            before: 42,
            cwnd: 38,
            ssthresh: None,
        };
        window.reduced(again, at(30_000), at(80_000));
        window.cwnd = 43;
        window.resolve_doubt(at(40_000));
        assert_eq!(window.known_ssthresh(), None);
        window.cwnd = 45;
        window.resolve_doubt(at(50_000));
        assert_eq!(window.known_ssthresh(), Some(45));
    }
}
