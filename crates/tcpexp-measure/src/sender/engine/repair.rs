//! Loss repair: retransmissions, and the start and end of recoveries.

use std::mem;
use std::ops::Range;

use tcpexp_flow::{LossRecoveryKind, RetransmissionCause, RetransmissionEvidence, StreamOffset};
use tcpexp_units::Timestamp;

use super::settle::Threshold;
use super::state::{Ended, State};
use super::{Engine, Order};
use crate::sender::event::{Acked, Sent};
use crate::sender::progress::Progress;
use crate::sender::recovery::{Before, Recovery, RecoveryKind};
use crate::sender::retransmission::{EarlierCopy, Retransmission};
use crate::sender::row::SenderRow;

impl Engine<'_> {
    pub(super) fn retransmit(
        &mut self,
        sent: &Sent,
        earlier_copy: Option<EarlierCopy>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        self.watch_split(sent, rows);
        let is_in = |data: &Range<StreamOffset>| data.start <= sent.start && sent.end <= data.end;
        let cause = if let Some(refused) = self.refused.as_mut().filter(|data| is_in(data)) {
            // What is sent again from here on was sent after the SYN-ACK, so it may be lost.
            refused.start = sent.end;
            RetransmissionCause::RefusedSynData
        } else {
            self.cause(sent)
        };
        self.totals.retransmitted += 1;
        match cause {
            // No missing segment is sent again, so the counters of the scoreboard stay as they are.
            RetransmissionCause::Spurious => {}
            RetransmissionCause::TailLossProbe => {
                self.exchange.has_probed = true;
                self.probed = self.stream.map(|stream| stream.nxt);
                self.board.probe(sent.at, sent.start, sent.end);
            }
            RetransmissionCause::Timeout => self.time_out(sent, rows),
            RetransmissionCause::PathMtu => {
                self.resized = self.stream.map(|stream| stream.nxt);
                self.resend(sent);
            }
            RetransmissionCause::AfterTimeout => {
                if let Some(recovery) = self.state.recovery_mut() {
                    recovery.goes_on_repairing = true;
                }
                self.resend(sent);
            }
            RetransmissionCause::RefusedSynData => self.resend(sent),
            RetransmissionCause::FastRetransmit | RetransmissionCause::ReorderingTimer => {
                if self.state.kind() != Some(RecoveryKind::Fast) {
                    // The retransmission shows that the sender has detected the losses by now.
                    self.detect(sent.at, sent.packet.place);
                    let asked = self.exchange.answers(sent.at);
                    let asked = self.exchange.last_acked().filter(|_| asked);
                    let srtt = self.timer.srtt().unwrap_or_default();
                    let reducing = self.undecided.reducing(sent.at, srtt, self.window.cwnd);
                    // A recovery by the reordering timer has no ACK and begins with the
                    // retransmission.
                    let began = reducing.or(asked).unwrap_or(sent.at);
                    if reducing.is_none() && asked.is_some() {
                        self.window.take_growth_back();
                    }
                    self.enter(RecoveryKind::Fast, began, rows);
                }
                self.resend(sent);
            }
        }
        // Without the order of events at the sender, the cause is unknown.
        if self.subject.order == Order::NotSeen {
            return;
        }
        rows.extend([SenderRow::Retransmission(Retransmission {
            flow: self.subject.flow,
            direction: self.subject.direction,
            number: self.totals.retransmitted - 1,
            record: sent.packet.record,
            at: sent.at,
            start: sent.start,
            end: sent.end,
            cause,
            earlier_copy,
        })]);
    }

    fn resend(&mut self, sent: &Sent) {
        let smss_bytes = self.subject.side.smss_bytes;
        let segments = self
            .board
            .send_again(sent.at, sent.start, sent.end, smss_bytes);
        if let Some(recovery) = self.state.recovery_mut() {
            recovery.retransmit(segments, sent.stamp);
        }
    }

    /// Determines the cause of a retransmission.
    fn cause(&self, sent: &Sent) -> RetransmissionCause {
        let mut missing = self.board.missing(sent.start, sent.end);
        let (Some(first), Some(stream)) = (missing.next(), self.stream) else {
            return RetransmissionCause::Spurious;
        };
        let last = missing.last().unwrap_or(first);
        let acked_at = self.exchange.last_acked().unwrap_or(first.sent);
        // An advance of `snd_una` and a retransmission both restart the timer (RFC 6298, sections
        // 5.3 and 5.6).
        let armed = self
            .exchange
            .last_advance()
            .map_or(first.sent, |at| at.max(first.sent));
        let repair = match self.state.kind() {
            Some(RecoveryKind::Fast) => Some(LossRecoveryKind::Fast),
            Some(RecoveryKind::Timeout) => Some(LossRecoveryKind::Timeout),
            // A window reduction after a congestion echo repairs no loss.
            Some(RecoveryKind::CongestionEcho) | None => self
                .resized
                .filter(|end| stream.una < *end)
                .map(|_| LossRecoveryKind::PathMtu),
        };
        let evidence = RetransmissionEvidence {
            is_head: first.start == stream.una,
            is_tail: last.end == stream.nxt,
            is_answer: self.exchange.answers(sent.at),
            has_acks: true,
            is_loss_reported: self.board.has_sacked(),
            owes: self.board.owes(),
            repair,
            // Linux probes only with SACK (`tcp_schedule_loss_probe`).
            may_probe: self.timer.is_linux()
                && self.subject.side.has_sack
                && !self.exchange.has_probed,
            waited: sent.at - armed,
            idle: sent.at
                - self
                    .exchange
                    .last_sent()
                    .map_or(acked_at, |at| at.max(acked_at)),
            srtt: self.timer.srtt(),
            rto: self.timer.rto(),
        };
        evidence.cause()
    }

    fn time_out(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
        // A repeated timeout keeps the threshold of the first (RFC 5681, section 3.1).
        if self.state.kind() != Some(RecoveryKind::Timeout) {
            self.enter(RecoveryKind::Timeout, sent.at, rows);
        }
        if let Some(recovery) = self.state.recovery_mut() {
            recovery.filled = 0;
        }
        self.timer.back_off();
        self.board.time_out(sent.at, self.subject.side.has_sack);
        self.resend(sent);
    }

    /// Marks the segments lost that an ACK shows as lost; returns their number.
    pub(super) fn detect(&mut self, at: Timestamp, place: u64) -> u32 {
        let side = self.subject.side;
        if !side.has_sack {
            return 0;
        }
        self.board.detect(at, place, &side.retransmissions)
    }

    pub(super) fn enter(
        &mut self,
        kind: RecoveryKind,
        at: Timestamp,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let Some(stream) = self.stream else {
            return;
        };
        self.settle_at_once(at, rows);
        // As in `tcp_init_cwnd_reduction`, the reduction counts for the probe too.
        let has_probe = self.probed.take().is_some();
        // A timeout that interrupts a recovery starts from the window before that recovery.
        let hides_window = self.gap.hides_recovery();
        let was_filled = self.window.is_filled && !hides_window;
        let cwnd = self.window.cwnd;
        match mem::take(&mut self.state) {
            State::Recovering(interrupted) => {
                let threshold = self.expected_threshold(&interrupted.before);
                let threshold = threshold.map(Threshold::unseen);
                self.report(&interrupted, Some(at), threshold, rows);
            }
            state => self.close(state, rows),
        }
        let before = Before {
            cwnd,
            ssthresh: self.window.ssthresh,
            was_filled,
            outstanding: self.board.outstanding(),
            is_known: !self.window.is_hidden() && !self.window.is_unsure() && !hides_window,
        };
        let threshold = self.expected_threshold(&before);
        let outstanding = stream.una..stream.nxt;
        let epoch = self.totals.recoveries;
        let mut recovery = Recovery::new(epoch, kind, at, outstanding, before, threshold);
        if has_probe {
            recovery.await_probe();
        }
        self.state = State::Recovering(recovery);
        self.window.reduce(threshold);
        self.totals.hints.lose();
        self.totals.recoveries += 1;
        self.totals.timeouts += u32::from(kind == RecoveryKind::Timeout);
    }

    /// True if the ACK shows that a tail loss probe repaired a loss: it covers data sent after the
    /// probe, and no D-SACK or duplicate ACK came for the probe before (RFC 8985, section 7.4;
    /// `tcp_process_tlp_ack`).
    pub(super) fn was_repaired_by_probe(
        &mut self,
        acked: &Acked,
        progress: &Progress,
        advanced: bool,
    ) -> bool {
        let Some(high) = self.probed.filter(|high| acked.ack >= *high) else {
            return false;
        };
        let is_needless = acked.blocks.duplicate(acked.ack).is_some()
            || !advanced && acked.is_bare && progress.delivered == 0;
        if is_needless || acked.ack > high {
            self.probed = None;
        }
        !is_needless && acked.ack > high
    }

    /// True if the ACK shows that nothing was lost and the sender undoes its reduction
    /// (`tcp_try_undo_recovery`, `tcp_try_undo_loss`). The sender waits while retransmissions of
    /// data that was not lost are in the network.
    pub(super) fn was_spurious(&self, recovery: &Recovery, acked: &Acked, advanced: bool) -> bool {
        let is_late = advanced && recovery.answers_original(acked.echo);
        let has_sack = self.subject.side.has_sack;
        let is_known = recovery.kind != RecoveryKind::Fast
            || !self.board.has_retransmitted()
            || recovery.is_repaired_by(acked.ack, has_sack);
        is_late && is_known || recovery.is_refuted()
    }

    /// True if an ACK after a timeout covers data that was sent only before it, so that the sender
    /// undoes the timeout (F-RTO, RFC 5682, section 3.1, step 3.b; `tcp_process_loss`). A further
    /// retransmission shows that the sender does not.
    pub(super) fn was_spurious_timeout(
        &self,
        recovery: &Recovery,
        acked: &Acked,
        progress: &Progress,
    ) -> bool {
        let side = self.subject.side;
        // A receiver without SACK may have had the data before the timeout.
        let may_undo = recovery.kind == RecoveryKind::Timeout
            && side.has_sack
            && self.timer.is_linux()
            && self.subject.order == Order::Seen
            && !recovery.goes_on_repairing;
        let is_original = |start| start < recovery.high;
        may_undo
            && progress.lowest_original.is_some_and(is_original)
            && !side
                .retransmissions
                .covers(acked.ack, recovery.high, acked.place)
    }

    pub(super) fn leave(&mut self, at: Timestamp, undone: bool, rows: &mut impl Extend<SenderRow>) {
        let State::Recovering(mut recovery) = mem::take(&mut self.state) else {
            return;
        };
        // The missed ACKs would show how the recovery went.
        if self.gap.hides_recovery() {
            self.report(&recovery, Some(at), None, rows);
            return;
        }
        if undone {
            let before = recovery.before;
            self.window.undo(&before);
            self.board.undo();
            self.report_as(&recovery, Some(at), None, true, rows);
            return;
        }
        // The threshold may be known only later, when the losses of this data are forgotten.
        let losses = self.losses.as_mut();
        recovery.lost = losses
            .map(|losses| losses.recover(recovery.high))
            .unwrap_or_default();
        let goes_on = self.goes_on();
        // Settle first: the next recovery starts from the reduced window.
        self.settle_after(Ended { recovery, at }, goes_on, rows);
        if goes_on {
            self.enter(RecoveryKind::Fast, at, rows);
        }
    }

    /// True if the ACK that ends a recovery begins another recovery, because data sent during the
    /// first recovery is lost too and was retransmitted (`tcp_time_to_recover`). Before that
    /// retransmission, it is unknown whether the sender has detected the loss.
    fn goes_on(&self) -> bool {
        let is_linux = self.timer.is_linux();
        self.subject.side.has_sack && is_linux && self.board.has_retransmitted()
    }
}
