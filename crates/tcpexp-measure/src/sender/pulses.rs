//! Detects a sender that probes for bandwidth in pulses (BBR's `PROBE_BW`), where its pacing cannot be seen.
//!
//! In one of eight round trips, BBR version 1 sends a quarter more than the path delivers, and in the next a
//! quarter less (the gain cycle of Cardwell et al., BBR, ACM Queue 14(5), 2016). So the flight rises within a round
//! trip, and falls back without a loss. A loss-based window falls only after a loss. A
//! delay-based window falls without one, but rises by only one segment per round trip.

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

/// Number of parts of a round trip; the largest flight of each part counts. The flight peaks when data answers an ACK,
/// which happens in each part.
const PARTS: i64 = 4;
/// Longest rise, in parts: the round trip of the pulse, and half of one for the echoes to show it.
const LONGEST_RISE: usize = 6;
/// Longest time from the peak to the end of the fall, in parts. BBR lets the pulse drain for one round trip, which its
/// own queue lengthens.
const LONGEST_FALL: i64 = 12;
/// Least rise and fall, as a part of the smaller flight: half of the gain of 1.25, as the echoes blur the peak.
const LEAST_PERCENT: i64 = 12;
/// Largest rise. Slow start doubles the flight in each round trip.
const MOST_PERCENT: i64 = 67;
/// Least rise in bytes, three Ethernet segments: a window that is increased by one segment per round trip rises by two
/// at most in the time of a pulse.
const LEAST_BYTES: i64 = 3 * 1_460;
/// Least time between two peaks, in parts. A gain cycle has eight phases of one round trip each; an application that
/// writes large blocks makes the flight rise and fall more often.
const LEAST_PERIOD: i64 = 5 * PARTS;
/// Pulses in a row for a decision.
const MIN_PULSES: u32 = 3;
/// Longest pause between two flights, in round trips; after a longer one the sender begins anew.
const LONGEST_PAUSE: i64 = 2;

/// Counts pulses in a row.
#[derive(Debug, Default)]
pub(super) struct Pulses {
    /// The part that is under way: when it began, and its largest flight in bytes so far.
    part: Option<(Timestamp, i64)>,
    /// Largest flights of the latest parts.
    levels: VecDeque<i64>,
    /// The pulse that is under way.
    rise: Option<Rise>,
    /// Parts since the peak of the latest pulse, which is over.
    since_pulse: Option<i64>,
    in_a_row: u32,
    has_probed: bool,
}

/// A flight that rose as fast as in a pulse.
#[derive(Clone, Copy, Debug)]
struct Rise {
    base_bytes: i64,
    peak_bytes: i64,
    /// Parts since the peak.
    since_peak: i64,
}

impl Pulses {
    /// Records new data, with `flight_bytes` outstanding after it, on a path with this shortest round trip.
    #[inline]
    pub(super) fn send(&mut self, at: Timestamp, flight_bytes: i64, least_rtt: TimeDelta) {
        if self.has_probed {
            return;
        }
        let length = TimeDelta::from_nanos(least_rtt.as_nanos() / PARTS);
        let longest_pause =
            TimeDelta::from_nanos(least_rtt.as_nanos().saturating_mul(LONGEST_PAUSE));
        match &mut self.part {
            Some((began, most)) if at - *began < length => *most = flight_bytes.max(*most),
            Some((began, _)) if at - *began > longest_pause => {
                self.forget();
                self.part = Some((at, flight_bytes));
            }
            Some((_, most)) => {
                let level = *most;
                self.part = Some((at, flight_bytes));
                self.end_part(level);
            }
            None => self.part = Some((at, flight_bytes)),
        }
    }

    /// Records a retransmission: a loss shrinks the flight.
    pub(super) fn send_again(&mut self) {
        self.forget();
    }

    /// True if the sender probed for bandwidth.
    pub(super) fn are_of_probes(&self) -> bool {
        self.has_probed
    }

    fn forget(&mut self) {
        *self = Self {
            has_probed: self.has_probed,
            ..Self::default()
        };
    }

    fn end_part(&mut self, level: i64) {
        if self.levels.len() > LONGEST_RISE {
            self.levels.pop_front();
        }
        let before = self.levels.front().copied();
        self.levels.push_back(level);
        self.since_pulse = self.since_pulse.map(|parts| parts + 1);
        match &mut self.rise {
            Some(rise) if level >= rise.peak_bytes => {
                rise.peak_bytes = level;
                rise.since_peak = 0;
                if level * 100 > rise.base_bytes * (100 + MOST_PERCENT) {
                    self.forget();
                }
            }
            Some(rise) => {
                rise.since_peak += 1;
                let since_peak = rise.since_peak;
                if is_above(rise.peak_bytes, level) {
                    let period = self.since_pulse.map(|parts| parts - since_peak);
                    if period.is_some_and(|period| period < LEAST_PERIOD) {
                        self.in_a_row = 0;
                    }
                    self.in_a_row += 1;
                    self.since_pulse = Some(since_peak);
                    self.rise = None;
                    self.has_probed = self.in_a_row >= MIN_PULSES;
                } else if since_peak > LONGEST_FALL {
                    self.forget();
                }
            }
            None => {
                self.rise = before
                    .filter(|before| is_above(level, *before))
                    .map(|base_bytes| Rise {
                        base_bytes,
                        peak_bytes: level,
                        since_peak: 0,
                    });
            }
        }
    }
}

/// True if `level` is above `base` by at least what a pulse adds.
fn is_above(level: i64, base: i64) -> bool {
    let by = level - base;
    by >= LEAST_BYTES && by * 100 >= base * LEAST_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_MS: i64 = 40;

    /// True if a sender whose window has these sizes in segments, each for a quarter of a round trip, probes.
    fn is_probing(windows: impl IntoIterator<Item = i64>) -> bool {
        probes_of(windows).are_of_probes()
    }

    fn probes_of(windows: impl IntoIterator<Item = i64>) -> Pulses {
        let mut pulses = Pulses::default();
        for (part, segments) in (0..).zip(windows) {
            // Flights between the answers to two ACKs.
            for below in [2, 0, 1] {
                let at = Timestamp::from_nanos((part * RTT_MS / PARTS) * 1_000_000 + 3 - below);
                let rtt = TimeDelta::from_millis(RTT_MS);
                pulses.send(at, (segments - below) * 1_460, rtt);
            }
        }
        pulses
    }

    /// One window in all parts of a round trip.
    fn round(window: i64) -> impl Iterator<Item = i64> {
        (0..PARTS).map(move |_| window)
    }

    /// The flight of a gain cycle of BBR: a quarter more within a round trip, which then drains.
    fn cycle(base: i64) -> impl Iterator<Item = i64> {
        let rise = (1..=PARTS).map(move |part| base + base * part / (4 * PARTS));
        let fall = (0..PARTS).map(move |part| base + base * (PARTS - part) / (4 * PARTS));
        let cruise = (0..6).flat_map(move |_| round(base));
        rise.chain(fall).chain(cruise)
    }

    #[test]
    fn three_gain_cycles_are_probes() {
        for base in [16, 43, 700] {
            let cycles = |count: usize| (0..count).flat_map(move |_| cycle(base));
            assert!(is_probing(cycles(4)), "{base}");
            assert!(!is_probing(cycles(2)), "{base}");
        }
    }

    #[test]
    fn cycles_with_a_loss_between_them_are_no_probes() {
        let mut pulses = Pulses::default();
        for turn in 0..20 {
            for (part, segments) in (0..).zip(cycle(43)) {
                let at = (turn * 32 + part) * RTT_MS / PARTS;
                let rtt = TimeDelta::from_millis(RTT_MS);
                pulses.send(Timestamp::from_nanos(at * 1_000_000), segments * 1_460, rtt);
            }
            pulses.send_again();
        }
        assert!(!pulses.are_of_probes());
    }

    #[test]
    fn blocks_of_an_application_are_no_probes() {
        for period in [3, 4, 8, 12] {
            let blocks = (0..400).map(|part| 80 + 20 * i64::from(part % period < period / 2));
            assert!(!is_probing(blocks), "{period}");
        }
    }

    #[test]
    fn windows_that_grow_with_acks_or_follow_the_delay_are_no_probes() {
        // A segment per round trip up to a cut without a loss, as of CDG.
        let sawtooth = |from: i64, to: i64| (0..40).flat_map(move |_| (from..=to).flat_map(round));
        assert!(!is_probing(sawtooth(12, 18)));
        assert!(!is_probing(sawtooth(20, 30)));
        assert!(!is_probing(sawtooth(100, 130)));
        // Vegas.
        assert!(!is_probing((0..400).map(|part| 20 + part % 3)));
        // Slow start, again and again from a pause of the application.
        let slow_start = |_| (0..5).flat_map(|turn| round(10 << turn));
        assert!(!is_probing((0..20).flat_map(slow_start)));
    }
}
