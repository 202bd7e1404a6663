//! What is told of a sender's state.

use tcpexp_flow::StreamOffset;
use tcpexp_units::Timestamp;

use super::{Engine, Order};
use crate::sender::SenderRow;
use crate::sender::hints::CongestionHint;
use crate::sender::losses::Losses;
use crate::sender::recovery::State;
use crate::sender::sample::{CwndSource, Limit, Phase, SenderSample};
use crate::sender::summary::SenderSummary;
use crate::sender::window::{Moment, Opinion, Reply};

impl Engine<'_> {
    /// Tells the state, at once or when it is known.
    pub(super) fn tell(&mut self, now: &Moment, rows: &mut impl Extend<SenderRow>) {
        if !self.recovery.is_open() {
            self.undecided.give_up(rows);
            let cwnd = match self.recovery.state {
                State::Loss => now.pipe,
                _ if self.is_held(now.una) => self.reduction.latest(),
                _ => self.reduction.look(now.pipe, now.is_closed),
            };
            rows.extend([SenderRow::Sample(self.sample(
                now,
                cwnd,
                CwndSource::Recovery,
            ))]);
            return;
        }
        match self.window.open(now) {
            Opinion::Undecided => {
                let sample = self.sample(now, self.window.cwnd, CwndSource::ApplicationLimited);
                self.undecided.wait(sample, rows);
            }
            Opinion::Sure(cwnd, source) => {
                if source == CwndSource::Filled
                    && let Some(reduced) = self.undecided.decide(now.pipe, rows)
                {
                    self.window.reduced(reduced);
                }
                self.undecided.give_up(rows);
                self.watch(now, cwnd, source);
                rows.extend([SenderRow::Sample(self.sample(now, cwnd, source))]);
            }
        }
    }

    /// Looks for what hints at the congestion control.
    fn watch(&mut self, now: &Moment, cwnd: u32, source: CwndSource) {
        if source != CwndSource::Filled {
            self.hints.forget();
        } else if self.phase() == Phase::CongestionAvoidance {
            self.hints.see(now.at, cwnd, now.srtt);
        }
    }

    fn sample(&self, now: &Moment, cwnd: u32, source: CwndSource) -> SenderSample {
        let smss = self.side.smss_bytes;
        let source = match source {
            _ if self.warming_up.is_some() => CwndSource::WarmUp,
            _ if self.order == Order::NotSeen => CwndSource::NotSeen,
            _ if self.side.is_paced => CwndSource::Paced,
            source => source,
        };
        let is_known = !matches!(
            source,
            CwndSource::WarmUp | CwndSource::Paced | CwndSource::NotSeen
        );
        let cwnd = is_known.then_some(cwnd);
        let is_ordered = self.order != Order::NotSeen;
        SenderSample {
            at: now.at,
            flow: self.flow,
            direction: self.direction,
            snd_una: Some(now.una),
            snd_nxt: Some(now.nxt),
            smss_bytes: Some(smss),
            flight_size_bytes: u64::try_from(now.nxt.since(now.una)).ok(),
            pipe_bytes: is_ordered.then_some(u64::from(now.pipe) * u64::from(smss)),
            pipe_segments: is_ordered.then_some(now.pipe),
            cwnd_segments: cwnd,
            cwnd_bytes: cwnd.map(|cwnd| u64::from(cwnd) * u64::from(smss)),
            cwnd_source: source,
            ssthresh_segments: self.window.ssthresh.filter(|_| is_known),
            phase: is_ordered.then(|| self.phase()),
            recovery_epoch: self.recovery.running.map(|running| running.epoch),
            srtt: self.timer.srtt().filter(|_| is_ordered),
            rto: is_ordered.then(|| self.timer.rto()),
            usable_window_bytes: self.usable(now.una, now.nxt),
            limit: limit(now, source),
        }
    }

    fn phase(&self) -> Phase {
        match self.recovery.state {
            State::Recovery => Phase::FastRecovery,
            State::Loss => Phase::LossRecovery,
            State::Reducing => Phase::WindowReduction,
            State::Open => match self.window.ssthresh {
                Some(ssthresh) if self.window.cwnd >= ssthresh => Phase::CongestionAvoidance,
                _ => Phase::SlowStart,
            },
        }
    }

    fn reply(&self, at: Timestamp) -> Reply {
        let is_soon = |heard| at - heard < self.order.answer();
        match (self.has_sent, self.is_answer) {
            (true, true) => Reply::AtOnce,
            (true, false) => Reply::Otherwise,
            (false, _) if self.last_heard.is_some_and(is_soon) => Reply::NothingYet,
            (false, _) => Reply::Nothing,
        }
    }

    /// From now on the sender is limited by this.
    pub(super) fn note_limit(&mut self) {
        let (Some(una), Some(nxt)) = (self.una, self.nxt) else {
            return;
        };
        let is_closed = self.is_closed(una, nxt);
        let is_filled = self.window.is_filled || !self.recovery.is_open();
        let limit = match (is_closed, is_filled) {
            (true, _) => Some(Limit::ReceiverWindow),
            (false, true) => Some(Limit::CongestionWindow),
            (false, false) => None,
        };
        self.limits.set(una < nxt, limit);
    }

    fn usable(&self, una: StreamOffset, nxt: StreamOffset) -> Option<i64> {
        let window = i64::try_from(self.window_bytes?).ok()?;
        Some(window - nxt.since(una))
    }

    /// Whether what is sent at a time answers the latest ACK.
    pub(super) fn is_answered_at(&self, at: Timestamp) -> bool {
        let answer = self.order.answer();
        self.last_heard.is_some_and(|heard| at - heard < answer)
    }

    /// Whether the receiver's window has no room for a segment.
    pub(super) fn is_closed(&self, una: StreamOffset, nxt: StreamOffset) -> bool {
        self.usable(una, nxt)
            .is_some_and(|usable| usable < i64::from(self.side.smss_bytes))
    }

    pub(super) fn moment(&self, at: Timestamp, una: StreamOffset, nxt: StreamOffset) -> Moment {
        Moment {
            at,
            pipe: self.board.pipe(),
            outstanding: self.board.outstanding(),
            una,
            nxt,
            is_closed: self.is_closed(una, nxt),
            reply: self.reply(at),
            srtt: self.timer.srtt(),
        }
    }

    pub(super) fn summary(self) -> SenderSummary {
        let smss_bytes = self.side.smss_bytes;
        let least_rtt = self.board.least_rtt();
        SenderSummary {
            flow: self.flow,
            direction: self.direction,
            position: self.side.position,
            smss_bytes,
            has_sack: self.side.has_sack,
            window_scale: self.side.window_scale,
            resent: self.counts.resent,
            lost_packets: self.losses.as_ref().map(Losses::lost_packets),
            recoveries: self.counts.recoveries,
            timeouts: self.counts.timeouts,
            limited: self.limits.times(),
            least_rtt,
            greatest_delivery_rate_bps: self.delivery.greatest_bps(),
            model_window_segments: least_rtt
                .and_then(|rtt| self.delivery.model_window_segments(rtt, smss_bytes)),
            hint: match self.order {
                Order::NotSeen => CongestionHint::default(),
                _ => self.hints.hint(self.side.is_paced),
            },
        }
    }
}

fn limit(now: &Moment, source: CwndSource) -> Option<Limit> {
    if now.is_closed {
        return Some(Limit::ReceiverWindow);
    }
    match source {
        CwndSource::Filled | CwndSource::Recovery => Some(Limit::CongestionWindow),
        CwndSource::ReceiverLimited => Some(Limit::ReceiverWindow),
        CwndSource::ApplicationLimited => Some(Limit::Application),
        CwndSource::Measured | CwndSource::WarmUp | CwndSource::Paced | CwndSource::NotSeen => None,
    }
}
