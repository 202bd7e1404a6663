//! Illinois: the queueing delay sets the increase and the decrease.

use super::{Ack, Duplicate, MIN_THRESHOLD, Rule};

/// Increase in 1/128: minimum 0.3, base 1, maximum 10.
const ALPHAS: (i64, i64, i64) = (38, 128, 1_280);
/// Decrease in 1/64: minimum 1/8, maximum (and base) 1/2.
const BETAS: (i64, i64) = (8, 32);
/// Below this window, Illinois is Reno.
const MIN_WINDOW: u32 = 15;
/// Round trips without delay before the increase is maximal again.
const LOW_ROUNDS: u32 = 5;

#[derive(Clone, Debug)]
pub(super) struct Illinois {
    alpha: i64,
    beta: i64,
    base_us: Option<i64>,
    most_us: i64,
    sum_us: i64,
    samples: i64,
    end: i64,
    was_above: bool,
    low_rounds: u32,
    count: i64,
}

impl Default for Illinois {
    fn default() -> Self {
        Self {
            alpha: ALPHAS.2,
            beta: BETAS.1,
            base_us: None,
            most_us: 0,
            sum_us: 0,
            samples: 0,
            end: 0,
            was_above: false,
            low_rounds: 0,
            count: 0,
        }
    }
}

impl Illinois {
    fn measure(&mut self, rtt_us: Option<i64>) {
        if let Some(rtt_us) = rtt_us {
            self.base_us = Some(self.base_us.map_or(rtt_us, |base| base.min(rtt_us)));
            self.most_us = self.most_us.max(rtt_us);
            self.sum_us += rtt_us;
            self.samples += 1;
        }
    }

    fn update(&mut self, cwnd: u32) {
        if cwnd < MIN_WINDOW {
            self.alpha = ALPHAS.1;
            self.beta = BETAS.1;
        } else if let (Some(base_us), true) = (self.base_us, self.samples > 0) {
            let most = self.most_us - base_us;
            let mean = self.sum_us / self.samples - base_us;
            self.alpha = self.alpha(mean, most);
            self.beta = beta(mean, most);
        }
        self.sum_us = 0;
        self.samples = 0;
    }

    fn alpha(&mut self, mean: i64, most: i64) -> i64 {
        let low = most / 100;
        if mean <= low {
            if !self.was_above {
                return ALPHAS.2;
            }
            self.low_rounds += 1;
            if self.low_rounds < LOW_ROUNDS {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_above = false;
            return ALPHAS.2;
        }
        self.was_above = true;
        let (most, mean) = (most - low, mean - low);
        most * ALPHAS.2 / (most + mean * (ALPHAS.2 - ALPHAS.0) / ALPHAS.0).max(1)
    }
}

fn beta(mean: i64, most: i64) -> i64 {
    let (low, high) = (most / 10, most * 8 / 10);
    if mean <= low {
        return BETAS.0;
    }
    if mean >= high || high <= low {
        return BETAS.1;
    }
    (BETAS.0 * high - BETAS.1 * low + (BETAS.1 - BETAS.0) * mean) / (high - low)
}

impl Rule for Illinois {
    fn observe_duplicate(&mut self, ack: &Duplicate) {
        self.measure(ack.rtt_us);
    }

    fn observe(&mut self, ack: &Ack) {
        self.measure(ack.rtt_us);
        // The parameters follow the delay in slow start too.
        if ack.is_open && ack.una > self.end {
            self.end = ack.nxt;
            self.update(ack.in_flight);
        }
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.count += i64::from(ack.segments);
        let delta = (self.count * self.alpha) >> 7;
        if delta < i64::from(cwnd) {
            return cwnd;
        }
        self.count = 0;
        cwnd + u32::try_from(delta / i64::from(cwnd.max(1))).unwrap_or(0)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        let less = (i64::from(cwnd) * self.beta) >> 6;
        cwnd.saturating_sub(u32::try_from(less).unwrap_or(0))
            .max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.count = 0;
    }

    fn time_out(&mut self) {
        self.alpha = ALPHAS.1;
        self.beta = BETAS.1;
        self.was_above = false;
        self.low_rounds = 0;
        self.sum_us = 0;
        self.samples = 0;
    }
}
