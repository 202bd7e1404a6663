//! TCP-LP: Reno, but halves the window when the one-way delay shows other traffic.

use super::{Ack, Counter, Rule, halved};

/// Round trips for which the window stays after a cut.
const INFERENCE_ROUNDS: i64 = 3;

/// The time of a cut cannot be predicted: Linux computes one-way delays from timestamps with random
/// offsets, in 32 bits, and it never cuts if these numbers overflow. Without a cut, TCP-LP is Reno.
#[derive(Clone, Debug, Default)]
pub(super) struct Lp {
    counter: Counter,
    cut_us: Option<i64>,
    now_us: i64,
}

impl Rule for Lp {
    fn observe(&mut self, ack: &Ack) {
        self.now_us = ack.at_us;
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        let is_held = self
            .cut_us
            .is_some_and(|cut_us| ack.at_us - cut_us < INFERENCE_ROUNDS * ack.srtt_us);
        if is_held {
            return cwnd;
        }
        self.counter.grow(cwnd, cwnd, ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }

    fn cut(&mut self, cwnd: u32) -> Option<u32> {
        self.cut_us = Some(self.now_us);
        Some(halved(cwnd))
    }
}
