//! Whether a sender sends by a clock of its own instead of when ACKs arrive.

use tcpexp_units::{TimeDelta, Timestamp};

/// An ACK's answer leaves within this time.
const ANSWER: TimeDelta = TimeDelta::from_micros(300);
/// Packets that leave so close together are one burst.
const BURST: TimeDelta = TimeDelta::from_micros(100);
/// Fewer packets tell nothing.
const LEAST_PACKETS: u64 = 200;

/// Counts what leaves without an ACK that caused it.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    heard: Option<Timestamp>,
    sent: Option<Timestamp>,
    answers: u64,
    unasked: u64,
}

impl Pacing {
    #[inline]
    pub(super) fn on_ack(&mut self, at: Timestamp) {
        self.heard = Some(at);
    }

    #[inline]
    pub(super) fn send(&mut self, at: Timestamp) {
        let is_burst = self.sent.is_some_and(|sent| at - sent < BURST);
        if !is_burst {
            if self.heard.is_some_and(|heard| at - heard < ANSWER) {
                self.answers += 1;
            } else {
                self.unasked += 1;
            }
        }
        self.sent = Some(at);
    }

    pub(super) fn is_paced(&self) -> bool {
        let total = self.answers + self.unasked;
        total >= LEAST_PACKETS && self.unasked * 2 > total
    }
}
