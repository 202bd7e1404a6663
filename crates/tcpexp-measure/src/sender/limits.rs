//! Time that each limit held a sender back.

use tcpexp_units::{TimeDelta, Timestamp};

use super::sample::Limit;

/// Time spent in each limit, as in `tcp_info` (RFC 4898's `SndLimTime`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTime {
    /// Time with data outstanding (`tcpi_busy_time`).
    pub busy: TimeDelta,
    /// Time with data outstanding and no room for a segment in the receiver's window
    /// (`tcpi_rwnd_limited`). Zero if the window scale is unknown.
    pub receiver_window: TimeDelta,
    /// Time with the congestion window filled, or losses being repaired.
    pub congestion_window: TimeDelta,
}

/// Accumulates the time between events.
#[derive(Debug, Default)]
pub(super) struct Limits {
    times: LimitedTime,
    since: Option<Timestamp>,
    is_busy: bool,
    limit: Option<Limit>,
}

impl Limits {
    /// Adds the time up to `at` to the current state.
    pub(super) fn pass(&mut self, at: Timestamp) {
        let span = self.since.map_or(TimeDelta::ZERO, |since| at - since);
        self.since = Some(at);
        // Capture times may run backwards; a negative time must not shorten the sums.
        if !self.is_busy || span <= TimeDelta::ZERO {
            return;
        }
        self.times.busy += span;
        match self.limit {
            Some(Limit::ReceiverWindow) => self.times.receiver_window += span,
            Some(Limit::CongestionWindow) => self.times.congestion_window += span,
            Some(Limit::Application) | None => {}
        }
    }

    /// Sets the state from the latest event on.
    pub(super) fn set(&mut self, is_busy: bool, limit: Option<Limit>) {
        self.is_busy = is_busy;
        self.limit = limit;
    }

    pub(super) fn times(&self) -> LimitedTime {
        self.times
    }
}
