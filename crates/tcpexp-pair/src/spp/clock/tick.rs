//! The resolution of a capture's clock.

use tcpexp_units::{TimeDelta, Timestamp};

/// Resolution of nearly all capture files: classic pcap counts microseconds.
pub(super) const TICK_OF_CAPTURES: TimeDelta = TimeDelta::from_micros(1);
/// Number of gaps between records that are kept: enough to find a tick of 0.1 s within two minutes,
/// at no cost after the first packets of a capture.
const GAPS: usize = 1_024;
/// Minimum number of gaps: the greatest common divisor of fewer is large by chance. For three
/// random numbers it is 10 or more in one case of two hundred.
const MIN_GAPS: usize = 3;
/// Minimum evidence, in bits, that the divisor of the gaps is no coincidence: `n` random gaps of whole
/// microseconds are all multiples of `t` µs with the probability `t`⁻ⁿ. One capture in a million may
/// seem coarse. Three gaps show a tick of 0.1 ms, ten one of 4 µs.
const CHANCE_BITS: f64 = 20.0;
/// A clock's rate correction stretches its tick by less than one part in this many (NTP corrects up
/// to 500 ppm).
const STRETCH: i64 = 1_000;
/// Smallest stretched tick that is searched for: in a file of whole microseconds, too many times
/// are multiples of a smaller tick by chance.
const MIN_STRETCHED: TimeDelta = TimeDelta::from_micros(100);
/// Maximum number of ticks of a known timer in the usual smallest gap of sparse traffic. With more, the tolerance
/// would make any gap a multiple.
const MOST_TICKS: i64 = 4;
/// At least one gap in this many is zero if a clock is too coarse for the traffic.
const ZERO_GAPS: u64 = 8;
/// More packets than this per distinct time prove a coarse clock: a kernel takes at least 0.1 µs to
/// receive a packet, even if the network card delivers many at once.
const CROWD: u64 = 10;
/// Steps of the timers that advance coarse clocks, in nanoseconds: 1/HZ for HZ = 50, 60, 64, 100, 128, 200, 250,
/// 300, 1000 and 1024 (`CONFIG_HZ` of Linux, `kern.hz` of BSD, the timer interrupt of Windows, also measured as
/// 15.6001 ms), 65536/1193182 s (the interrupt of the PC's timer at its longest), and decimal units.
const TIMERS_NS: [i64; 23] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    976_563,
    1_000_000,
    2_000_000,
    3_333_333,
    4_000_000,
    5_000_000,
    7_812_500,
    10_000_000,
    15_600_100,
    15_625_000,
    16_666_667,
    20_000_000,
    50_000_000,
    54_925_400,
    100_000_000,
    500_000_000,
    1_000_000_000,
];
/// One gap in this many may be no multiple of the tick, because of clock steps or records out of
/// order.
const ODD_GAPS: usize = 20;

/// Measures the resolution of a capture's clock.
///
/// Old kernels and some virtual machines advance the clock for packet timestamps once per timer
/// interrupt: every 1, 4 or 10 ms.
#[derive(Debug, Default)]
pub struct TickMeter {
    last: Option<Timestamp>,
    gaps_ns: Vec<i64>,
    zero_gaps: u64,
    /// The coarsest unit of time in which the file counts.
    unit: TimeDelta,
}

impl TickMeter {
    /// The tick of a clock that shows one time for several packets. It is unknown, and no usual capture
    /// format counts longer units than seconds.
    pub const UNKNOWN_TICK: TimeDelta = TimeDelta::from_seconds(1);

    /// Text of a tick: `4 ms`, or `up to 1 s` if the clock may not have advanced at all.
    pub fn text(tick: TimeDelta) -> String {
        if tick >= Self::UNKNOWN_TICK {
            format!("up to {tick}")
        } else {
            tick.to_string()
        }
    }

    /// Adds the unit of an interface's times. A clock shows no finer time than its file holds. The gaps alone do not
    /// show a unit that is a power of two, because its times are rounded to nanoseconds, nor the unit of an interface
    /// whose packets come late.
    pub fn count_in(&mut self, unit: TimeDelta) {
        self.unit = self.unit.max(unit);
    }

    /// Adds the time of the capture's next packet.
    #[inline]
    pub fn observe(&mut self, at: Timestamp) {
        if self.gaps_ns.len() < GAPS {
            self.add(at);
        }
    }

    /// Number of packets whose time differs from that of the packet before.
    pub fn gaps(&self) -> usize {
        self.gaps_ns.len()
    }

    /// The tick of a clock that is coarser than nearly all capture files, whose times count
    /// microseconds; `None` for all other clocks.
    ///
    /// Each time is too early by less than this, so the error of each difference of times is less
    /// than this in either direction.
    pub fn coarse_tick(&self) -> Option<TimeDelta> {
        Some(self.tick()).filter(|tick| *tick > TICK_OF_CAPTURES)
    }

    fn add(&mut self, at: Timestamp) {
        if let Some(last) = self.last.replace(at) {
            match (at - last).abs().as_nanos() {
                0 => self.zero_gaps += 1,
                gap => self.gaps_ns.push(gap),
            }
        }
    }

    /// Tick of the clock; not smaller than a unit of the file.
    pub fn tick(&self) -> TimeDelta {
        self.shown_tick().max(self.unit)
    }

    /// Tick of the clock as far as the gaps show it.
    fn shown_tick(&self) -> TimeDelta {
        if self.gaps_ns.is_empty() && self.zero_gaps > 0 {
            return Self::UNKNOWN_TICK;
        }
        // If all other packets of a capture show the same time, a single gap is no coincidence.
        let is_little = self.gaps_ns.len() < MIN_GAPS && !self.is_crowded();
        if is_little || self.is_periodic() || self.gaps_ns.is_empty() {
            return TICK_OF_CAPTURES;
        }
        // Each gap is a multiple of the tick, so the tick divides their greatest common divisor.
        let divisor = self.gaps_ns.iter().copied().fold(0, greatest_divisor);
        let is_no_tick =
            self.is_by_chance(divisor) || self.is_backoff(divisor) || self.is_spacing(divisor);
        let divisor = if is_no_tick {
            TICK_OF_CAPTURES.as_nanos()
        } else {
            divisor
        };
        // Even ticks show as they are. The search for uneven ones would take the usual gap of evenly
        // spaced packets for the tick.
        let is_even = divisor >= MIN_STRETCHED.as_nanos();
        let stretched = self
            .stretched_ns()
            .filter(|tick| !is_even && !self.is_spacing(*tick));
        let is_rounded = divisor % TICK_OF_CAPTURES.as_nanos() == 0;
        let stretched = stretched.map(|tick| if is_rounded { unrounded_ns(tick) } else { tick });
        TimeDelta::from_nanos(stretched.unwrap_or(0).max(divisor))
    }

    /// True if gaps measured in microseconds may have this divisor although their clock is no coarser.
    fn is_by_chance(&self, divisor_ns: i64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (ticks, gaps) = (
            divisor_ns as f64 / TICK_OF_CAPTURES.as_nanos() as f64,
            self.gaps_ns.len() as f64,
        );
        ticks > 1.0 && ticks.log2() * gaps < CHANCE_BITS && !self.is_crowded()
    }

    /// True if many packets show the same time, for each distinct time.
    fn is_crowded(&self) -> bool {
        self.zero_gaps > CROWD * self.gaps_ns.len() as u64
    }

    /// True if packets are sent at even intervals, except lost ones, so that their gaps do not show
    /// the tick. Other traffic with a packet in nearly every tick has two packets in some ticks.
    fn is_periodic(&self) -> bool {
        let least = self.gaps_ns.iter().min().copied();
        let periods = self.gaps_ns.iter().filter(|gap| Some(**gap) == least);
        self.zero_gaps == 0 && periods.count() * 4 >= self.gaps_ns.len() * 3
    }

    /// True if at least three quarters of the gaps are one `tick_ns` long because packets follow each other at
    /// the rate of a link, in a capture without jitter, as simulators write it. Answers may have the same times.
    ///
    /// The interval between packets is rarely the step of a known timer, and pauses are not multiples of it. On a
    /// coarse clock each pause is a multiple of the tick, unless the clock was stepped in it.
    fn is_spacing(&self, tick_ns: i64) -> bool {
        let is_near = |gap: i64, of: i64| (gap - of).abs() <= of / STRETCH + rounding_ns(of);
        let single = self.gaps_ns.iter().filter(|gap| is_near(**gap, tick_ns));
        if self.is_crowded() || single.count() * 4 < self.gaps_ns.len() * 3 {
            return false;
        }
        if !TIMERS_NS.iter().any(|timer| is_near(tick_ns, *timer)) {
            return true;
        }
        let (mut odd, mut pauses) = (0, 0);
        for gap in self.gaps_ns.iter().copied() {
            let ticks = gap.saturating_add(tick_ns / 2) / tick_ns;
            odd += usize::from(!is_near(gap, ticks * tick_ns));
            pauses += usize::from(ticks > 1 && is_near(gap, ticks * tick_ns));
        }
        odd > 1 + pauses
    }

    /// True if each gap is twice as long as the one before, as between retransmissions whose timeout
    /// doubles (RFC 6298, section 5.5), so that `divisor_ns` is a timeout and not a tick. The capture
    /// may have missed some of these packets.
    fn is_backoff(&self, divisor_ns: i64) -> bool {
        let mut doubled = 0;
        let mut continues = |gap_ns: &i64| {
            // A gap spans the timeouts of successive powers of two.
            let timeouts = gap_ns / divisor_ns;
            let (first, last) = (
                timeouts.trailing_zeros(),
                i64::BITS - timeouts.leading_zeros(),
            );
            let before = std::mem::replace(&mut doubled, last);
            first == before && timeouts.count_ones() == last - first
        };
        self.zero_gaps == 0 && self.gaps_ns.iter().all(&mut continues)
    }

    /// Tick of a clock with slightly uneven ticks, if it is too coarse for the traffic.
    fn stretched_ns(&self) -> Option<i64> {
        let mut gaps = self.gaps_ns.clone();
        gaps.sort_unstable();
        let odd = gaps.len() / ODD_GAPS;
        let least = *gaps.get(odd)?;
        let is_coarse = self.zero_gaps * ZERO_GAPS > gaps.len() as u64;
        let is_clear = least >= MIN_STRETCHED.as_nanos();
        if !is_coarse || !is_clear {
            return None;
        }
        // In sparse traffic, hardly a gap is a single tick, but the timers are known.
        let timers = TIMERS_NS
            .into_iter()
            .filter(|timer| *timer >= MIN_STRETCHED.as_nanos() && is_multiple(least, *timer))
            .filter(|timer| least / timer <= MOST_TICKS);
        let is_tick = |tick: &i64| {
            let off = gaps.iter().filter(|gap| !is_multiple(**gap, *tick)).count();
            // Up to `odd` gaps below the tick are no multiples of it, and as many others may not be.
            off <= 2 * odd
        };
        std::iter::once(least).chain(timers.rev()).find(is_tick)
    }
}

/// True if a gap is a multiple of the tick, but for the rate of the clock and the rounding of its times.
fn is_multiple(gap_ns: i64, tick_ns: i64) -> bool {
    let rest = gap_ns % tick_ns;
    rest.min(tick_ns - rest) <= gap_ns.max(tick_ns) / STRETCH + rounding_ns(tick_ns)
}

/// Error of a gap between two times of a stretched tick: nearly all files round them to microseconds. Smaller
/// ticks than the smallest stretched one are exact.
const fn rounding_ns(tick_ns: i64) -> i64 {
    if tick_ns < MIN_STRETCHED.as_nanos() {
        0
    } else {
        TICK_OF_CAPTURES.as_nanos()
    }
}

/// The largest error of a time on a clock whose ticks seem to be `tick_ns` long, in a file of whole microseconds.
///
/// The ticks of some timers, such as one of 1024 Hz, are no whole microseconds. The file rounds their times down, so the
/// usual least gap is shorter than a tick, and a time is too early by up to a tick and the rounding.
fn unrounded_ns(tick_ns: i64) -> i64 {
    let unit_ns = TICK_OF_CAPTURES.as_nanos();
    let is_rounded = |timer: &i64| timer % unit_ns != 0 && (timer - tick_ns).abs() < unit_ns;
    let timer = TIMERS_NS.into_iter().find(is_rounded);
    timer.map_or(tick_ns, |timer| timer + unit_ns)
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

    /// Tick measured on a clock that shows `shown` for packets sent about 300 µs apart.
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
    fn tick_of_1024_hz_is_found_in_a_file_of_microseconds() {
        let tick_ns = 976_563;
        let shown = |at| floor(floor(at, tick_ns), 1_000);
        let off = (tick(shown) - TimeDelta::from_nanos(tick_ns)).abs();
        assert!(off <= TICK_OF_CAPTURES, "{off}");
        // In sparse traffic, most gaps are two ticks or more.
        let gaps = (0..1_000_i64).map(|turn| {
            let ticks = |turn: i64| turn * 2 + turn * turn % 7 / 3;
            let [from, to] = [turn, turn + 1].map(|turn| ticks(turn) * tick_ns / 1_000 * 1_000);
            to - from
        });
        let off = (tick_of_pairs(gaps).unwrap() - TimeDelta::from_nanos(tick_ns)).abs();
        assert!(off <= TICK_OF_CAPTURES, "{off}");
    }

    #[test]
    fn times_of_a_rounded_tick_are_too_early_by_less_than_the_tick() {
        for (ticks, seconds) in [(1_024, 1), (300, 1), (64, 1), (128, 1), (1_193_182, 65_536)] {
            let shown = |at: i64| {
                let turns = i128::from(at) * ticks / (1_000_000_000 * seconds);
                let nanos = turns * 1_000_000_000 * seconds / ticks;
                floor(i64::try_from(nanos).unwrap(), 1_000)
            };
            let found = tick(shown).as_nanos();
            let early = (0..1_000_000).map(|number| {
                let at = 1_700_000_000_000_000_000 + number * 100_003;
                at - shown(at)
            });
            let most = early.max().unwrap();
            assert!(
                (0..=2_000).contains(&(found - most)),
                "{ticks} {found} {most}"
            );
        }
    }

    #[test]
    fn tick_is_at_least_the_unit_of_the_file() {
        let mut meter = TickMeter::default();
        for unit in [TimeDelta::from_micros(1), TimeDelta::from_nanos(15_259)] {
            meter.count_in(unit);
        }
        for packet in 0..1_000_i64 {
            let units = packet * packet % 191 + packet * 200;
            meter.observe(Timestamp::from_nanos((units * 1_000_000_000) >> 16));
        }
        assert_eq!(meter.coarse_tick(), Some(TimeDelta::from_nanos(15_259)));
    }

    #[test]
    fn tick_is_found_despite_skew_and_a_clock_step() {
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
    fn usual_gap_of_evenly_spaced_packets_is_not_taken_for_an_even_tick() {
        let mut meter = TickMeter::default();
        for packet in 0..1_000_i64 {
            let late = if packet % 17 == 0 { 1_300_000 } else { 0 };
            let at = floor(packet / 2 * 6_000_000 + late, 1_000_000);
            meter.observe(Timestamp::from_nanos(at));
        }
        assert_eq!(meter.tick(), TimeDelta::from_millis(1));
    }

    #[test]
    fn evenly_spaced_packets_reveal_no_tick() {
        let mut meter = TickMeter::default();
        for packet in (0..100).filter(|packet| packet % 9 != 5) {
            meter.observe(Timestamp::from_nanos(packet * 20_000_000));
        }
        assert_eq!(meter.tick(), TICK_OF_CAPTURES);
    }

    /// Tick measured on gaps of these lengths, in nanoseconds, with two packets at each time.
    fn tick_of_pairs(gaps_ns: impl IntoIterator<Item = i64>) -> Option<TimeDelta> {
        let mut meter = TickMeter::default();
        let mut at = Timestamp::from_nanos(-1_000_000_000);
        meter.observe(at);
        meter.observe(at);
        for gap in gaps_ns {
            at = at + TimeDelta::from_nanos(gap);
            meter.observe(at);
            meter.observe(at);
        }
        meter.coarse_tick()
    }

    #[test]
    fn packets_at_the_exact_rate_of_a_link_reveal_no_tick() {
        // 1514 bytes at 2 Mbit/s, and at a rate of one packet in 1 ms.
        for packet_ns in [6_056_000, 1_000_000] {
            let train = |pauses: &[i64]| {
                let packets = std::iter::repeat_n(packet_ns, 100);
                tick_of_pairs(pauses.iter().copied().chain(packets))
            };
            assert_eq!(train(&[40_271_935, 3_688_003, 264_001]), None);
        }
        assert_eq!(tick_of_pairs([6_056_000; 100]), None);
    }

    #[test]
    fn a_packet_in_nearly_every_tick_of_a_timer_reveals_the_tick() {
        let ticks = |tick_ns: i64, last_ns: i64| {
            let gaps = std::iter::repeat_n(tick_ns, 100);
            tick_of_pairs(gaps.chain([3 * tick_ns, last_ns]))
        };
        // Also if the clock is stepped, or corrected in its rate.
        for (tick_ns, last_ns) in [
            (4_000_000, 8_000_000),
            (4_000_000, i64::MAX),
            (10_000_000, 1_234_567),
            (1_000_300, 17),
        ] {
            let tick = TimeDelta::from_nanos(tick_ns);
            assert_eq!(ticks(tick_ns, last_ns), Some(tick));
        }
    }

    #[test]
    fn a_few_packets_reveal_no_tick_by_chance() {
        let of_gaps = |gaps_us: &[i64]| {
            let mut meter = TickMeter::default();
            let mut at = Timestamp::from_nanos(0);
            meter.observe(at);
            for gap in gaps_us {
                at = at + TimeDelta::from_micros(*gap);
                meter.observe(at);
            }
            meter.coarse_tick()
        };
        assert_eq!(of_gaps(&[20_114, 316, 7_032]), None);
        assert_eq!(of_gaps(&[6, 9, 3, 27, 12, 15]), None);
        let tick = TimeDelta::from_millis(4);
        assert_eq!(of_gaps(&[8_000, 4_000, 12_000]), Some(tick));
    }

    #[test]
    fn retransmissions_whose_timeout_doubles_reveal_no_tick() {
        let of_seconds = |times: &[i64]| {
            let mut meter = TickMeter::default();
            for at in times {
                meter.observe(Timestamp::from_nanos(at * 1_000_000_000));
            }
            meter.coarse_tick()
        };
        assert_eq!(of_seconds(&[1, 4, 10, 22]), None);
        assert_eq!(of_seconds(&[0, 1, 3, 7, 15]), None);
        // The capture missed those at 1, 15 and 31 s.
        assert_eq!(of_seconds(&[0, 3, 7, 63, 127]), None);
        let tick = TimeDelta::from_seconds(1);
        assert_eq!(of_seconds(&[0, 1, 3, 7, 14]), Some(tick));
        assert_eq!(of_seconds(&[0, 4, 6, 7]), Some(tick));
    }

    #[test]
    fn tick_of_a_clock_that_does_not_advance_is_unknown() {
        let mut meter = TickMeter::default();
        meter.observe(Timestamp::from_nanos(7_000));
        assert_eq!(meter.tick(), TICK_OF_CAPTURES);
        meter.observe(Timestamp::from_nanos(7_000));
        assert_eq!(meter.tick(), TickMeter::UNKNOWN_TICK);
    }

    #[test]
    fn many_packets_at_two_times_show_the_tick() {
        let mut meter = TickMeter::default();
        for packet in 0..40 {
            meter.observe(Timestamp::from_nanos(packet / 20 * 100_000_000));
        }
        assert_eq!(meter.tick(), TimeDelta::from_millis(100));
    }

    #[test]
    fn clocks_of_micro_and_nanoseconds_are_not_coarse() {
        assert_eq!(tick(|at| floor(at, 1_000)), TICK_OF_CAPTURES);
        assert!(tick(|at| at) <= TICK_OF_CAPTURES);
    }
}
