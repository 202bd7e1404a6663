//! DCTCP: Reno, but reduces the window by the share of marked segments (RFC 8257).

use super::{Ack, Counter, MIN_THRESHOLD, Rule, halved};

/// A share of 1 in the fixed-point numbers of Linux (`DCTCP_MAX_ALPHA`), which is also the share that a
/// connection starts with (`dctcp_alpha_on_init`).
const ONE: u32 = 1024;
/// The weight of a new share is 1/16 (RFC 8257, section 4.2; `dctcp_shift_g`).
const GAIN_SHIFT: u32 = 4;

/// The estimate α is updated once per window.
#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    counter: Counter,
    alpha: u32,
    /// End of the window whose share is being counted.
    window_end: i64,
    acked: u32,
    marked: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self {
            counter: Counter::default(),
            alpha: ONE,
            window_end: 0,
            acked: 0,
            marked: 0,
        }
    }
}

impl Rule for Dctcp {
    fn observe(&mut self, ack: &Ack) {
        // Linux updates α before it counts the segments of this ACK (`tcp_in_ack_event`).
        if ack.una >= self.window_end {
            // The last bits below 1/16 go at once.
            let less = match self.alpha >> GAIN_SHIFT {
                0 => self.alpha,
                less => less,
            };
            let share = (self.marked << (10 - GAIN_SHIFT)) / self.acked.max(1);
            self.alpha = (self.alpha - less + share).min(ONE);
            self.window_end = ack.nxt;
            (self.acked, self.marked) = (0, 0);
        }
        self.acked += ack.delivered;
        self.marked += ack.marked.min(ack.segments);
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.counter.grow(cwnd, cwnd, ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }

    fn reduce_at_echo(&mut self, cwnd: u32) -> u32 {
        let less = u64::from(cwnd) * u64::from(self.alpha) / 2 / u64::from(ONE);
        (cwnd - u32::try_from(less).unwrap_or(0)).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threshold of a window of 64 segments, after `windows` windows with `marked` marked segments each.
    fn threshold(windows: i64, marked: u32) -> u32 {
        let mut dctcp = Dctcp::default();
        for window in 1..=windows {
            dctcp.observe(&Ack {
                segments: 64,
                delivered: 64,
                marked,
                una: window * 64,
                nxt: (window + 1) * 64,
                ..Ack::default()
            });
        }
        dctcp.reduce_at_echo(64)
    }

    #[test]
    fn the_reduction_is_half_of_the_share_of_marked_segments() {
        assert_eq!(threshold(200, 64), 32);
        assert_eq!(threshold(200, 16), 64 - 8);
        assert_eq!(threshold(200, 0), 64);
        // A new connection takes all segments to be marked.
        assert_eq!(threshold(1, 0), 34);
        assert_eq!(Dctcp::default().reduce(64), 32);
    }
}
