//! Westwood+: Reno, but after a loss the window is the measured bandwidth times the minimum
//! round-trip time.

use super::{Ack, Counter, Duplicate, HZ, MIN_THRESHOLD, Rule, TICK_US, halved};

/// Least span of a bandwidth sample, in ticks: 50 ms (`TCP_WESTWOOD_RTT_MIN`).
const MIN_SPAN: i64 = HZ / 20;

/// Times in timer ticks, as in Linux.
#[derive(Clone, Debug, Default)]
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
    /// Bytes counted at duplicate ACKs and not acknowledged since.
    counted: i64,
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

    /// Ends a bandwidth sample if it is long enough (`westwood_update_window`).
    fn update(&mut self, at_us: i64) {
        let now = at_us / TICK_US;
        let since = *self.since.get_or_insert(now);
        let span = now - since;
        if self.rtt > 0 && span > self.rtt.max(MIN_SPAN) {
            self.filter(span);
            self.bytes = 0;
            self.since = Some(now);
        }
    }

    /// Bytes that an ACK counts, less those that duplicate ACKs have counted before
    /// (`westwood_acked_count`).
    fn count(&mut self, bytes: i64) -> i64 {
        if bytes <= self.smss_bytes || self.counted == 0 {
            return bytes;
        }
        if self.counted >= bytes {
            self.counted -= bytes;
            return self.smss_bytes;
        }
        bytes - std::mem::take(&mut self.counted)
    }
}

impl Rule for Westwood {
    fn observe(&mut self, ack: &Ack) {
        self.smss_bytes = i64::from(ack.smss_bytes);
        self.update(ack.at_us);
        let bytes = i64::try_from(ack.bytes).unwrap_or(0);
        self.bytes += self.count(bytes);
        if let Some(rtt_us) = ack.rtt_us {
            self.rtt = (rtt_us + TICK_US - 1) / TICK_US;
            self.least_rtt = Some(self.least_rtt.map_or(self.rtt, |least| least.min(self.rtt)));
        }
    }

    fn observe_duplicate(&mut self, ack: &Duplicate) {
        self.smss_bytes = i64::from(ack.smss_bytes);
        self.update(ack.at_us);
        self.bytes += self.smss_bytes;
        self.counted += self.smss_bytes;
    }

    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32 {
        self.counter.grow(cwnd, cwnd, ack.delivered)
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
