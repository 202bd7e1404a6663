//! Time that each limit held a sender back.

use tcpexp_units::{TimeDelta, Timestamp};

use super::sample::Limit;

/// Time spent in each limit, as in `tcp_info` (RFC 4898's `SndLimTime`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTime {
    /// Time with data outstanding (`tcpi_busy_time`). `None` if the order of the sender's events is not in the
    /// capture: away from the sender, data is outstanding before and after the capture sees it.
    pub busy: Option<TimeDelta>,
    /// Time with data outstanding and no room for a segment in the receiver's window
    /// (`tcpi_rwnd_limited`). Zero if the window scale is unknown; `None` if `busy` is.
    pub receiver_window: Option<TimeDelta>,
    /// Time with the congestion window filled, or losses being repaired. `None` if the flight does not
    /// show the window: for a paced sender, and if `busy` is `None`.
    pub congestion_window: Option<TimeDelta>,
}

/// Accumulates the time between events.
#[derive(Debug, Default)]
pub(super) struct Limits {
    busy: TimeDelta,
    receiver_window: TimeDelta,
    congestion_window: TimeDelta,
    since: Option<Timestamp>,
    is_busy: bool,
    limit: Option<Limit>,
}

impl Limits {
    /// Adds the time up to `at` to the current state.
    pub(super) fn pass(&mut self, at: Timestamp) {
        // Time that a clock shows again after it was set back counts once, so no sum exceeds the span of the rows.
        let Some(span) = self
            .since
            .map_or(Some(TimeDelta::ZERO), |since| at.checked_since(since))
        else {
            return;
        };
        self.since = Some(at);
        if !self.is_busy {
            return;
        }
        self.busy += span;
        match self.limit {
            Some(Limit::ReceiverWindow) => self.receiver_window += span,
            Some(Limit::CongestionWindow) => self.congestion_window += span,
            Some(Limit::Application) | None => {}
        }
    }

    /// Sets the state from the latest event on.
    pub(super) fn set(&mut self, is_busy: bool, limit: Option<Limit>) {
        self.is_busy = is_busy;
        self.limit = limit;
    }

    /// Makes the limit since the latest event unknown.
    #[cold]
    pub(super) fn doubt(&mut self) {
        self.limit = None;
    }

    /// The times so far. `is_ordered` is false if the capture does not show the order of the sender's events, and
    /// `shows_window` if the flight does not show the window.
    pub(super) fn times(&self, is_ordered: bool, shows_window: bool) -> LimitedTime {
        LimitedTime {
            busy: is_ordered.then_some(self.busy),
            receiver_window: is_ordered.then_some(self.receiver_window),
            congestion_window: (is_ordered && shows_window).then_some(self.congestion_window),
        }
    }
}
