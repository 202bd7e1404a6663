//! For how long a sender was held back by what.

use tcpexp_units::{TimeDelta, Timestamp};

use super::sample::Limit;

/// Time by what limited the sender, as `tcp_info` counts it (RFC 4898's `SndLimTime`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTime {
    /// With data outstanding (`tcpi_busy_time`).
    pub busy: TimeDelta,
    /// With data outstanding and no room for a segment in the receiver's window
    /// (`tcpi_rwnd_limited`). Zero too where the window's scale is not known.
    pub receiver_window: TimeDelta,
    /// With the congestion window filled, or losses being repaired.
    pub congestion_window: TimeDelta,
}

/// Adds up time from event to event.
#[derive(Debug, Default)]
pub(super) struct Limits {
    times: LimitedTime,
    since: Option<Timestamp>,
    is_busy: bool,
    limit: Option<Limit>,
}

impl Limits {
    /// Time passes up to `at` in the state that was set last.
    pub(super) fn pass(&mut self, at: Timestamp) {
        let span = self.since.map_or(TimeDelta::ZERO, |since| at - since);
        self.since = Some(at);
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

    /// From now on.
    pub(super) fn set(&mut self, is_busy: bool, limit: Option<Limit>) {
        self.is_busy = is_busy;
        self.limit = limit;
    }

    pub(super) fn times(&self) -> LimitedTime {
        self.times
    }
}
