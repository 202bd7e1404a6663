//! The resolution of a capture's clock.

use tcpexp_units::{TimeDelta, Timestamp};

/// The resolution of nearly all capture files: classic pcap counts microseconds.
pub(super) const TICK_OF_CAPTURES: TimeDelta = TimeDelta::from_micros(1);
/// Gaps between records that are kept: 1024 are enough to show a tick of a tenth of a second within
/// two minutes, and cost nothing after a capture's first packets.
const GAPS: usize = 1_024;
/// The greatest common divisor of fewer gaps is large by chance: of three random numbers it is 10
/// or more in one case of two hundred.
const LEAST_GAPS: usize = 3;
/// A tick that a clock's rate correction stretches (NTP corrects up to 500 ppm) varies by less than
/// one part in this many.
const STRETCH: i64 = 1_000;
/// Of a shorter tick, chance multiples in a file of whole microseconds are too frequent to show it.
const LEAST_STRETCHED: TimeDelta = TimeDelta::from_micros(100);
/// At least one gap in this many is zero where a clock is too coarse for the traffic.
const ZERO_GAPS: u64 = 8;
/// A clock shows more packets than this at each time it shows only if it is coarse: a host hands the
/// 64 packets of one poll of its network card to the capture within some microseconds.
const CROWD: u64 = 64;
/// Of all gaps this share may be no multiple of the tick: a clock step, records out of order.
const ODD_GAPS: usize = 20;

/// Learns how far apart two times that a clock can show are.
///
/// Old kernels and some virtual machines advance the clock that stamps packets once per timer
/// interrupt: every 1, 4 or 10 ms.
#[derive(Debug, Default)]
pub(in crate::spp) struct TickMeter {
    last: Option<Timestamp>,
    gaps_ns: Vec<i64>,
    zero_gaps: u64,
}

impl TickMeter {
    /// Takes in the time of the capture's next packet.
    #[inline]
    pub(in crate::spp) fn observe(&mut self, at: Timestamp) {
        if self.gaps_ns.len() < GAPS {
            self.add(at);
        }
    }

    fn add(&mut self, at: Timestamp) {
        if let Some(last) = self.last.replace(at) {
            match (at - last).abs().as_nanos() {
                0 => self.zero_gaps += 1,
                gap => self.gaps_ns.push(gap),
            }
        }
    }

    /// The tick of the clock, at least that of the file's format as far as it shows.
    pub(in crate::spp) fn tick(&self) -> TimeDelta {
        // Where the rest of a capture shows one time, a single gap is no chance.
        let is_little = self.gaps_ns.len() < LEAST_GAPS && !self.is_crowded();
        if is_little || self.is_periodic() || self.gaps_ns.is_empty() {
            return TICK_OF_CAPTURES;
        }
        let divisor = self.gaps_ns.iter().copied().fold(0, greatest_divisor);
        TimeDelta::from_nanos(self.stretched_ns().unwrap_or(0).max(divisor))
    }

    /// Whether many packets show the same time, for each time that they show.
    fn is_crowded(&self) -> bool {
        self.zero_gaps > CROWD * self.gaps_ns.len() as u64
    }

    /// Whether packets come at even times, but for lost ones, so that their gaps show nothing of the
    /// clock: no traffic of another kind has one packet for nearly each tick and never two.
    fn is_periodic(&self) -> bool {
        let least = self.gaps_ns.iter().min().copied();
        let periods = self.gaps_ns.iter().filter(|gap| Some(**gap) == least);
        self.zero_gaps == 0 && periods.count() * 4 >= self.gaps_ns.len() * 3
    }

    /// The tick of a clock whose ticks are not exactly even, if it is too coarse for the traffic.
    fn stretched_ns(&self) -> Option<i64> {
        let mut gaps = self.gaps_ns.clone();
        gaps.sort_unstable();
        let odd = gaps.len() / ODD_GAPS;
        let tick = *gaps.get(odd)?;
        let is_multiple = |gap: &i64| {
            let rest = gap % tick;
            rest.min(tick - rest) <= gap.max(&tick) / STRETCH
        };
        let off = gaps.iter().filter(|gap| !is_multiple(gap)).count();
        let is_coarse = self.zero_gaps * ZERO_GAPS > gaps.len() as u64;
        let is_clear = tick >= LEAST_STRETCHED.as_nanos();
        (is_coarse && is_clear && off <= 2 * odd).then_some(tick)
    }
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tick learnt from a clock that shows `shown` of packets sent some 300 µs apart.
    fn tick(shown: impl Fn(i64) -> i64) -> TimeDelta {
        let mut meter = TickMeter::default();
        let mut at = 1_700_000_000_000_000_000;
        for packet in 0..100_000_i64 {
            at += 200_000 + packet * packet % 191 * 1_009;
            meter.observe(Timestamp::from_nanos(shown(at)));
        }
        meter.tick()
    }

    fn floor(at: i64, tick: i64) -> i64 {
        at.div_euclid(tick) * tick
    }

    #[test]
    fn tick_of_a_coarse_clock_is_found() {
        for millis in [1, 4, 10, 100] {
            let found = tick(|at| floor(at, millis * 1_000_000));
            assert_eq!(found, TimeDelta::from_millis(millis));
        }
    }

    #[test]
    fn tick_is_found_though_the_clock_runs_fast_and_was_set() {
        let found = tick(|at| {
            let shown = floor(at, 10_000_000);
            let since = shown - 1_700_000_000_000_000_000;
            let step = if since > 7_000_000_000 { 1_234_567 } else { 0 };
            shown + since / 5_000 + step
        });
        let off = (found - TimeDelta::from_millis(10)).abs();
        assert!(off < TimeDelta::from_micros(10), "{found}");
    }

    #[test]
    fn packets_at_even_times_show_no_tick() {
        let mut meter = TickMeter::default();
        for packet in (0..100).filter(|packet| packet % 9 != 5) {
            meter.observe(Timestamp::from_nanos(packet * 20_000_000));
        }
        assert_eq!(meter.tick(), TICK_OF_CAPTURES);
    }

    #[test]
    fn clocks_of_micro_and_nanoseconds_are_not_coarse() {
        assert_eq!(tick(|at| floor(at, 1_000)), TICK_OF_CAPTURES);
        assert!(tick(|at| at) <= TICK_OF_CAPTURES);
    }
}
