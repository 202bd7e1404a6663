//! The replay of a sender that does not fill its window: its use, its growth and its restart.

use std::mem;

use tcpexp_flow::StreamOffset;
use tcpexp_units::TimeDelta;

use super::{AckContext, Window};
use crate::sender::profile::GrowthUnit;

/// Recent use of the window (RFC 7661; `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    is_limited: bool,
    most_outstanding: u32,
    until: Option<StreamOffset>,
}

impl Window {
    /// Records the use of the window since the last ACK.
    pub(in crate::sender) fn validate(&mut self, now: &AckContext) {
        // Without a transmission since the last ACK, the use of the window is unchanged.
        if !now.reply.has_sent() {
            return;
        }
        let is_limited = now.pipe >= self.cwnd;
        let is_over = self.usage.until.is_none_or(|until| now.una >= until);
        let is_more = !self.usage.is_limited && now.outstanding > self.usage.most_outstanding;
        // The condition of `tcp_cwnd_validate`: the maximum use within one round trip counts.
        if is_over || is_limited || is_more {
            self.usage = Usage {
                is_limited,
                most_outstanding: now.outstanding,
                until: Some(now.nxt),
            };
        }
    }

    fn is_limited(&self) -> bool {
        let in_slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        // `tcp_is_cwnd_limited`: slow start may double the window that is in use.
        self.usage.is_limited || in_slow_start && self.cwnd < 2 * self.usage.most_outstanding
    }

    /// Begins a stream with a window of one segment.
    pub(in crate::sender) fn begin_at_one(&mut self) {
        self.set_cwnd(1);
        self.set_least(0);
    }

    /// Sets the window to a value that the latest ACK has not grown.
    pub(super) fn set_cwnd(&mut self, cwnd: u32) {
        self.cwnd = cwnd;
        self.grown = 0;
    }

    /// Raises the window to what was outstanding before the latest ACK. Only growth beyond that can be taken back.
    pub(in crate::sender) fn hold(&mut self, outstanding: u32) {
        self.cwnd = self.cwnd.max(outstanding);
        self.grown = self.grown.min(self.cwnd - outstanding);
    }

    /// Begins to process an ACK.
    pub(in crate::sender) fn take_ack(&mut self) {
        self.grown = 0;
    }

    /// Takes back what the latest ACK has grown: an ACK that shows a loss reduces the window instead
    /// (`tcp_ack` calls `tcp_fastretrans_alert` before `tcp_cong_control`).
    pub(in crate::sender) fn take_growth_back(&mut self) {
        self.cwnd -= mem::take(&mut self.grown).min(self.cwnd);
    }

    /// Grows the replica as the sender does when `delivered` segments are acknowledged.
    pub(in crate::sender) fn grow(&mut self, delivered: u32) {
        let mut counted = match self.profile.growth_unit() {
            GrowthUnit::PerSegment => delivered,
            GrowthUnit::PerAck => 1,
            GrowthUnit::Bytes { most } => delivered.min(most),
        };
        self.rounds.count(counted);
        // A window that is not used must not grow (RFC 7661).
        if !self.is_limited() {
            return;
        }
        // Between slow start and congestion avoidance, the growth differs by orders of magnitude.
        if !self.has_known_phase() {
            self.unsure = self.unsure.saturating_add(counted);
            return;
        }
        let room = match self.ssthresh {
            None => u32::MAX,
            Some(ssthresh) => ssthresh.saturating_sub(self.cwnd),
        };
        // Slow start ends at `ssthresh`; the rest of the ACK counts for congestion avoidance
        // (`tcp_slow_start`).
        let fast = counted.min(room);
        self.cwnd += fast;
        self.grown += fast;
        counted -= fast;
        // Segments counted before slow start stay counted, but do not grow the window in it.
        if counted == 0 {
            return;
        }
        // RFC 5681, equation 3, in whole segments (`tcp_cong_avoid_ai`), unless the filled window
        // grew faster.
        if self.increase.deliver(counted, self.cwnd) {
            self.cwnd += 1;
            self.grown += 1;
        }
    }

    /// Lowers the window after `idle` time without data (RFC 2861; `tcp_cwnd_restart`). Returns
    /// true if the time exceeds the timeout `rto`.
    pub(in crate::sender) fn restart(&mut self, idle: TimeDelta, rto: TimeDelta) -> bool {
        let restart = self.initial.min(self.cwnd);
        let mut left = idle - rto;
        let mut cwnd = self.cwnd;
        if left <= TimeDelta::ZERO {
            return false;
        }
        // As in `tcp_cwnd_restart`, the threshold depends on the window before it is lowered.
        self.keep_threshold();
        while left > TimeDelta::ZERO && cwnd > restart {
            cwnd >>= 1;
            left = left - rto;
        }
        self.set_cwnd(cwnd.max(restart));
        self.least = self.least.map(|least| least.min(self.cwnd));
        self.usage = Usage::default();
        self.forget();
        true
    }

    /// Slow start may regain three quarters of the current window (`tcp_current_ssthresh`).
    fn keep_threshold(&mut self) {
        let is_assumed = self.ssthresh == self.assumed_ssthresh;
        let is_noticed = self.ssthresh == self.noticed_ssthresh;
        if let Some(ssthresh) = &mut self.ssthresh {
            *ssthresh = (*ssthresh).max(self.cwnd / 2 + self.cwnd / 4);
            self.assumed_ssthresh = is_assumed.then_some(*ssthresh);
            self.noticed_ssthresh = is_noticed.then_some(*ssthresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::profile::Profile;

    /// A window of twelve segments in slow start. The latest ACK has grown it by two.
    fn grown() -> Window {
        let mut window = Window::new(Profile::default(), 1_000, false, true);
        window.usage.is_limited = true;
        window.take_ack();
        window.grow(2);
        window
    }

    #[test]
    fn growth_is_taken_back_once() {
        let mut window = grown();
        assert_eq!(window.cwnd, 12);
        for _ in 0..2 {
            window.take_growth_back();
            assert_eq!(window.cwnd, 10);
        }
    }

    #[test]
    fn a_window_holds_what_was_outstanding_when_growth_is_taken_back() {
        for (outstanding, cwnd, left) in [(5, 12, 10), (11, 12, 11), (16, 16, 16)] {
            let mut window = grown();
            window.hold(outstanding);
            assert_eq!(window.cwnd, cwnd);
            window.take_growth_back();
            assert_eq!(window.cwnd, left);
        }
    }

    #[test]
    fn growth_before_the_window_was_set_is_not_taken_back() {
        let mut window = grown();
        window.begin_in_the_middle(30);
        window.take_growth_back();
        assert_eq!(window.cwnd, 30);
        let mut window = grown();
        window.settle(6);
        window.take_growth_back();
        assert_eq!(window.cwnd, 6);
    }
}
