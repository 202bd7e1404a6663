//! Aggregation of ACKs, for which BBR widens its window (`bbr_update_ack_aggregation`).

use tcpexp_units::Timestamp;

use super::delivery::Delivery;
use super::units::{SCALE, micros};

/// Round trips of each half of the window over which the aggregation of ACKs is the maximum
/// (`bbr_extra_acked_win_rtts`).
const EXTRA_ROUNDS: u32 = 5;
/// Segments after which the measurement of aggregation starts anew (`bbr_ack_epoch_acked_reset_thresh`).
const EXTRA_RESET: u64 = 1 << 20;
/// Time of ACKs whose aggregation may widen the window (`bbr_extra_acked_max_us`).
const EXTRA_MOST_US: u64 = 100_000;

/// Segments acknowledged beyond the bandwidth, over the last rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    since: Timestamp,
    acked: u64,
    /// The most of each half of the window.
    most: [u64; 2],
    place: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            since: Timestamp::MIN,
            acked: 0,
            most: [0; 2],
            place: 0,
            rounds: 0,
        }
    }

    /// Starts the measurement anew.
    pub(super) fn restart(&mut self, at: Timestamp) {
        self.since = at;
        self.acked = 0;
    }

    /// Begins a round trip.
    pub(super) fn begin_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= EXTRA_ROUNDS {
            self.rounds = 0;
            self.place = 1 - self.place;
            self.most[self.place] = 0;
        }
    }

    /// Counts the segments of an ACK. At most `cwnd` segments count as aggregated.
    pub(super) fn update(&mut self, now: &Delivery, bandwidth: u64, cwnd: u32) {
        let mut expected = (bandwidth * micros(now.at - self.since)) >> SCALE;
        if self.acked <= expected || self.acked + u64::from(now.segments) >= EXTRA_RESET {
            self.restart(now.at);
            expected = 0;
        }
        self.acked += u64::from(now.segments);
        let extra = self.acked.saturating_sub(expected).min(u64::from(cwnd));
        self.most[self.place] = self.most[self.place].max(extra);
    }

    /// Window for aggregated ACKs (`bbr_ack_aggregation_cwnd`).
    pub(super) fn extra_segments(&self, bandwidth: u64) -> u32 {
        let limit = (bandwidth * EXTRA_MOST_US) >> SCALE;
        let most = self.most[0].max(self.most[1]);
        u32::try_from(most.min(limit)).unwrap_or(0)
    }
}
