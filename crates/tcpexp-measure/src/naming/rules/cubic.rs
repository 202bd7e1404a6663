//! CUBIC (RFC 9438), with fast convergence and the Reno-friendly region.

use super::{Ack, Counter, REFRESH_US, Rule, per_1024, per_2048};

/// β = 0.7, in 1/1024.
const BETA: u32 = 717;
/// C = 0.4 in Linux's units: `bic_scale` · 10.
const SCALE: u64 = 410;
/// Round-trip times within the first second of an epoch do not count as minimum.
const SETTLE_US: i64 = 1_000_000;
/// Acknowledged segments per segment of the Reno-friendly window, in eighths of the window:
/// 8 (1 + β) / 3 (1 − β), in integers.
const FRIENDLY: u32 = 15;
/// Acknowledged segments per segment before the first loss: 5 % per round trip.
const SLOWEST_UNLOST: u32 = 20;
/// Acknowledged segments per segment at most speed: half the window per round trip.
const FASTEST: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    counter: Counter,
    every: u32,
    last_max: u32,
    last_cwnd: u32,
    last_us: i64,
    epoch_us: Option<i64>,
    origin: u32,
    /// K in 1/1024 s.
    k: u64,
    least_rtt_us: Option<i64>,
    acked: u32,
    reno_cwnd: u32,
}

impl Cubic {
    fn update(&mut self, cwnd: u32, ack: &Ack) {
        self.acked += ack.delivered;
        if self.last_cwnd == cwnd && ack.at_us - self.last_us <= REFRESH_US {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_us = ack.at_us;
        let epoch_us = *self.epoch_us.get_or_insert_with(|| {
            self.acked = ack.delivered;
            self.reno_cwnd = cwnd;
            self.origin = self.last_max.max(cwnd);
            // K = cbrt((W_max − cwnd) / C), equation 2 of RFC 9438.
            let missing = u64::from(self.origin - cwnd);
            self.k = cube_root((1 << 40) / SCALE * missing);
            ack.at_us
        });
        let passed_us = (ack.at_us - epoch_us).saturating_add(self.least_rtt_us.unwrap_or(0));
        let t = u64::try_from(passed_us).unwrap_or(0).saturating_mul(1024) / 1_000_000;
        // W(t) = C (t − K)³ + W_max, equation 1.
        let off = t.abs_diff(self.k);
        let cubed = u128::from(off).saturating_mul(u128::from(off) * u128::from(off));
        // A clock that jumped by centuries exceeds even 128 bits.
        let delta = u32::try_from(cubed.saturating_mul(SCALE.into()) >> 40).unwrap_or(1 << 24);
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        self.every = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max == 0 {
            self.every = self.every.min(SLOWEST_UNLOST);
        }
        self.befriend(cwnd);
    }

    /// The Reno-friendly region (section 4.3).
    fn befriend(&mut self, cwnd: u32) {
        let per_segment = (cwnd * FRIENDLY / 8).max(1);
        // Linux compares strictly (`while (ca->ack_cnt > delta)`), so a whole multiple grows by one segment less.
        let segments = self.acked.saturating_sub(1) / per_segment;
        self.reno_cwnd += segments;
        self.acked -= segments * per_segment;
        if self.reno_cwnd > cwnd {
            self.every = self.every.min(cwnd / (self.reno_cwnd - cwnd));
        }
        self.every = self.every.max(FASTEST);
    }
}

impl Rule for Cubic {
    fn observe(&mut self, ack: &Ack) {
        let Some(rtt_us) = ack.rtt_us else {
            return;
        };
        if self
            .epoch_us
            .is_some_and(|since| ack.at_us - since < SETTLE_US)
        {
            return;
        }
        self.least_rtt_us = Some(self.least_rtt_us.map_or(rtt_us, |least| least.min(rtt_us)));
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.update(cwnd, ack);
        self.counter.grow(cwnd, self.every, ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        self.epoch_us = None;
        // Fast convergence (section 4.7).
        self.last_max = if cwnd < self.last_max {
            per_2048(cwnd, 1024 + BETA)
        } else {
            cwnd
        };
        per_1024(cwnd, BETA)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }

    fn time_out(&mut self) {
        *self = Self::default();
    }
}

/// The cube root, rounded down.
fn cube_root(value: u64) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 21);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friendly_window_grows_only_beyond_a_multiple_of_the_segments_as_in_linux() {
        let mut cubic = Cubic::default();
        let grown = [15, 1, 14, 1].map(|acked| {
            cubic.acked += acked;
            cubic.befriend(8);
            (cubic.reno_cwnd, cubic.acked)
        });
        assert_eq!(grown, [(0, 15), (1, 1), (1, 15), (2, 1)]);
    }

    #[test]
    fn cube_roots_round_down() {
        assert_eq!(
            [0, 1, 7, 8, 26, 27, 1_000_000].map(cube_root),
            [0, 1, 1, 2, 2, 3, 100]
        );
    }

    #[test]
    fn a_clock_that_jumps_by_centuries_gives_a_window() {
        let mut cubic = Cubic::default();
        let cwnd = cubic.reduce(1_000);
        cubic.begin();
        for at_us in [i64::MIN / 1_000, i64::MAX / 1_000] {
            let ack = Ack {
                at_us,
                delivered: 1,
                rtt_us: Some(100_000),
                ..Ack::default()
            };
            cubic.observe(&ack);
            assert!(cubic.grow(cwnd, &ack) >= cwnd);
        }
    }

    #[test]
    fn the_window_regains_its_maximum_after_k_seconds() {
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.reduce(1_000);
        assert_eq!(cwnd, 700);
        cubic.begin();
        // K = cbrt(300 / 0.4) = 9.1 s, with a round trip of 100 ms.
        let mut reached = None;
        for step in 0..120 {
            let at_us = step * 100_000;
            let ack = Ack {
                at_us,
                delivered: cwnd,
                rtt_us: Some(100_000),
                ..Ack::default()
            };
            cubic.observe(&ack);
            // ACKs of a round trip come one by one.
            let segments = cwnd;
            for _ in 0..segments {
                cwnd = cubic.grow(
                    cwnd,
                    &Ack {
                        delivered: 1,
                        ..ack
                    },
                );
            }
            if cwnd >= 999 && reached.is_none() {
                reached = Some(at_us);
            }
        }
        let reached = reached.unwrap();
        assert!((7_000_000..=9_500_000).contains(&reached), "{reached}");
    }
}
