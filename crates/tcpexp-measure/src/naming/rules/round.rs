//! Round trips, and the round-trip times within them.

use super::Ack;

/// Minimum round-trip time of the current round trip, and of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// `snd_nxt` when the round trip began.
    end: i64,
    pub(super) least_us: Option<i64>,
    pub(super) base_us: Option<i64>,
    pub(super) samples: u32,
}

impl Round {
    pub(super) fn observe(&mut self, ack: &Ack) {
        let Some(rtt_us) = ack.rtt_us else {
            return;
        };
        // One more microsecond, so that no value is zero.
        let rtt_us = rtt_us + 1;
        self.least_us = Some(self.least_us.map_or(rtt_us, |least| least.min(rtt_us)));
        self.base_us = Some(self.base_us.map_or(rtt_us, |base| base.min(rtt_us)));
        self.samples += 1;
    }

    /// True if the ACK covers data sent after the round trip began; begins the next one.
    pub(super) fn is_over(&mut self, ack: &Ack) -> bool {
        if ack.una <= self.end {
            return false;
        }
        self.end = ack.nxt;
        true
    }

    /// Begins a round trip without values.
    pub(super) fn clear(&mut self) {
        self.least_us = None;
        self.samples = 0;
    }

    /// Least round-trip time of the round and of the connection, if there are enough samples for
    /// one that was not delayed by the receiver.
    pub(super) fn times_us(&self) -> Option<(i64, i64)> {
        (self.samples > 2).then_some(())?;
        Some((self.least_us?, self.base_us?))
    }

    /// Begins anew at `nxt`, after a recovery.
    pub(super) fn restart(&mut self, nxt: i64) {
        self.end = nxt;
        self.clear();
    }
}

/// Segments queued in the network: the share of the round-trip time above the minimum.
pub(super) fn excess(cwnd: u32, rtt_us: i64, above: i64) -> u32 {
    let queued = i64::from(cwnd) * (rtt_us - above).max(0) / rtt_us.max(1);
    u32::try_from(queued).unwrap_or(0)
}
