//! Samples and the summary of a sender's state.

use super::stream::{Room, Stream};
use super::{Engine, Order};
use crate::sender::event::Acked;
use crate::sender::hints::CongestionHint;
use crate::sender::recovery::RecoveryKind;
use crate::sender::row::SenderRow;
use crate::sender::sample::{CwndSource, Limit, Phase, SenderSample};
use crate::sender::summary::SenderSummary;
use crate::sender::window::{AckContext, CwndEstimate, Reply};

impl Engine<'_> {
    /// Emits the state, at once or after the sender's next action.
    pub(super) fn emit_sample(&mut self, now: &AckContext, rows: &mut impl Extend<SenderRow>) {
        let has_sack = self.subject.side.has_sack;
        if let Some(recovery) = self.state.recovery_mut() {
            // Samples held back come first, because the rows of one sender are in time order.
            self.undecided.interrupt(rows);
            let sees_sent = self.subject.order == Order::Seen;
            let cwnd = if recovery.kind == RecoveryKind::Timeout {
                let has_sent = now.reply.has_sent() && !now.is_closed;
                recovery.cwnd_after_timeout(now.pipe, self.board.owes(), has_sent)
            } else {
                recovery.cwnd(now.una, now.pipe, now.is_closed, has_sack, sees_sent)
            };
            let source = match cwnd {
                Some(_) => CwndSource::Recovery,
                None if now.is_closed => CwndSource::ReceiverLimited,
                None => CwndSource::Undecided,
            };
            let sample = self.sample(now, cwnd, source);
            rows.extend([SenderRow::Sample(sample)]);
            return;
        }
        if self.is_unsettled(now) {
            self.undecided.give_up(rows);
            let sample = self.sample(now, None, CwndSource::Undecided);
            rows.extend([SenderRow::Sample(SenderSample {
                ssthresh_segments: None,
                ..sample
            })]);
            return;
        }
        match self.window.open(now) {
            CwndEstimate::Undecided => {
                let sample = self.silent_sample(now);
                self.undecided.wait(&sample, rows);
            }
            CwndEstimate::Resuming => {
                let sample = self.silent_sample(now);
                let pipe = (now.reply == Reply::AtOnce).then_some(now.pipe);
                self.undecided.resume(&sample, pipe, rows);
            }
            CwndEstimate::Sure(_, CwndSource::ReceiverLimited) if now.is_doubtful => {
                self.undecided.give_up(rows);
                self.totals.hints.forget();
                let sample = self.sample(now, None, CwndSource::Undecided);
                rows.extend([SenderRow::Sample(sample)]);
            }
            CwndEstimate::Sure(cwnd, source) => {
                // A window filled again shows whether the sender reduced it during its silence.
                if source == CwndSource::Filled
                    && let Some(reduced) = self.undecided.decide(now.una, now.pipe, rows)
                {
                    self.window.reduced(reduced, now.una, now.nxt);
                }
                self.undecided.give_up(rows);
                self.watch(now, cwnd, source);
                // The window at its last fill is unknown by now if its growth is.
                let cwnd = Some(cwnd).filter(|_| !self.window.is_unsure());
                rows.extend([SenderRow::Sample(self.sample(now, cwnd, source))]);
            }
        }
    }

    /// The sample of a sender that filled its window and is silent since, to be held back.
    fn silent_sample(&self, now: &AckContext) -> SenderSample {
        let sample = self.sample(now, Some(self.window.cwnd), CwndSource::ApplicationLimited);
        // If the sender had no data, the window may have grown since.
        let is_unsure = self.window.is_unsure() && sample.cwnd_segments.is_some();
        let source = if is_unsure {
            CwndSource::Undecided
        } else {
            sample.cwnd_source
        };
        SenderSample {
            cwnd_source: source,
            ..sample
        }
    }

    /// Collects hints at the congestion control.
    fn watch(&mut self, now: &AckContext, cwnd: u32, source: CwndSource) {
        if source != CwndSource::Filled {
            self.totals.hints.forget();
        } else if self.phase() == Phase::CongestionAvoidance {
            let stream = self.stream;
            let is_free = stream.is_some_and(|stream| stream.has_spare_window());
            self.totals.hints.see(now.at, cwnd, now.srtt, is_free);
        }
    }

    pub(super) fn sample(
        &self,
        now: &AckContext,
        cwnd: Option<u32>,
        source: CwndSource,
    ) -> SenderSample {
        let smss = self.subject.side.smss_bytes;
        let is_warming_up = self.stream.is_some_and(|stream| stream.is_warming_up());
        // Slow start may have ended in a gap.
        let is_phase_known = self.window.has_known_phase() && !self.gap.hides_window();
        let is_phase_known = is_phase_known && !self.may_have_regrown();
        let has_phase = !self.state.is_open() || !is_warming_up && is_phase_known;
        // The window in a recovery follows from the pipe, whatever the window before.
        let is_hidden = self.state.is_open() && self.window.is_hidden();
        let is_counted = self.counts_segments();
        let source = match source {
            _ if is_warming_up || !is_counted => CwndSource::WarmUp,
            _ if self.subject.order == Order::NotSeen => CwndSource::NotSeen,
            _ if self.subject.side.is_paced => CwndSource::Paced,
            CwndSource::ApplicationLimited | CwndSource::ReceiverLimited
                if !self.window.is_shown() =>
            {
                CwndSource::WarmUp
            }
            source => source,
        };
        // Whether the sender answers ACKs shows its limit although a gap hides its window. After a reduction of
        // unknown size, answers are too few.
        let is_replayed = source == CwndSource::ApplicationLimited;
        let is_undecided = is_replayed && (is_hidden || cwnd.is_none());
        let limit = match source {
            _ if is_replayed && is_hidden && !self.gap.hides_window() => {
                limit(now, CwndSource::Undecided)
            }
            // The window leaves room, and a recovery does not show whether the sender has more data.
            CwndSource::Recovery if cwnd.is_some_and(|cwnd| now.pipe < cwnd) => {
                limit(now, CwndSource::Undecided)
            }
            source => limit(now, source),
        };
        let source = if is_undecided {
            CwndSource::Undecided
        } else {
            source
        };
        let is_known = !matches!(
            source,
            CwndSource::WarmUp | CwndSource::Paced | CwndSource::NotSeen
        );
        let cwnd = cwnd.filter(|_| is_known && !is_hidden);
        // Where the factor of one reduction differs from that of the next, only the flight after a
        // recovery shows its threshold.
        let is_guessed = !self.state.is_open() && !self.backoff.is_known();
        let is_ordered = self.subject.order != Order::NotSeen;
        // The sample shows the state before the ACK, and the capture does not show how much data from
        // before its first data is in flight then.
        let has_all = self
            .stream
            .is_none_or(|stream| !stream.may_have_older_data());
        let shows_pipe = is_ordered && has_all;
        let srtt = self.timer.srtt();
        let is_timed = is_ordered
            && srtt.is_none_or(|srtt| self.subject.shows(srtt))
            && self.untimed.missing.keeps_srtt();
        let model = self.model.as_ref().filter(|_| is_timed && is_counted);
        SenderSample {
            at: now.at,
            record: Some(now.packet),
            flow: self.subject.flow,
            direction: self.subject.direction,
            snd_una: has_all.then_some(now.una),
            snd_nxt: Some(now.nxt),
            smss_bytes: Some(smss).filter(|_| is_counted),
            flight_size_bytes: u64::try_from(now.nxt.since(now.una))
                .ok()
                .filter(|_| shows_pipe),
            pipe_bytes: self.pipe_bytes(now).filter(|_| shows_pipe),
            pipe_segments: (shows_pipe && is_counted).then_some(now.pipe),
            cwnd_segments: cwnd,
            cwnd_bytes: cwnd.map(|cwnd| u64::from(cwnd) * u64::from(smss)),
            cwnd_source: source,
            ssthresh_segments: self
                .window
                .known_ssthresh()
                .filter(|_| is_known && !is_guessed && !is_hidden),
            phase: (is_ordered && has_phase).then(|| self.phase()),
            recovery_epoch: self.state.recovery().map(|recovery| recovery.epoch),
            // Without the order of events at the sender, the time from data to its ACK has no meaning.
            srtt: srtt.filter(|_| is_timed),
            // Before the first measurement, the initial timeout is no more than a guess: the sender may have measured
            // before the capture began, and after a retransmission of the SYN the timeout is longer (RFC 6298, section
            // 5.7).
            rto: srtt.filter(|_| is_timed).map(|_| self.timer.rto()),
            usable_window_bytes: self
                .stream
                .filter(|_| is_ordered)
                .and_then(|stream| stream.usable_bytes()),
            limit,
            latest_rtt: self.latest_rtt.filter(|rtt| self.subject.shows(*rtt)),
            latest_marked_packets: self.latest_marked_packets,
            model: model.map(|model| model.state()),
        }
    }

    /// Bytes of the pipe, which counts octets (RFC 6675, section 2): segments may be smaller than the SMSS.
    /// Without retransmissions, the pipe is part of the flight.
    fn pipe_bytes(&self, now: &AckContext) -> Option<u64> {
        let full = u64::from(now.pipe) * u64::from(self.subject.side.smss_bytes);
        if self.board.has_retransmitted() {
            return Some(full).filter(|_| !self.is_split);
        }
        let flight = u64::try_from(now.nxt.since(now.una)).ok()?;
        Some(full.min(flight))
    }

    fn phase(&self) -> Phase {
        self.state.phase(self.window.cwnd, self.window.ssthresh)
    }

    /// Sets the sender's limit from now on.
    pub(super) fn note_limit(&mut self) {
        let Some(stream) = self.stream else {
            return;
        };
        let room = self.room(&stream);
        let is_filled = match self.state.recovery() {
            Some(recovery) => recovery.reduction.is_filled(),
            None => self.window.is_filled,
        };
        let limit = match (room, is_filled) {
            _ if self.gap.is_open() => None,
            (Room::Closed, _) => Some(Limit::ReceiverWindow),
            (Room::Free, true) if !self.is_split => Some(Limit::CongestionWindow),
            (Room::Free | Room::Doubtful, _) => None,
        };
        self.totals.limits.set(stream.una < stream.nxt, limit);
    }

    /// True if the receiver's window holds the sender back, or may do so.
    pub(super) fn is_held_by_receiver(&self, stream: &Stream) -> bool {
        self.room(stream) != Room::Free
    }

    /// In a recovery, a sender sends segment by segment.
    fn room(&self, stream: &Stream) -> Room {
        let smss_bytes = self.subject.side.smss_bytes;
        if self.state.is_open() {
            let cwnd_bytes = i64::from(self.window.cwnd) * i64::from(smss_bytes);
            self.exchange.room(stream, smss_bytes, cwnd_bytes)
        } else if stream.is_closed(smss_bytes) {
            Room::Closed
        } else {
            Room::Free
        }
    }

    pub(super) fn context(&mut self, acked: &Acked, stream: &Stream) -> AckContext {
        let at = acked.at;
        let (room, reply) = (self.room(stream), self.exchange.reply(at));
        // Room that the latest ACK made is no room to a sender that had no time to use it.
        let was_held = self.was_held && self.state.is_open() && reply == Reply::NothingYet;
        let is_held = room == Room::Closed || was_held;
        self.was_held = is_held;
        AckContext {
            at,
            packet: acked.packet,
            pipe: self.board.pipe(),
            outstanding: self.board.outstanding(),
            una: stream.una,
            nxt: stream.nxt,
            is_closed: is_held || room == Room::Doubtful,
            is_doubtful: !is_held && room == Room::Doubtful,
            reply,
            is_drained: self.exchange.is_drained,
            has_probed: self.exchange.has_probed_anew,
            srtt: self.timer.srtt(),
        }
    }

    pub(super) fn summary(self) -> SenderSummary {
        let smss_bytes = self.subject.side.smss_bytes;
        let least_rtt = self.board.least_rtt();
        let least_rtt = least_rtt.filter(|rtt| self.subject.shows(*rtt));
        let is_ordered = self.subject.order != Order::NotSeen;
        let shows_window = !self.subject.side.is_paced && !self.is_split;
        let is_counted = self.subject.side.is_smss_known;
        SenderSummary {
            flow: self.subject.flow,
            direction: self.subject.direction,
            position: self.subject.side.position,
            smss_bytes: Some(smss_bytes).filter(|_| is_counted),
            has_sack: self.subject.side.has_sack,
            window_scale: self.subject.side.window_scale,
            retransmitted: self.totals.retransmitted,
            lost: self
                .losses
                .as_ref()
                .zip(self.stream)
                .map(|(losses, stream)| losses.lost(stream.una)),
            recoveries: self.totals.recoveries,
            timeouts: self.totals.timeouts,
            limited: self.totals.limits.times(is_ordered, shows_window),
            least_rtt,
            greatest_delivery_rate_bps: self.totals.delivery.greatest_bps(),
            model_window_segments: least_rtt
                .filter(|_| is_counted)
                .and_then(|rtt| self.totals.delivery.model_window_segments(rtt, smss_bytes)),
            model_fit: self.model.as_ref().map(|model| model.fit()),
            // Windows replayed without the order of events are no evidence.
            hint: match self.subject.order {
                Order::NotSeen => CongestionHint::default(),
                _ => self.totals.hints.hint(self.subject.side.is_paced),
            },
        }
    }
}

fn limit(now: &AckContext, source: CwndSource) -> Option<Limit> {
    if now.is_closed && !now.is_doubtful {
        return Some(Limit::ReceiverWindow);
    }
    match source {
        CwndSource::Filled | CwndSource::Recovery => Some(Limit::CongestionWindow),
        CwndSource::ReceiverLimited => Some(Limit::ReceiverWindow),
        CwndSource::ApplicationLimited => Some(Limit::Application),
        CwndSource::Measured
        | CwndSource::Undecided
        | CwndSource::WarmUp
        | CwndSource::Paced
        | CwndSource::NotSeen => None,
    }
}
