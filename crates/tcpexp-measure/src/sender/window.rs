//! The congestion window: seen where the sender fills it, replayed where it does not.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use super::profile::{Growth, Profile};
use super::sample::CwndSource;

/// ACKs over which the sender is judged to fill its window or not. Chosen on captures whose senders'
/// kernels logged cwnd.
const JUDGED: usize = 8;
/// Fewer give no judgement.
const LEAST_JUDGED: usize = 3;

/// What followed the ACK before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Data was sent at once, as if the ACK had made room for it.
    AtOnce,
    /// Data was sent, for another reason.
    Otherwise,
    /// Nothing was sent.
    Nothing,
    /// Nothing was sent, but this ACK came too soon for that to mean anything.
    NothingYet,
}

impl Reply {
    fn has_sent(self) -> bool {
        matches!(self, Self::AtOnce | Self::Otherwise)
    }
}

/// The sender's state when an ACK arrives, before it is processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    pub(super) at: Timestamp,
    pub(super) pipe: u32,
    pub(super) outstanding: u32,
    pub(super) una: StreamOffset,
    pub(super) nxt: StreamOffset,
    /// Whether the receiver's window has no room for a segment.
    pub(super) is_closed: bool,
    pub(super) reply: Reply,
    pub(super) srtt: Option<TimeDelta>,
}

/// An estimate of the congestion window.
#[derive(Clone, Copy, Debug)]
pub(super) enum CwndEstimate {
    Sure(u32, CwndSource),
    /// The sender, so far limited by its window, sent nothing: because the window shrank, or because
    /// there is nothing to send. The sender's next action decides.
    Undecided,
}

/// The estimate and what it rests on.
#[derive(Debug)]
pub(super) struct Window {
    profile: Profile,
    /// Segments.
    pub(super) cwnd: u32,
    pub(super) ssthresh: Option<u32>,
    initial: u32,
    /// Segments acknowledged towards the next increase in congestion avoidance.
    count: u32,
    usage: Usage,
    judged: VecDeque<(bool, u32)>,
    /// Whether the sender hands over several segments at a time, and so not always as many as fit.
    is_bursty: bool,
    /// Estimates of the last round trip, to notice that slow start has ended.
    round: VecDeque<(Timestamp, u32)>,
    pub(super) is_filled: bool,
}

/// How much of the window was used of late (RFC 7661; `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    is_limited: bool,
    most_outstanding: u32,
    until: Option<StreamOffset>,
}

impl Window {
    pub(super) fn new(profile: Profile, is_bursty: bool) -> Self {
        Self {
            profile,
            cwnd: profile.initial_window_segments(),
            ssthresh: None,
            initial: profile.initial_window_segments(),
            count: 0,
            usage: Usage::default(),
            judged: VecDeque::with_capacity(JUDGED + 1),
            is_bursty,
            round: VecDeque::new(),
            is_filled: false,
        }
    }

    /// The estimate while nothing is being repaired.
    pub(super) fn open(&mut self, now: &AckContext) -> CwndEstimate {
        self.is_filled = false;
        if now.is_closed {
            self.judge(now);
            self.cover(now);
            return CwndEstimate::Sure(self.cwnd, CwndSource::ReceiverLimited);
        }
        if self.is_filling() && !now.reply.has_sent() {
            self.is_filled = true;
            return CwndEstimate::Undecided;
        }
        if now.reply != Reply::NothingYet {
            self.judge(now);
        }
        if !self.is_filling() || now.reply != Reply::AtOnce {
            self.cover(now);
            return CwndEstimate::Sure(self.cwnd, CwndSource::ApplicationLimited);
        }
        self.is_filled = true;
        self.cwnd = if self.is_bursty {
            let most = self.judged.iter().map(|&(_, pipe)| pipe).max();
            most.unwrap_or(now.pipe)
        } else {
            now.pipe
        };
        self.notice_slow_start_end(now);
        CwndEstimate::Sure(self.cwnd, CwndSource::Filled)
    }

    /// Whether the sender has mostly sent when an ACK made room.
    fn is_filling(&self) -> bool {
        let filled = self.judged.iter().filter(|(filled, _)| *filled).count();
        self.judged.len() >= LEAST_JUDGED && filled * 10 >= self.judged.len() * 7
    }

    /// What was sent fits into the window.
    fn cover(&mut self, now: &AckContext) {
        if now.reply.has_sent() {
            self.cwnd = self.cwnd.max(now.pipe);
        }
    }

    fn judge(&mut self, now: &AckContext) {
        self.judged
            .push_back((now.reply == Reply::AtOnce && !now.is_closed, now.pipe));
        if self.judged.len() > JUDGED {
            self.judged.pop_front();
        }
    }

    /// The window was reduced without a loss, to what the sender fills now.
    pub(super) fn reduced(&mut self, cwnd: u32) {
        self.cwnd = cwnd;
        self.ssthresh = Some(cwnd);
        self.judged
            .iter_mut()
            .for_each(|judged| *judged = (true, cwnd));
    }

    /// Slow start may end without a loss, at rising delay (`HyStart`, RFC 9406): then a round trip
    /// multiplies the window by less than 1.3.
    fn notice_slow_start_end(&mut self, now: &AckContext) {
        let Some(srtt) = now.srtt else {
            return;
        };
        self.round.push_back((now.at, self.cwnd));
        while self.round.len() > 1 && self.round[1].0 <= now.at - srtt {
            self.round.pop_front();
        }
        let (since, before) = self.round[0];
        let is_round = (now.at - since).as_nanos() * 10 >= srtt.as_nanos() * 9;
        let is_slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        if is_slow_start && is_round && self.cwnd * 10 < before * 13 {
            self.ssthresh = Some(self.cwnd);
        }
    }

    /// Notes how much of the window the sender used since the last ACK.
    pub(super) fn validate(&mut self, now: &AckContext) {
        if !now.reply.has_sent() {
            return;
        }
        let is_limited = now.pipe >= self.cwnd;
        let is_over = self.usage.until.is_none_or(|until| now.una >= until);
        let is_more = !self.usage.is_limited && now.outstanding > self.usage.most_outstanding;
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
        self.usage.is_limited || in_slow_start && self.cwnd < 2 * self.usage.most_outstanding
    }

    /// Grows the replica as the sender does when `delivered` segments are acknowledged.
    pub(super) fn grow(&mut self, delivered: u32) {
        if !self.is_limited() {
            return;
        }
        let mut counted = match self.profile.growth() {
            Growth::PerSegment => delivered,
            Growth::PerAck => 1,
            Growth::Bytes { most } => delivered.min(most),
        };
        let room = match self.ssthresh {
            None => u32::MAX,
            Some(ssthresh) => ssthresh.saturating_sub(self.cwnd),
        };
        let fast = counted.min(room);
        self.cwnd += fast;
        counted -= fast;
        self.count += counted;
        if self.count >= self.cwnd {
            self.count -= self.cwnd;
            self.cwnd += 1;
        }
    }

    /// The sender starts again after a silence of `idle` (RFC 2861; `tcp_cwnd_restart`); tells
    /// whether that was long enough to lower the window.
    pub(super) fn restart(&mut self, idle: TimeDelta, rto: TimeDelta) -> bool {
        let restart = self.initial.min(self.cwnd);
        let mut left = idle - rto;
        let mut cwnd = self.cwnd;
        if left <= TimeDelta::ZERO {
            return false;
        }
        self.keep_threshold();
        while left > TimeDelta::ZERO && cwnd > restart {
            cwnd >>= 1;
            left = left - rto;
        }
        self.cwnd = cwnd.max(restart);
        self.usage = Usage::default();
        self.forget();
        true
    }

    /// Slow start takes the window back to three quarters of what it was (`tcp_current_ssthresh`).
    fn keep_threshold(&mut self) {
        if let Some(ssthresh) = &mut self.ssthresh {
            *ssthresh = (*ssthresh).max(self.cwnd / 4 * 3);
        }
    }

    /// A recovery begins and sets `threshold`, if that is known yet.
    pub(super) fn reduce(&mut self, threshold: Option<u32>) {
        self.ssthresh = threshold.or(self.ssthresh);
        self.forget();
    }

    /// A recovery has ended: the pipe is the reduced window.
    pub(super) fn settle(&mut self, pipe: u32) {
        self.cwnd = pipe.max(1);
        self.ssthresh = Some(self.cwnd);
        self.count = 0;
        self.forget();
        // Whoever repairs losses has more to send than the window allows.
        self.judged.extend([(true, self.cwnd); LEAST_JUDGED]);
    }

    /// What a timeout began has ended: the window grows from what is in the network to `threshold`,
    /// if that is known.
    pub(super) fn resume(&mut self, pipe: u32, threshold: Option<u32>) {
        self.settle(pipe);
        self.ssthresh = threshold;
    }

    /// A recovery has ended in which something else held the sender back.
    pub(super) fn settle_unfilled(&mut self, threshold: u32) {
        self.cwnd = threshold.max(1);
        self.ssthresh = Some(self.cwnd);
        self.count = 0;
        self.forget();
    }

    /// The reduction is taken back.
    pub(super) fn undo(&mut self, cwnd: u32, ssthresh: Option<u32>) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = ssthresh;
        self.forget();
    }

    fn forget(&mut self) {
        self.judged.clear();
        self.round.clear();
    }
}
