//! BIC: a binary search for the window of the last loss.

use super::{Ack, Counter, REFRESH_US, Rule, halved, per_1024, per_2048};

/// β = 0.8, in 1/1024.
const BETA: u32 = 819;
/// Up to this window, BIC is Reno.
const LOW_WINDOW: u32 = 14;
/// Greatest increase per round trip.
const MAX_INCREMENT: u32 = 16;
/// Steps of the search near the last maximum.
const SMOOTH: u32 = 20;
/// The search goes a fourth of the way.
const PART: u32 = 4;
/// Acknowledged segments per segment before the first loss: 5 % per round trip.
const SLOWEST_UNLOST: u32 = 20;

/// Acknowledged segments per ACK at first, in sixteenths.
const DELAYED: u32 = 2 << 4;

#[derive(Clone, Debug)]
pub(super) struct Bic {
    counter: Counter,
    every: u32,
    last_max: u32,
    last_cwnd: u32,
    last_us: i64,
    /// Mean number of acknowledged segments per ACK, in sixteenths. Linux counts segments and still
    /// divides by this number, so the window grows twice as fast as the rule intends.
    delayed16: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self {
            counter: Counter::default(),
            every: 0,
            last_max: 0,
            last_cwnd: 0,
            last_us: 0,
            delayed16: DELAYED,
        }
    }
}

impl Bic {
    fn every(&self, cwnd: u32) -> u32 {
        // As Reno, whatever the number of segments per ACK.
        if cwnd <= LOW_WINDOW {
            return cwnd;
        }
        let every = if cwnd < self.last_max {
            let distance = (self.last_max - cwnd) / PART;
            match distance {
                0 | 1 => cwnd * SMOOTH / PART,
                2..=MAX_INCREMENT => cwnd / distance,
                _ => cwnd / MAX_INCREMENT,
            }
        } else {
            let beyond = cwnd - self.last_max;
            if beyond < PART {
                cwnd * SMOOTH / PART
            } else if beyond < MAX_INCREMENT * (PART - 1) {
                cwnd * (PART - 1) / beyond
            } else {
                cwnd / MAX_INCREMENT
            }
        };
        let every = if self.last_max == 0 {
            every.min(SLOWEST_UNLOST)
        } else {
            every
        };
        ((every << 4) / self.delayed16.max(1)).max(1)
    }
}

impl Rule for Bic {
    fn observe(&mut self, ack: &Ack) {
        if ack.was_open && ack.segments > 0 {
            self.delayed16 = self.delayed16 - (self.delayed16 >> 4) + ack.segments;
        }
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        if self.last_cwnd != cwnd || ack.at_us - self.last_us > REFRESH_US {
            self.last_cwnd = cwnd;
            self.last_us = ack.at_us;
            self.every = self.every(cwnd);
        }
        self.counter.grow(cwnd, self.every, ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        // Fast convergence.
        self.last_max = if cwnd < self.last_max {
            per_2048(cwnd, 1024 + BETA)
        } else {
            cwnd
        };
        if cwnd <= LOW_WINDOW {
            halved(cwnd)
        } else {
            per_1024(cwnd, BETA)
        }
    }

    fn begin(&mut self) {
        self.counter.reset();
    }

    fn time_out(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_windows_grow_as_those_of_reno_however_many_segments_an_ack_covers() {
        let mut bic = Bic::default();
        let ack = |turn: i64| Ack {
            at_us: turn * 1_000,
            segments: 2,
            delivered: 2,
            was_open: true,
            is_open: true,
            ..Ack::default()
        };
        let mut cwnd = 12;
        // Six ACKs of two segments are one window.
        for turn in 0..6 {
            bic.observe(&ack(turn));
            cwnd = bic.grow(cwnd, &ack(turn));
        }
        assert_eq!(cwnd, 13);
    }
}
