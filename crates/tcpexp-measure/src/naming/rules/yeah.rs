//! `YeAH`: Scalable TCP without a queue, Reno with one; empties long queues.

use super::aimd::SCALABLE_COUNT;
use super::round::{Round, excess};
use super::{Ack, Counter, MIN_THRESHOLD, Rule};

/// Greatest queue in segments.
const MOST_QUEUED: u32 = 80;
/// Greatest part of the minimum round-trip time that counts as no queue.
const DELAY_PART: i64 = 8;
/// Round trips with a queue from which losses are those of Reno flows beside it.
const COMPETITION_ROUNDS: u32 = 16;
/// Round trips without a queue after which the other flows are gone.
const FREE_ROUNDS: u32 = 50;

#[derive(Clone, Debug)]
pub(super) struct Yeah {
    round: Round,
    counter: Counter,
    queued: u32,
    reno_rounds: u32,
    reno_cwnd: u32,
    fast_rounds: u32,
    nxt: i64,
}

impl Default for Yeah {
    fn default() -> Self {
        Self {
            round: Round::default(),
            counter: Counter::default(),
            queued: 0,
            reno_rounds: 0,
            reno_cwnd: 2,
            fast_rounds: 0,
            nxt: 0,
        }
    }
}

impl Yeah {
    fn judge(&mut self, cwnd: u32, rtt_us: i64, base_us: i64) -> u32 {
        let mut cwnd = cwnd;
        let queued = excess(cwnd, rtt_us, base_us);
        if queued > MOST_QUEUED || rtt_us - base_us > base_us / DELAY_PART {
            if queued > MOST_QUEUED && cwnd > self.reno_cwnd {
                cwnd = (cwnd - queued.min(cwnd / 2)).max(self.reno_cwnd);
            }
            if self.reno_cwnd <= 2 {
                self.reno_cwnd = (cwnd / 2).max(2);
            } else {
                self.reno_cwnd += 1;
            }
            self.reno_rounds += 1;
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > FREE_ROUNDS {
                self.reno_cwnd = 2;
                self.fast_rounds = 0;
            }
            self.reno_rounds = 0;
        }
        self.queued = queued;
        cwnd
    }

    /// Judges the queue at the end of a round trip. Returns the window.
    fn end_round(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        if !self.round.is_over(ack) {
            return cwnd;
        }
        let times = self.round.times_us();
        self.round.clear();
        times.map_or(cwnd, |(rtt_us, base_us)| self.judge(cwnd, rtt_us, base_us))
    }
}

impl Rule for Yeah {
    fn observe(&mut self, ack: &Ack) {
        self.nxt = ack.nxt;
        self.round.observe(ack);
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        let every = if self.reno_rounds == 0 {
            cwnd.min(SCALABLE_COUNT)
        } else {
            cwnd
        };
        let cwnd = self.counter.grow(cwnd, every, ack.delivered);
        self.end_round(cwnd, ack)
    }

    fn start(&mut self, cwnd: u32, ack: &Ack) {
        // Linux grows the window first.
        self.end_round(cwnd + ack.delivered, ack);
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        let half = (cwnd / 2).max(2);
        let less = if self.reno_rounds < COMPETITION_ROUNDS {
            self.queued.min(half).max(cwnd / 8)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_cwnd = (self.reno_cwnd / 2).max(2);
        cwnd.saturating_sub(less).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.round.restart(self.nxt);
        self.counter.reset();
    }
}
