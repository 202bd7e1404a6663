//! How a sender repairs losses: when a recovery begins and ends, and what is sent again why.

use tcpexp_flow::StreamOffset;
use tcpexp_units::Timestamp;

use super::{ANSWER, Engine, Order, Settling};
use crate::sender::SenderRow;
use crate::sender::event::{Acked, Sent};
use crate::sender::recovery::{RecoveryEpoch, RecoveryKind, Running, State};
use crate::sender::reduction::Reduction;
use crate::sender::resent::{EarlierCopy, Resent, ResentCause};

impl Engine<'_> {
    pub(super) fn send_again(
        &mut self,
        sent: &Sent,
        earlier_copy: Option<EarlierCopy>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let cause = self.cause(sent);
        self.counts.resent += 1;
        match cause {
            ResentCause::Needless => {}
            ResentCause::TailLossProbe => {
                self.has_probed = true;
                self.board.probe(sent.at, sent.start, sent.end);
            }
            ResentCause::Timeout => self.time_out(sent, rows),
            ResentCause::AfterTimeout => self.resend(sent),
            ResentCause::FastRetransmit | ResentCause::ReorderingTimer => {
                if self.recovery.state != State::Recovery {
                    self.detect(sent.at, sent.record);
                    let heard = self.last_heard.filter(|heard| sent.at - *heard < ANSWER);
                    let srtt = self.timer.srtt().unwrap_or_default();
                    let reducing = self.undecided.reducing(sent.at, srtt, self.window.cwnd);
                    let began = reducing.or(heard).unwrap_or(sent.at);
                    self.enter(RecoveryKind::Fast, began, rows);
                }
                self.resend(sent);
            }
        }
        if self.order == Order::NotSeen {
            return;
        }
        rows.extend([SenderRow::Resent(Resent {
            flow: self.flow,
            direction: self.direction,
            at: sent.at,
            start: sent.start,
            end: sent.end,
            cause,
            earlier_copy,
        })]);
    }

    fn resend(&mut self, sent: &Sent) {
        let segments = self.board.send_again(sent.at, sent.start, sent.end);
        self.recovery.resent(segments, sent.stamp);
        self.reduction.send(segments);
    }

    /// Why data is sent again.
    fn cause(&self, sent: &Sent) -> ResentCause {
        let mut missing = self.board.missing(sent.start, sent.end);
        let Some(first) = missing.next() else {
            return ResentCause::Needless;
        };
        let last = missing.last().unwrap_or(first);
        let is_head = Some(first.start) == self.una;
        let is_tail = Some(last.end) == self.nxt;
        let heard = self.last_heard.unwrap_or(first.sent);
        let is_answer = sent.at - heard < ANSWER;
        let armed = self
            .last_advance
            .map_or(first.sent, |at| at.max(first.sent));
        let waited = (sent.at - armed).as_nanos();
        let is_expired = waited >= self.timer.rto().as_nanos() / 10 * 9;
        if is_head && is_expired && !(is_answer && self.board.owes()) {
            let may_be_probe = is_tail && self.recovery.is_open() && !self.has_probed;
            if !may_be_probe || !self.timer.is_linux() {
                return ResentCause::Timeout;
            }
        }
        match self.recovery.state {
            State::Loss => return ResentCause::AfterTimeout,
            State::Recovery => return ResentCause::FastRetransmit,
            State::Open | State::Reducing => {}
        }
        let srtt = self.timer.srtt().unwrap_or_default().as_nanos();
        let idle = (sent.at - self.last_sent.map_or(heard, |at| at.max(heard))).as_nanos();
        if is_tail && !is_answer && !self.board.has_sacked() && idle * 10 >= srtt * 18 {
            ResentCause::TailLossProbe
        } else if is_answer {
            ResentCause::FastRetransmit
        } else {
            ResentCause::ReorderingTimer
        }
    }

    fn time_out(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
        if self.recovery.state != State::Loss {
            self.enter(RecoveryKind::Timeout, sent.at, rows);
        }
        self.timer.back_off();
        self.board.time_out(sent.at, self.side.has_sack);
        self.resend(sent);
    }

    /// Marks lost what an ACK shows to be lost; tells how many segments.
    pub(super) fn detect(&mut self, at: Timestamp, record: u64) -> u32 {
        if !self.side.has_sack {
            return 0;
        }
        self.board.detect(at, record, &self.side.retransmissions)
    }

    pub(super) fn enter(
        &mut self,
        kind: RecoveryKind,
        at: Timestamp,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let Some(nxt) = self.nxt else {
            return;
        };
        self.settle_at_once(at, rows);
        // What was known before a timeout that interrupts a recovery is what the recovery knew.
        let before = (self.window.cwnd, self.window.is_filled);
        if let Some(interrupted) = self.recovery.end() {
            let threshold = self.backoff.threshold(interrupted.cwnd_before);
            self.report(&interrupted, Some(at), threshold, false, rows);
        }
        self.settle(None, rows);
        self.give_up_regrowing(rows);
        let (ssthresh, threshold) = (self.window.ssthresh, self.backoff.threshold(before.0));
        self.recovery
            .begin(kind, at, self.una.unwrap_or(nxt)..nxt, before, ssthresh);
        self.window.reduce(threshold);
        self.hints.lose();
        self.counts.recoveries += 1;
        self.counts.timeouts += u32::from(kind == RecoveryKind::Timeout);
        self.reduction = Reduction::new(before.0, threshold);
    }

    /// Whether all is repaired that was sent when the recovery began.
    ///
    /// Without SACK more than that must be acknowledged, or duplicate ACKs of the same number would
    /// begin another recovery (RFC 6582, section 4).
    pub(super) fn is_repaired_by(&self, una: StreamOffset) -> bool {
        let high = self.recovery.running.map(|running| running.high);
        high.is_some_and(|high| una > high || una == high && self.side.has_sack)
    }

    /// Whether all is acknowledged that was to be repaired, but no more than that: then a sender
    /// without SACK waits. What duplicate ACKs stood for counts as outstanding again.
    pub(super) fn is_held(&self, una: StreamOffset) -> bool {
        let high = self.recovery.running.map(|running| running.high);
        !self.side.has_sack && high == Some(una)
    }

    /// Whether the ACK shows that nothing was lost, by when the sender takes its reduction back: at
    /// once, unless copies of what was not lost are still in the network.
    pub(super) fn was_needless(&self, acked: &Acked, advanced: bool) -> bool {
        let is_late = advanced && self.recovery.answers_original(acked.echo);
        let is_known = match self.recovery.state {
            State::Recovery => !self.board.has_retransmitted() || self.is_repaired_by(acked.ack),
            _ => true,
        };
        is_late && is_known || self.recovery.is_refuted()
    }

    pub(super) fn leave(&mut self, acked: &Acked, undone: bool, rows: &mut impl Extend<SenderRow>) {
        let Some(running) = self.recovery.end() else {
            return;
        };
        let settling = Settling {
            running,
            ended: acked.at,
            has_restarted: false,
        };
        let goes_on = !undone && self.goes_on();
        if undone {
            self.window
                .undo(running.cwnd_before, running.ssthresh_before);
            self.board.undo();
            self.report(&running, Some(acked.at), None, true, rows);
        } else if running.kind == RecoveryKind::Timeout {
            self.regrow(settling, self.board.pipe(), rows);
        } else if let Some(threshold) = self.hidden(&running, goes_on) {
            self.window.settle_unfilled(threshold);
            if running.was_filled && self.reduction.unreached().is_none() {
                self.hints.reduced(running.cwnd_before, threshold);
            }
            self.report(&running, Some(acked.at), Some(threshold), false, rows);
        } else {
            self.window.settle(self.board.pipe());
            self.settling = Some(settling);
        }
        if goes_on {
            self.enter(RecoveryKind::Fast, acked.at, rows);
        }
    }

    /// Whether the ACK that ends a recovery begins another one, because something that was sent in
    /// the recovery is lost as well and was sent again (`tcp_time_to_recover`). Where it was not
    /// sent again yet, it is not known whether the sender has noticed.
    fn goes_on(&self) -> bool {
        self.side.has_sack && self.timer.is_linux() && self.board.has_retransmitted()
    }

    /// The threshold of a recovery that does not show in what the sender fills after it: because
    /// something else held it back, because another recovery follows at once, or because without
    /// SACK all that duplicate ACKs stood for counts as outstanding again.
    fn hidden(&mut self, running: &Running, goes_on: bool) -> Option<u32> {
        let is_blurred = !self.side.has_sack && running.kind == RecoveryKind::Fast;
        let last = (is_blurred || goes_on).then(|| self.reduction.latest());
        let seen = self.reduction.unreached().or(last)?;
        Some(self.learn(running, seen))
    }

    /// The threshold of a recovery that shows to be about `seen`.
    fn learn(&mut self, running: &Running, seen: u32) -> u32 {
        if running.was_filled {
            self.backoff.see(running.cwnd_before, seen);
        }
        self.backoff.near(running.cwnd_before, seen)
    }

    /// Looks at what the sender fills right after a recovery, once it has sent: the threshold that
    /// the recovery set, unless the receiver's window is smaller.
    pub(super) fn see_settled(&mut self, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        let (Some(una), Some(nxt), Some(settling)) = (self.una, self.nxt, self.settling) else {
            return;
        };
        if !self.has_sent {
            return;
        }
        if !self.is_closed(una, nxt) {
            self.settle(Some(self.board.pipe()), rows);
        } else if self
            .timer
            .srtt()
            .is_none_or(|srtt| at - settling.ended > srtt)
        {
            self.settle(None, rows);
        }
    }

    /// Another recovery begins with the ACK that ended one, so that nothing is filled in between.
    fn settle_at_once(&mut self, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        let answer = self.order.answer();
        let is_now = |settling: &mut Settling| at - settling.ended < answer;
        if let Some(Settling { running, ended, .. }) = self.settling.take_if(is_now) {
            let threshold = self.learn(&running, self.reduction.latest());
            self.window.settle_unfilled(threshold);
            self.report(&running, Some(ended), Some(threshold), false, rows);
        }
    }

    /// The threshold of the recovery that ended last shows to be about `filled`, if at all.
    pub(super) fn settle(&mut self, filled: Option<u32>, rows: &mut impl Extend<SenderRow>) {
        let Some(settling) = self.settling.take() else {
            return;
        };
        let running = settling.running;
        let threshold = match filled {
            Some(filled) if settling.has_restarted => {
                return self.regrow(settling, filled, rows);
            }
            Some(filled) => {
                self.window.settle(filled);
                let threshold = self.learn(&running, filled);
                if running.was_filled {
                    self.hints.reduced(running.cwnd_before, threshold);
                }
                self.window.ssthresh = Some(threshold);
                Some(threshold)
            }
            None => self.backoff.threshold(running.cwnd_before),
        };
        self.report(&running, Some(settling.ended), threshold, false, rows);
    }

    /// A recovery has ended in slow start, with `pipe` segments in the network; its threshold is
    /// that of the rule, or shows where slow start ends.
    fn regrow(&mut self, settling: Settling, pipe: u32, rows: &mut impl Extend<SenderRow>) {
        let threshold = self.backoff.threshold(settling.running.cwnd_before);
        self.window.resume(pipe, threshold);
        if threshold.is_some() {
            let ended = Some(settling.ended);
            self.report(&settling.running, ended, threshold, false, rows);
        } else {
            self.regrowing = Some(settling);
        }
    }

    /// Looks whether slow start has ended.
    pub(super) fn see_regrown(&mut self, rows: &mut impl Extend<SenderRow>) {
        if self.window.ssthresh.is_some() {
            self.give_up_regrowing(rows);
        }
    }

    /// Tells of the recovery whose threshold slow start was to show, with it if it has.
    pub(super) fn give_up_regrowing(&mut self, rows: &mut impl Extend<SenderRow>) {
        if let Some(Settling { running, ended, .. }) = self.regrowing.take() {
            self.report(&running, Some(ended), self.window.ssthresh, false, rows);
        }
    }

    pub(super) fn report(
        &mut self,
        running: &Running,
        ended: Option<Timestamp>,
        ssthresh: Option<u32>,
        was_undone: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
        if self.order == Order::NotSeen {
            return;
        }
        let losses = self.losses.as_mut();
        let lost_packets = losses.map(|losses| losses.recover(running.high));
        rows.extend([SenderRow::Recovery(RecoveryEpoch {
            flow: self.flow,
            direction: self.direction,
            epoch: running.epoch,
            kind: running.kind,
            began: running.began,
            ended,
            high: running.high,
            cwnd_before_segments: Some(running.cwnd_before),
            ssthresh_segments: ssthresh,
            was_undone,
            lost_packets,
        })]);
    }
}
