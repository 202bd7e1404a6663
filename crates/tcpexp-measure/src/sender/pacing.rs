//! Detects a sender that sends by its own clock instead of in response to ACKs.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum time from an ACK to the data sent in response.
const ANSWER: TimeDelta = TimeDelta::from_micros(300);
/// Packets less than this apart are one burst.
const BURST: TimeDelta = TimeDelta::from_micros(100);
/// Minimum number of bursts for a decision.
const MIN_PACKETS: u64 = 200;

/// Counts bursts sent in response to an ACK, and other bursts.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    acked_at: Option<Timestamp>,
    sent: Option<Timestamp>,
    answers: u64,
    unasked: u64,
}

impl Pacing {
    #[inline]
    pub(super) fn on_ack(&mut self, at: Timestamp) {
        self.acked_at = Some(at);
    }

    #[inline]
    pub(super) fn send(&mut self, at: Timestamp) {
        let is_burst = self.sent.is_some_and(|sent| at - sent < BURST);
        // A burst has one cause, so only its first packet counts.
        if !is_burst {
            if self.acked_at.is_some_and(|acked_at| at - acked_at < ANSWER) {
                self.answers += 1;
            } else {
                self.unasked += 1;
            }
        }
        self.sent = Some(at);
    }

    pub(super) fn is_paced(&self) -> bool {
        let total = self.answers + self.unasked;
        total >= MIN_PACKETS && self.unasked * 2 > total
    }

    /// True if nearly all bursts answer an ACK: no timer paces them.
    pub(super) fn is_clocked_by_acks(&self) -> bool {
        self.unasked * 10 < self.answers
    }
}
