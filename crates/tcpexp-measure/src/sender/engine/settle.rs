//! The slow start threshold set by a recovery.

use tcpexp_units::Timestamp;

use super::state::{Ended, Settling, State};
use super::{Engine, Order};
use crate::sender::recovery::{Before, Recovery, RecoveryEpoch, RecoveryKind};
use crate::sender::reduction::MIN_THRESHOLD;
use crate::sender::row::SenderRow;
use crate::sender::window::{AckContext, Reply};

/// The threshold of a completed recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    /// The threshold by a known rule, if one fits what was seen.
    segments: u32,
    /// What the flight after the recovery showed, where it did.
    seen: Option<u32>,
}

impl Threshold {
    /// A threshold that follows from earlier reductions alone.
    pub(super) fn unseen(segments: u32) -> Self {
        Self {
            segments,
            seen: None,
        }
    }
}

impl Engine<'_> {
    /// Ends a recovery that reduced the window; `goes_on` is true if another recovery follows at
    /// once.
    pub(super) fn settle_after(
        &mut self,
        ended: Ended,
        goes_on: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let recovery = ended.recovery;
        // Slow start follows a timeout, so the flight after its recovery is not the threshold.
        if recovery.kind == RecoveryKind::Timeout {
            self.regrow(ended, self.board.pipe().max(recovery.filled), rows);
            self.window.await_fill();
        } else if let Some(threshold) = self.hidden_threshold(&recovery, goes_on) {
            self.window.settle_unfilled(threshold.segments);
            // The hint needs an observed window on both sides of the reduction.
            if recovery.before.was_filled && recovery.reduction.unreached().is_none() {
                self.totals
                    .hints
                    .reduced(recovery.before.cwnd, threshold.segments);
            }
            self.report(&recovery, Some(ended.at), Some(threshold), rows);
        } else if self.hides_flight(&recovery, goes_on) {
            let threshold = self.settle_unseen(&recovery);
            self.report(&recovery, Some(ended.at), threshold, rows);
        } else {
            let is_shown = recovery.shows_window();
            if is_shown {
                self.window.settle(self.board.pipe());
            } else {
                self.settle_unseen(&recovery);
            }
            self.state = State::Settling(Settling {
                ended,
                is_shown,
                has_restarted: false,
            });
        }
    }

    /// Ends a recovery that showed no threshold, because the sender had no more data.
    fn settle_unseen(&mut self, recovery: &Recovery) -> Option<Threshold> {
        let threshold = self.expected_threshold(&recovery.before);
        match threshold {
            Some(threshold) => self.window.settle_unfilled(threshold),
            None => self.window.hide(self.board.pipe()),
        }
        threshold.map(Threshold::unseen)
    }

    /// Reduces the window for a loss that a tail loss probe has repaired.
    pub(super) fn reduce_at_once(&mut self) {
        let cwnd = (!self.window.is_hidden()).then_some(self.window.cwnd);
        match cwnd.and_then(|cwnd| self.backoff.threshold(cwnd)) {
            Some(threshold) => self.window.settle_unfilled(threshold),
            None => self.window.hide(self.board.pipe()),
        }
        self.totals.hints.lose();
    }

    /// The threshold that earlier reductions suggest for a recovery from this window.
    pub(super) fn expected_threshold(&self, before: &Before) -> Option<u32> {
        self.backoff.threshold(before.known_cwnd()?)
    }

    /// The threshold that a recovery shows and the flight after it does not, because something other
    /// than the window limited the sender, or because of [`hides_flight`](Self::hides_flight).
    fn hidden_threshold(&mut self, recovery: &Recovery, goes_on: bool) -> Option<Threshold> {
        let is_last = self.hides_flight(recovery, goes_on) && recovery.shows_threshold();
        let last = is_last.then(|| recovery.reduction.latest());
        let seen = recovery.reduction.unreached().or(last)?;
        Some(self.learn(recovery, seen))
    }

    /// True if the flight after a recovery does not show its threshold, because:
    ///
    /// - another recovery follows at once, or
    /// - without SACK, the segments that duplicate ACKs stood for are counted as outstanding.
    fn hides_flight(&self, recovery: &Recovery, goes_on: bool) -> bool {
        let is_blurred = !self.subject.side.has_sack && recovery.kind == RecoveryKind::Fast;
        is_blurred || goes_on
    }

    /// The threshold of a recovery whose observed threshold is about `seen`.
    fn learn(&mut self, recovery: &Recovery, seen: u32) -> Threshold {
        let before = recovery.before;
        // A window that was only replayed would teach a wrong factor.
        if before.was_filled {
            self.backoff.see(before.cwnd, seen);
        }
        Threshold {
            segments: self.backoff.near(before.cwnd, seen),
            seen: Some(seen),
        }
    }

    /// Uses the pipe as the threshold of the completed recovery, once the sender has sent data
    /// since, unless the receiver's window limits it.
    pub(super) fn see_settled(&mut self, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        let (Some(stream), State::Settling(settling)) = (self.stream, &self.state) else {
            return;
        };
        // In a gap of the ACKs, the flight is unknown.
        if self.gap.is_open() {
            return;
        }
        // An ACK right after the recovery may find the sender in the middle of its burst.
        if !self.exchange.has_sent() || at - settling.ended.at < self.subject.order.answer() {
            return;
        }
        let settling = *settling;
        if !self.is_held_by_receiver(&stream) {
            self.settle(settling, at, rows);
            return;
        }
        // After a round trip, the window may have grown beyond the threshold.
        let since = at - settling.ended.at;
        if self.timer.srtt().is_none_or(|srtt| since > srtt) {
            self.state = State::Open;
            self.close(State::Settling(settling), rows);
        }
    }

    /// True if the sender has not filled its window since the recovery that just ended, so that the pipe is not
    /// the window: the ACK that ended the recovery may cover most of the data in flight.
    pub(super) fn is_unsettled(&self, now: &AckContext) -> bool {
        let State::Settling(settling) = &self.state else {
            return false;
        };
        // The ACK takes a segment out of the network before the sender answers it.
        settling.is_shown && now.pipe + 1 < settling.ended.recovery.reduction.latest()
    }

    fn settle(&mut self, settling: Settling, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        self.state = State::Open;
        let (ended, pipe) = (settling.ended, self.board.pipe());
        // The window after an idle time is lower: one sender filled 13 segments where the kernel
        // had a threshold of 54.
        if settling.has_restarted {
            self.regrow(ended, pipe, rows);
            return;
        }
        let recovery = ended.recovery;
        if !self.fills_again(&settling, at, pipe) {
            let threshold = self.expected_threshold(&recovery.before);
            if let Some(threshold) = threshold.filter(|_| settling.is_shown) {
                self.window.settle_unfilled(threshold);
            }
            let threshold = threshold.map(Threshold::unseen);
            self.report(&recovery, Some(ended.at), threshold, rows);
            return;
        }
        self.window.settle(pipe);
        // The pipe may be a segment off: the ACK that ended the recovery may have grown the window.
        let threshold = self.learn(&recovery, pipe);
        if recovery.before.was_filled {
            self.totals
                .hints
                .reduced(recovery.before.cwnd, threshold.segments);
        }
        self.window.ssthresh = Some(threshold.segments);
        self.report(&recovery, Some(ended.at), Some(threshold), rows);
    }

    /// True if the window limits the flight of `pipe` segments after a recovery, so that the flight
    /// shows the threshold.
    fn fills_again(&self, settling: &Settling, at: Timestamp, pipe: u32) -> bool {
        let recovery = &settling.ended.recovery;
        let before = recovery.before;
        let expected = self.expected_threshold(&before);
        if settling.is_shown {
            // A sender that had reached the expected threshold and keeps less in flight now has no more data: the
            // end of a recovery sets the window to the threshold (RFC 6937, section 3; `tcp_end_cwnd_reduction`).
            let expected = expected.filter(|_| self.backoff.is_known());
            let reached = expected.map(|expected| expected.min(recovery.reduction.latest()));
            return pipe + 1 >= reached.unwrap_or(0);
        }
        let answers = self.exchange.reply(at) == Reply::AtOnce && !self.exchange.is_drained;
        // The last segment of a write may be a full one. No factor in use is below 1/2.
        answers && pipe + 1 >= expected.unwrap_or(before.cwnd / 2)
    }

    /// Reports the completed recovery if the ACK that ended it begins another, with no data sent
    /// between.
    pub(super) fn settle_at_once(&mut self, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        let State::Settling(Settling { ended, .. }) = self.state else {
            return;
        };
        if at - ended.at < self.subject.order.answer() {
            self.state = State::Open;
            let recovery = ended.recovery;
            if !recovery.shows_window() {
                let threshold = self.settle_unseen(&recovery);
                self.report(&recovery, Some(ended.at), threshold, rows);
                return;
            }
            // No data was sent since the recovery, so its last window stands for the flight after
            // it.
            let threshold = self.learn(&recovery, recovery.reduction.latest());
            self.window.settle_unfilled(threshold.segments);
            self.report(&recovery, Some(ended.at), Some(threshold), rows);
        }
    }

    /// Ends a recovery in slow start with `pipe` segments in the network. Its threshold comes from
    /// earlier reductions or from the end of slow start.
    fn regrow(&mut self, ended: Ended, pipe: u32, rows: &mut impl Extend<SenderRow>) {
        let threshold = self.expected_threshold(&ended.recovery.before);
        self.window.resume(pipe, threshold);
        if !ended.recovery.before.is_known {
            self.window.miss_threshold();
        }
        if threshold.is_some() {
            let threshold = threshold.map(Threshold::unseen);
            self.report(&ended.recovery, Some(ended.at), threshold, rows);
        } else {
            self.state = State::Regrowing(ended);
        }
    }

    /// True if the window may have reached the unknown threshold of a timeout.
    pub(super) fn may_have_regrown(&self) -> bool {
        let State::Regrowing(ended) = &self.state else {
            return false;
        };
        let before = ended.recovery.before;
        // Linux computes the threshold from cwnd, not from FlightSize (RFC 5681, equation 4).
        let least = match before.known_cwnd() {
            Some(cwnd) if self.timer.is_linux() => cwnd / 2,
            _ => ended.recovery.least_threshold(),
        };
        let is_below = self.window.cwnd < least.max(MIN_THRESHOLD) && !self.window.is_hidden();
        self.window.ssthresh.is_none() && !is_below
    }

    /// Reports the recovery whose threshold is the window at the end of slow start, once slow start
    /// ends.
    pub(super) fn see_regrown(&mut self, rows: &mut impl Extend<SenderRow>) {
        if self.window.ssthresh.is_some() && matches!(self.state, State::Regrowing(_)) {
            let state = std::mem::take(&mut self.state);
            self.close(state, rows);
        }
    }

    /// Reports a completed recovery, with its threshold if known by now.
    pub(super) fn close(&mut self, state: State, rows: &mut impl Extend<SenderRow>) {
        let (ended, threshold) = match state {
            State::Open | State::Recovering(_) => return,
            State::Settling(Settling { ended, .. }) => {
                (ended, self.expected_threshold(&ended.recovery.before))
            }
            State::Regrowing(ended) => (ended, self.window.known_ssthresh()),
        };
        let threshold = threshold.map(Threshold::unseen);
        self.report(&ended.recovery, Some(ended.at), threshold, rows);
    }

    pub(super) fn report(
        &mut self,
        recovery: &Recovery,
        ended: Option<Timestamp>,
        threshold: Option<Threshold>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        self.report_as(recovery, ended, threshold, false, rows);
    }

    pub(super) fn report_as(
        &mut self,
        recovery: &Recovery,
        ended: Option<Timestamp>,
        threshold: Option<Threshold>,
        was_undone: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
        // Without the order of events at the sender, start and end of a recovery are unknown.
        if self.subject.order == Order::NotSeen {
            return;
        }
        let is_counted = self.counts_segments();
        let threshold = threshold.filter(|_| is_counted);
        let losses = self.losses.as_mut();
        let lost = losses.map(|losses| recovery.lost + losses.recover(recovery.high));
        rows.extend([SenderRow::Recovery(RecoveryEpoch {
            flow: self.subject.flow,
            direction: self.subject.direction,
            epoch: recovery.epoch,
            kind: recovery.kind,
            began: recovery.began,
            ended,
            high: recovery.high,
            cwnd_before_segments: recovery.before.known_cwnd().filter(|_| is_counted),
            ssthresh_segments: threshold.map(|threshold| threshold.segments),
            seen_ssthresh_segments: threshold.and_then(|threshold| threshold.seen),
            was_undone,
            lost,
        })]);
    }
}
