//! New Vegas: lowers the window towards the rate times the minimum round-trip time, plus ten.

use super::{Ack, Counter, Rule, per_1024};

/// Segments that may be queued (`nv_pad`).
const PAD: i64 = 10;
/// Distance to them below which the window does not grow (`nv_pad_buffer`).
const PAD_BUFFER: i64 = 2;
/// Part of the excess by which the window falls, in 1/128: 30 %.
const DECREASE: i64 = 38;
/// Factor of a reduction at a loss: 0.8, in 1/1024.
const BETA: u32 = 819;
/// ACKs before a decision to fall and to grow.
const MIN_ACKS: (u32, u32) = (60, 20);
/// Round trips before a decision.
const MIN_ROUNDS: u32 = 2;
/// Round trips without a decision after which the window stops growing.
const STOP_ROUNDS: u32 = 10;
/// Time after which the minimum round-trip time is renewed; Linux takes 3/4 to 5/4 of it, at
/// random.
const RESET_US: i64 = 5_000_000;
/// The same at first.
const FIRST_RESET_US: i64 = 2_000_000;

#[derive(Clone, Debug)]
pub(super) struct Nv {
    counter: Counter,
    /// Mean of the last round-trip times.
    mean_us: Option<i64>,
    least_us: Option<i64>,
    next_least_us: Option<i64>,
    reset_us: i64,
    /// Greatest rate in this round trip: segments in flight and the round-trip time.
    greatest: Option<(i64, i64)>,
    acks: u32,
    rounds: u32,
    end: i64,
    may_grow: bool,
    /// True from a loss until the end of the recovery.
    has_lost: bool,
}

impl Default for Nv {
    fn default() -> Self {
        Self {
            counter: Counter::default(),
            mean_us: None,
            least_us: None,
            next_least_us: None,
            reset_us: FIRST_RESET_US,
            greatest: None,
            acks: 0,
            rounds: 0,
            end: 0,
            may_grow: true,
            has_lost: false,
        }
    }
}

impl Nv {
    fn measure(&mut self, ack: &Ack) {
        let Some(rtt_us) = ack.rtt_us else {
            return;
        };
        let mean = if let Some(mean) = self.mean_us {
            i64::midpoint(mean, rtt_us)
        } else {
            // Linux forgets the minimum with the mean.
            self.least_us = None;
            rtt_us
        };
        self.mean_us = Some(mean);
        self.least_us = Some(self.least_us.map_or(mean, |least| least.min(mean)));
        self.next_least_us = Some(self.next_least_us.map_or(mean, |least| least.min(mean)));
        if ack.at_us >= self.reset_us {
            self.least_us = self.next_least_us.take();
            self.reset_us = ack.at_us + RESET_US;
        }
        let flight = i64::from(ack.in_flight);
        if self
            .greatest
            .is_none_or(|(most, over)| flight * over > most * mean)
        {
            self.greatest = Some((flight, mean.max(1)));
        }
        self.acks += 1;
    }

    fn decide(&mut self, cwnd: u32) -> u32 {
        let (Some((flight, over)), Some(least)) = (self.greatest, self.least_us) else {
            return cwnd;
        };
        let most = flight * least / over + PAD;
        let window = i64::from(cwnd);
        let mut cwnd = window;
        if window > most {
            if self.rounds < MIN_ROUNDS {
                return u32::try_from(cwnd).unwrap_or(2);
            }
            if self.acks < MIN_ACKS.0 {
                self.may_grow &= self.rounds <= STOP_ROUNDS;
                return u32::try_from(cwnd).unwrap_or(2);
            }
            self.may_grow = false;
            cwnd = if window - most > 2 {
                window - ((window - most) * DECREASE / 128).max(2)
            } else {
                most
            };
        } else if window <= most - PAD_BUFFER {
            if self.acks < MIN_ACKS.1 {
                return u32::try_from(cwnd).unwrap_or(2);
            }
            self.may_grow = true;
        } else {
            return u32::try_from(cwnd).unwrap_or(2);
        }
        self.acks = 0;
        self.rounds = 0;
        self.greatest = None;
        u32::try_from(cwnd).unwrap_or(2).max(2)
    }
}

impl Rule for Nv {
    fn observe(&mut self, ack: &Ack) {
        if ack.was_open {
            self.measure(ack);
        }
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        let mut cwnd = cwnd;
        if ack.una > self.end {
            self.end = ack.nxt;
            self.rounds += 1;
            cwnd = self.decide(cwnd);
        }
        if self.may_grow {
            cwnd = self.counter.grow(cwnd, cwnd.max(4), ack.delivered);
        }
        cwnd
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        self.may_grow = false;
        self.has_lost = true;
        per_1024(cwnd, BETA)
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.has_lost) {
            self.counter.reset();
            self.acks = 0;
            self.rounds = 0;
            self.greatest = None;
            self.mean_us = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_forgets_the_shortest_round_trip() {
        let mut nv = Nv::default();
        let measure = |nv: &mut Nv, rtt_us| {
            nv.observe(&Ack {
                rtt_us: Some(rtt_us),
                was_open: true,
                ..Ack::default()
            });
            nv.least_us
        };
        assert_eq!(measure(&mut nv, 40_000), Some(40_000));
        assert_eq!(measure(&mut nv, 60_000), Some(40_000));
        // A pause of the application is no recovery.
        nv.begin();
        assert_eq!(measure(&mut nv, 60_000), Some(40_000));
        nv.reduce(20);
        nv.begin();
        assert_eq!(measure(&mut nv, 60_000), Some(60_000));
    }
}
