//! CDG: Reno, but rising delays reduce the window too, at random.

use super::{Ack, Counter, MIN_THRESHOLD, Rule, per_1024};

/// Factor of a reduction at rising delay: sqrt(0.5), in 1/1024.
const BETA: u32 = 724;
/// Rate of such reductions: per microsecond of the summed gradient, in millionths.
const BACKOFF: f64 = 42e-6;
/// Number of round trips whose gradients are summed.
const WINDOW: usize = 8;
/// Reductions without effect on the delay after which Linux makes no more of them.
const INEFFECTIVE: u32 = 5;

/// Least part of the expected cuts that CDG makes. The replay of its chances is approximate: on
/// the development paths CDG made 0.44 of them or more, and the other controls none.
const LEAST_MADE_PART: f64 = 0.25;

#[derive(Clone, Debug, Default)]
pub(super) struct Cdg {
    counter: Counter,
    shadow: u32,
    end: i64,
    /// Least and greatest round-trip time of this round trip and of the one before.
    times_us: Option<(i64, i64)>,
    before_us: Option<(i64, i64)>,
    gradients: [i64; WINDOW],
    next: usize,
    expected: f64,
    made: f64,
    ineffective: u32,
}

impl Cdg {
    /// The chance that the control reduces the window after this round trip.
    fn chance(&mut self) -> f64 {
        let (Some(times), Some(before)) = (self.times_us, self.before_us) else {
            return 0.0;
        };
        self.gradients[self.next] = times.0 - before.0;
        self.next = (self.next + 1) % WINDOW;
        let sum: i64 = self.gradients.iter().sum();
        if sum <= -32 {
            self.ineffective = 0;
        }
        if sum <= 0 || self.ineffective > INEFFECTIVE {
            return 0.0;
        }
        1.0 - (-(sum as f64) * BACKOFF).exp()
    }
}

impl Rule for Cdg {
    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt_us) = ack.rtt_us {
            let (least, most) = self.times_us.unwrap_or((rtt_us, rtt_us));
            self.times_us = Some((least.min(rtt_us), most.max(rtt_us)));
        }
        if ack.is_open && ack.una > self.end {
            self.end = ack.nxt;
            self.expected += self.chance();
            self.before_us = self.times_us.take();
        }
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        let grown = self.counter.grow(cwnd, cwnd, ack.delivered);
        self.shadow = self.shadow.max(cwnd) + (grown - cwnd);
        grown
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        self.shadow = (self.shadow / 2).min(cwnd);
        self.shadow.max(cwnd / 2).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }

    fn cut(&mut self, cwnd: u32) -> Option<u32> {
        self.shadow = self.shadow.max(cwnd);
        self.made += 1.0;
        self.ineffective += 1;
        self.before_us = None;
        Some(per_1024(cwnd, BETA))
    }

    fn missed_cuts(&self) -> f64 {
        if self.made < self.expected * LEAST_MADE_PART {
            self.expected - self.made
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The missed cuts of CDG after `cuts` cuts, while the delay rises by 5 ms in most round trips.
    fn missed(cuts: u32) -> f64 {
        let mut cdg = Cdg::default();
        for round in 1..40 {
            cdg.observe(&Ack {
                rtt_us: Some(40_000 + 5_000 * (round % 8)),
                una: round * 10,
                nxt: (round + 1) * 10,
                is_open: true,
                ..Ack::default()
            });
        }
        for _ in 0..cuts {
            cdg.cut(20);
        }
        cdg.missed_cuts()
    }

    #[test]
    fn rising_delays_without_a_cut_are_not_cdg() {
        let none = missed(0);
        assert!(none > 2.0, "{none}");
        // Half of the expected cuts are enough.
        assert!(missed(cuts_of(none / 2.0)).abs() < 1e-9);
    }

    fn cuts_of(expected: f64) -> u32 {
        (1..100).find(|cuts| f64::from(*cuts) >= expected).unwrap()
    }
}
