//! Controls whose increase and decrease depend on the window and the round-trip time alone.

use super::{Ack, Counter, MIN_THRESHOLD, Rule, halved};

/// Reno: a segment per round trip, half at a loss (RFC 5681, equations 3 and 4).
#[derive(Clone, Debug, Default)]
pub(super) struct Reno {
    counter: Counter,
}

impl Rule for Reno {
    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.counter.grow(cwnd, cwnd, ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }
}

/// Scalable TCP: a segment per 100 acknowledged segments, 7/8 at a loss. Before Linux 5.8 it was
/// one per 50 ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Scalable {
    counter: Counter,
}

/// `TCP_SCALABLE_AI_CNT`.
pub(super) const SCALABLE_COUNT: u32 = 100;

impl Rule for Scalable {
    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.counter
            .grow(cwnd, cwnd.min(SCALABLE_COUNT), ack.delivered)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        (cwnd - cwnd / 8).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }
}

/// The table of RFC 3649, appendix B: largest window of the step, and decrease in 1/256.
const HIGH_SPEED_STEPS: [(u32, u32); 24] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1_058, 83),
    (1_284, 81),
    (1_529, 78),
    (1_793, 76),
    (2_076, 74),
    (2_378, 72),
    (2_699, 71),
    (3_039, 69),
    (3_399, 68),
    (3_778, 66),
    (4_177, 65),
    (4_596, 64),
    (5_036, 62),
    (5_497, 61),
    (5_979, 60),
    (6_483, 59),
    (7_009, 58),
];

/// `HighSpeed` TCP (RFC 3649): increase and decrease by the step of the window. Up to 38 segments
/// it is Reno.
#[derive(Clone, Debug, Default)]
pub(super) struct HighSpeed {
    count: u32,
    step: usize,
}

impl HighSpeed {
    fn follow(&mut self, cwnd: u32) {
        // Windows beyond the table take its last step.
        self.step = HIGH_SPEED_STEPS
            .iter()
            .position(|(most, _)| cwnd <= *most)
            .unwrap_or(HIGH_SPEED_STEPS.len() - 1);
    }
}

impl Rule for HighSpeed {
    fn grow(&mut self, cwnd: u32, _ack: &Ack) -> u32 {
        self.follow(cwnd);
        // Counts ACKs, not segments.
        self.count += u32::try_from(self.step).unwrap_or(0) + 1;
        if self.count < cwnd {
            return cwnd;
        }
        self.count -= cwnd;
        cwnd + 1
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        // The step is that of the last growth, but the window may have changed since.
        self.follow(cwnd);
        let less = u64::from(cwnd) * u64::from(HIGH_SPEED_STEPS[self.step].1) / 256;
        (cwnd - u32::try_from(less).unwrap_or(0)).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.count = 0;
    }
}

/// The round-trip time at which Hybla equals Reno (module parameter `rtt0`).
const HYBLA_RTT0_US: i64 = 25_000;

/// Hybla: ρ² segments per round trip, where ρ is the smoothed round-trip time by 25 ms, at least 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Hybla {
    /// ρ in eighths.
    rho8: i64,
    least_srtt_us: Option<i64>,
    /// Fractions of a segment, in 1/128.
    fraction: u32,
    /// ACKs since the window grew (`snd_cwnd_cnt`).
    count: u32,
}

impl Rule for Hybla {
    fn observe(&mut self, ack: &Ack) {
        // Linux updates ρ only at a new minimum.
        if ack.srtt_us > 0 && self.least_srtt_us.is_none_or(|least| ack.srtt_us < least) {
            self.least_srtt_us = Some(ack.srtt_us);
            self.rho8 = (8 * ack.srtt_us / HYBLA_RTT0_US).clamp(8, 1 << 12);
        }
    }

    fn grow(&mut self, cwnd: u32, _ack: &Ack) -> u32 {
        // Per ACK, not per segment.
        let step = u32::try_from(self.rho8 * self.rho8 * 2).unwrap_or(0) / cwnd.max(1);
        self.count += u32::from(step < 128);
        self.fraction += step % 128;
        let carried = self.fraction / 128;
        self.fraction %= 128;
        // In a large window, the growth per ACK is less than 1/128 segment. Linux counts ACKs then, as Reno does.
        let is_due = step == 0 && self.count >= cwnd;
        if carried > 0 || is_due {
            self.count = 0;
        }
        cwnd + step / 128 + carried + u32::from(is_due)
    }

    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window of Hybla after `acks` ACKs.
    fn hybla(srtt_us: i64, mut cwnd: u32, acks: u32) -> u32 {
        let mut hybla = Hybla::default();
        for _ in 0..acks {
            let ack = Ack {
                segments: 2,
                delivered: 2,
                srtt_us,
                ..Ack::default()
            };
            hybla.observe(&ack);
            cwnd = hybla.grow(cwnd, &ack);
        }
        cwnd
    }

    #[test]
    fn hybla_grows_by_the_square_of_the_round_trip_time() {
        assert_eq!(hybla(25_000, 64, 64), 65);
        // ρ = 2, so four times as fast, less what integers lose.
        assert_eq!(hybla(50_000, 64, 71), 68);
    }

    #[test]
    fn hybla_counts_acks_in_windows_too_large_for_its_fractions() {
        assert_eq!(hybla(25_000, 200, 199), 200);
        assert_eq!(hybla(25_000, 200, 200), 201);
    }
}
