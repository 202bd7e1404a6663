//! Westwood+: Reno, but after a loss the window is the measured bandwidth times the minimum
//! round-trip time.

use super::{Ack, Counter, HZ, MIN_THRESHOLD, Rule, TICK_US, halved};

/// Least span of a bandwidth sample, in ticks: 50 ms (`TCP_WESTWOOD_RTT_MIN`).
const MIN_SPAN: i64 = HZ / 20;

/// Times in timer ticks, as in Linux.
#[derive(Debug, Default)]
pub(super) struct Westwood {
    counter: Counter,
    /// Bytes per tick, smoothed once and twice.
    once: i64,
    twice: i64,
    since: Option<i64>,
    bytes: i64,
    rtt: i64,
    least_rtt: Option<i64>,
    smss_bytes: i64,
}

impl Westwood {
    fn filter(&mut self, span: i64) {
        let sample = self.bytes / span;
        if self.once == 0 && self.twice == 0 {
            self.once = sample;
            self.twice = sample;
        } else {
            self.once = (7 * self.once + sample) >> 3;
            self.twice = (7 * self.twice + self.once) >> 3;
        }
    }
}

impl Rule for Westwood {
    fn observe(&mut self, ack: &Ack) {
        let now = ack.at_us / TICK_US;
        self.smss_bytes = i64::from(ack.smss_bytes);
        if let Some(rtt_us) = ack.rtt_us {
            self.rtt = (rtt_us + TICK_US - 1) / TICK_US;
            self.least_rtt = Some(self.least_rtt.map_or(self.rtt, |least| least.min(self.rtt)));
        }
        let since = *self.since.get_or_insert(now);
        let span = now - since;
        if self.rtt > 0 && span > self.rtt.max(MIN_SPAN) {
            self.filter(span);
            self.bytes = 0;
            self.since = Some(now);
        }
        self.bytes += i64::try_from(ack.bytes).unwrap_or(0);
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.counter.grow(cwnd, cwnd, ack.segments)
    }

    /// Linux reduces as Reno does, and sets the window at the end of the recovery.
    fn reduce(&mut self, cwnd: u32) -> u32 {
        halved(cwnd)
    }

    fn settle(&mut self, _threshold: u32) -> u32 {
        let bytes = self.twice * self.least_rtt.unwrap_or(0);
        let segments = bytes / self.smss_bytes.max(1);
        u32::try_from(segments).unwrap_or(0).max(MIN_THRESHOLD)
    }

    fn begin(&mut self) {
        self.counter.reset();
    }
}
