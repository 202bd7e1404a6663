//! One direction of the path: queue, bottleneck, delay, loss.

use super::network::{Path, Policer};
use crate::Prng;

/// The fate of a packet that enters the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Dropped,
    Lost,
    /// Arrival time of the packet, and of its duplicate if there is one.
    Arrives(u64, Option<u64>),
}

#[derive(Debug)]
pub(crate) struct Link {
    path: Path,
    /// Time at which the bottleneck has sent its queue.
    free_at: u64,
    latest_arrival: u64,
    /// Nanoseconds at the policer's rate in its bucket, and when it was last filled.
    tokens: u64,
    filled_at: u64,
}

impl Link {
    pub(crate) fn new(path: Path) -> Self {
        Self {
            path,
            free_at: 0,
            latest_arrival: 0,
            tokens: path.policer.map_or(0, bucket_nanos),
            filled_at: 0,
        }
    }

    /// Decides the fate of a packet on entry: later packets cannot change it in a FIFO queue.
    pub(crate) fn enter(&mut self, now: u64, bytes: u32, prng: &mut Prng) -> Verdict {
        if self.is_out(now) || !self.conforms(now, bytes) {
            return Verdict::Dropped;
        }
        let backlog_nanos = self.free_at.saturating_sub(now);
        let backlog_bytes = transferred_bytes(backlog_nanos, self.path.rate_bps);
        // An idle bottleneck sends a packet at once, even if the packet exceeds the queue.
        if backlog_nanos > 0 && backlog_bytes + u64::from(bytes) > self.path.queue_bytes {
            return Verdict::Dropped;
        }
        // Packets are lost at random behind the bottleneck, so a lost packet takes its time there
        // too.
        self.free_at = now.max(self.free_at) + transfer_nanos(bytes, self.path.rate_bps);
        if prng.chance_ppm(self.path.loss_ppm) {
            return Verdict::Lost;
        }
        let arrival = self.arrival(prng);
        let copied = prng.chance_ppm(self.path.duplicate_ppm);
        let copy = copied.then(|| self.arrival(prng).max(arrival + 1_000));
        // Where the path keeps the order, later packets must not overtake the duplicate either.
        self.latest_arrival = self.latest_arrival.max(copy.unwrap_or(0));
        Verdict::Arrives(arrival, copy)
    }

    fn is_out(&self, now: u64) -> bool {
        self.path.outage.is_some_and(|outage| {
            let since = now.checked_sub(nanos(outage.first));
            since.is_some_and(|since| since % nanos(outage.period) < nanos(outage.length))
        })
    }

    /// Takes tokens for a packet; false if there are too few.
    fn conforms(&mut self, now: u64, bytes: u32) -> bool {
        let Some(policer) = self.path.policer else {
            return true;
        };
        self.tokens = (self.tokens + now - self.filled_at).min(bucket_nanos(policer));
        self.filled_at = now;
        let needed = transfer_nanos(bytes, policer.rate_bps);
        let left = self.tokens.checked_sub(needed);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    fn arrival(&mut self, prng: &mut Prng) -> u64 {
        let jitter = prng.below(nanos(self.path.jitter) + 1);
        let mut at = self.free_at + nanos(self.path.delay) + jitter;
        // A packet with less jitter waits for the packet before it.
        if !self.path.reorders {
            at = at.max(self.latest_arrival);
            self.latest_arrival = at;
        }
        at
    }
}

/// Time that a policer's rate takes to fill its bucket.
fn bucket_nanos(policer: Policer) -> u64 {
    policer.burst_bytes * 8_000_000_000 / policer.rate_bps
}

/// Transmission time of `bytes` bytes at a rate, in nanoseconds.
pub(crate) fn transfer_nanos(bytes: u32, rate_bps: u64) -> u64 {
    u64::from(bytes) * 8_000_000_000 / rate_bps
}

fn transferred_bytes(nanos: u64, rate_bps: u64) -> u64 {
    // The product exceeds 64 bits at two seconds of backlog and 10 Gbit/s.
    (u128::from(nanos) * u128::from(rate_bps) / 8_000_000_000) as u64
}

/// Converts a span of a scenario to the simulator's nanoseconds.
pub(crate) fn nanos(span: tcpexp_units::TimeDelta) -> u64 {
    u64::try_from(span.as_nanos()).expect("a scenario's delays and intervals are not negative")
}
