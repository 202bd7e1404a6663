//! Vegas: holds between two and four segments in the queue.

use super::round::Round;
use super::{Ack, Counter, Rule, halved};

/// Least and greatest number of queued segments (`alpha` and `beta`).
const QUEUED: (i64, i64) = (2, 4);

#[derive(Clone, Debug, Default)]
pub(super) struct Vegas {
    round: Round,
    counter: Counter,
    nxt: i64,
}

impl Rule for Vegas {
    fn observe(&mut self, ack: &Ack) {
        self.nxt = ack.nxt;
        self.round.observe(ack);
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        if !self.round.is_over(ack) {
            return cwnd;
        }
        let times = self.round.times_us();
        self.round.clear();
        let Some((rtt_us, base_us)) = times else {
            return self.counter.grow(cwnd, cwnd, ack.delivered);
        };
        let queued = i64::from(cwnd) * (rtt_us - base_us) / base_us;
        if queued > QUEUED.1 {
            cwnd.saturating_sub(1).max(2)
        } else if queued < QUEUED.0 {
            cwnd + 1
        } else {
            cwnd
        }
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }

    fn begin(&mut self) {
        self.round.restart(self.nxt);
    }
}
