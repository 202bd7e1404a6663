//! H-TCP: the increase grows with the time since the last loss, the decrease follows the delay.

use super::{Ack, HZ, MIN_THRESHOLD, Rule, TICK_US};

/// One, in the fixed point of `tcp_htcp.c`.
const ONE: i64 = 1 << 7;
/// Least and greatest factor of a reduction: 0.5 and 0.8.
const BETAS: (i64, i64) = (1 << 6, 102);
/// Greatest rise of the maximum round-trip time at once.
const MAX_RISE: i64 = 20_000 / TICK_US;
/// Least round-trip time for an adaptive decrease: 10 ms, rounded up to ticks.
const MIN_ADAPTIVE: i64 = 3;

/// Times in timer ticks, as in Linux.
#[derive(Clone, Debug)]
pub(super) struct Htcp {
    alpha: i64,
    beta: i64,
    is_adaptive: bool,
    least_rtt: i64,
    most_rtt: i64,
    last_loss: i64,
    now: i64,
    count: i64,
    /// Throughput of each round trip, to detect a change of the bandwidth.
    segments: i64,
    since: i64,
    rate: i64,
    most_rate: i64,
    old_most_rate: i64,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            alpha: ONE,
            beta: BETAS.0,
            is_adaptive: false,
            least_rtt: 0,
            most_rtt: 0,
            last_loss: 0,
            now: 0,
            count: 0,
            segments: 0,
            since: 0,
            rate: 0,
            most_rate: 0,
            old_most_rate: 0,
        }
    }
}

impl Htcp {
    fn measure_rate(&mut self, ack: &Ack) {
        if !ack.was_open {
            self.segments = 0;
            self.since = self.now;
            return;
        }
        self.segments += i64::from(ack.segments);
        let span = self.now - self.since;
        let needed = i64::from(ack.in_flight) - (self.alpha >> 7).max(1);
        if self.segments < needed || span < self.least_rtt || span <= 0 || self.least_rtt == 0 {
            return;
        }
        let rate = self.segments * HZ / span;
        if (self.now - self.last_loss) / self.least_rtt <= 3 {
            self.rate = rate;
            self.most_rate = rate;
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.most_rate = self.most_rate.max(self.rate);
        }
        self.segments = 0;
        self.since = self.now;
    }

    fn update_alpha(&mut self) {
        let mut factor = 1;
        let late = self.now - self.last_loss - HZ;
        if late > 0 {
            factor += (10 * late + (late / 2) * (late / 2) / HZ) / HZ;
        }
        if self.least_rtt > 0 {
            // Scaled by the round-trip time to 100 ms, within 0.5 and 10.
            let scale = ((HZ << 3) / (10 * self.least_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = (2 * factor * (ONE - self.beta)).max(1);
    }

    fn update_beta(&mut self) {
        let (new, old) = (self.most_rate, self.old_most_rate);
        self.old_most_rate = new;
        // The bandwidth changed by more than a fifth.
        if 5 * new < 4 * old || 5 * new > 6 * old {
            self.beta = BETAS.0;
            self.is_adaptive = false;
        } else if self.is_adaptive && self.least_rtt > MIN_ADAPTIVE && self.most_rtt > 0 {
            self.beta = ((self.least_rtt << 7) / self.most_rtt).clamp(BETAS.0, BETAS.1);
        } else {
            self.beta = BETAS.0;
            self.is_adaptive = true;
        }
    }
}

impl Rule for Htcp {
    fn observe(&mut self, ack: &Ack) {
        self.now = ack.at_us / TICK_US;
        if let Some(rtt_us) = ack.rtt_us {
            let rtt = (rtt_us + TICK_US - 1) / TICK_US;
            if self.least_rtt == 0 || rtt < self.least_rtt {
                self.least_rtt = rtt;
            }
            if ack.was_open {
                self.most_rtt = self.most_rtt.max(self.least_rtt);
                if rtt > self.most_rtt && rtt <= self.most_rtt + MAX_RISE {
                    self.most_rtt = rtt;
                }
            }
        }
        self.measure_rate(ack);
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        if (self.count * self.alpha) >> 7 < i64::from(cwnd) {
            // Linux counts the segments of ACKs outside of recoveries, and one for another ACK.
            self.count += if ack.was_open {
                i64::from(ack.segments)
            } else {
                1
            };
            return cwnd;
        }
        self.count = 0;
        self.update_alpha();
        cwnd + 1
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        self.update_beta();
        self.update_alpha();
        if self.most_rtt > self.least_rtt {
            // The maximum fades, in case the path has changed.
            self.most_rtt = self.least_rtt + (self.most_rtt - self.least_rtt) * 95 / 100;
        }
        let threshold = (i64::from(cwnd) * self.beta) >> 7;
        u32::try_from(threshold)
            .unwrap_or(u32::MAX)
            .max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.last_loss = self.now;
        self.count = 0;
    }
}
