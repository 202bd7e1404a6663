//! Veno: Reno, but slower with a queue, and a smaller reduction without one.

use super::round::Round;
use super::{Ack, Counter, MIN_THRESHOLD, Rule, halved};

/// Number of queued segments from which losses count as congestion, in halves (`beta`).
const QUEUED_HALVES: i64 = 6;

#[derive(Clone, Debug, Default)]
pub(super) struct Veno {
    round: Round,
    /// Segments counted while congested, when the window grows every second time.
    count: u32,
    skips: bool,
    queued_halves: i64,
}

impl Rule for Veno {
    fn observe(&mut self, ack: &Ack) {
        self.round.observe(ack);
    }

    fn start(&mut self, cwnd: u32, _ack: &Ack) {
        // Unlike Vegas, Linux takes the sample of each ACK; the minimum is reset each time.
        if let Some((rtt_us, base_us)) = self.round.times_us() {
            let doubled = 2 * i64::from(cwnd);
            self.queued_halves = doubled - doubled * base_us / rtt_us;
        }
        self.round.least_us = None;
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.start(cwnd, ack);
        if self.queued_halves < QUEUED_HALVES {
            let mut counter = Counter(self.count);
            let cwnd = counter.grow(cwnd, cwnd, ack.delivered);
            self.count = counter.0;
            return cwnd;
        }
        if self.count < cwnd {
            self.count += ack.delivered;
            return cwnd;
        }
        self.count = 0;
        self.skips = !self.skips;
        cwnd + u32::from(self.skips)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        if self.queued_halves < QUEUED_HALVES {
            (cwnd * 4 / 5).max(MIN_THRESHOLD)
        } else {
            halved(cwnd)
        }
    }

    fn begin(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threshold after slow start up to 80 segments, with this round-trip time at the end.
    fn threshold(last_us: i64) -> u32 {
        let mut veno = Veno::default();
        for rtt_us in [40_000, 40_000, 40_000, last_us] {
            let ack = Ack {
                rtt_us: Some(rtt_us),
                ..Ack::default()
            };
            veno.observe(&ack);
            veno.start(80, &ack);
        }
        veno.reduce(80)
    }

    #[test]
    fn the_queue_of_slow_start_decides_the_first_reduction() {
        assert_eq!(threshold(40_000), 64);
        assert_eq!(threshold(60_000), 40);
    }
}
