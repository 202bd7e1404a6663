//! One sender, event by event: what it sends, what it hears, and what follows for its state.

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use super::SenderRow;
use super::delivery::Delivery;
use super::event::{Acked, Sent};
use super::hindsight::Side;
use super::hints::{CongestionHint, Hints};
use super::limits::Limits;
use super::profile::{Profile, Timer};
use super::recovery::{Recovery, RecoveryEpoch, RecoveryKind, Running, State};
use super::reduction::{Reduction, factor};
use super::resent::{Resent, ResentCause};
use super::sample::{CwndSource, Limit, Phase, SenderSample};
use super::scoreboard::{Progress, Scoreboard};
use super::stamps::Ticks;
use super::summary::SenderSummary;
use super::undecided::Undecided;
use super::window::{Moment, Opinion, Window};

/// What is answered to an ACK leaves within this time.
const ANSWER: TimeDelta = TimeDelta::from_millis(1);

/// The same where times are known by ticks of a millisecond.
const REPLAYED_ANSWER: TimeDelta = TimeDelta::from_millis(3);

/// How the order of events at the sender is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The capture was taken at the sender.
    Seen,
    /// By timestamps; times say little about what caused what.
    Replayed,
    /// It is not.
    NotSeen,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    resent: u64,
    recoveries: u32,
    timeouts: u32,
}

/// The replay of one sender.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Engine<'a> {
    flow: FlowId,
    direction: Direction,
    side: &'a Side,
    board: Scoreboard,
    recovery: Recovery,
    reduction: Reduction,
    /// By what the latest recovery multiplied the window.
    factor: Option<(u32, u32)>,
    window: Window,
    timer: Timer,
    limits: Limits,
    delivery: Delivery,
    hints: Hints,
    counts: Counts,
    una: Option<StreamOffset>,
    nxt: Option<StreamOffset>,
    /// The SYN's time, until it is acknowledged.
    syn: Option<Timestamp>,
    /// Where the captured data began, until it is acknowledged.
    warming_up: Option<StreamOffset>,
    window_bytes: Option<u64>,
    last_sent: Option<Timestamp>,
    last_heard: Option<Timestamp>,
    last_advance: Option<Timestamp>,
    has_sent: bool,
    is_answer: bool,
    /// The latest ACK came with data.
    was_asked: bool,
    order: Order,
    undecided: Undecided,
    ticks: Ticks,
    /// A tail loss probe was sent and not answered yet.
    has_probed: bool,
    /// The recovery that ended with the last ACK; its threshold shows with the next one.
    settling: Option<(Running, Timestamp)>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        flow: FlowId,
        direction: Direction,
        side: &'a Side,
        profile: Profile,
        order: Order,
    ) -> Self {
        Self {
            flow,
            direction,
            side,
            board: Scoreboard::default(),
            recovery: Recovery::default(),
            reduction: Reduction::default(),
            factor: None,
            window: Window::new(profile, side.is_bursty),
            timer: profile.timer(),
            limits: Limits::default(),
            delivery: Delivery::default(),
            hints: Hints::default(),
            counts: Counts::default(),
            una: None,
            nxt: None,
            syn: None,
            warming_up: None,
            window_bytes: None,
            last_sent: None,
            last_heard: None,
            last_advance: None,
            has_sent: false,
            is_answer: false,
            was_asked: false,
            order,
            undecided: Undecided::default(),
            ticks: Ticks::new(side.tick),
            has_probed: false,
            settling: None,
        }
    }

    /// The sender opens the connection.
    pub(super) fn open(&mut self, at: Timestamp, start: StreamOffset) {
        // The SYN takes a number. One that is sent twice gives no round-trip time.
        self.syn = self.una.is_none().then_some(at);
        self.una = Some(start.plus(1));
        self.nxt = Some(start.plus(1));
    }

    /// The sender sends data.
    pub(super) fn send(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
        self.limits.pass(sent.at);
        let nxt = self.begin(sent.start);
        if sent.end > nxt {
            self.send_new(sent.at, nxt, sent.end);
        }
        if sent.start < nxt {
            let again = Sent {
                end: sent.end.min(nxt),
                ..*sent
            };
            self.send_again(&again, rows);
        }
        if !self.has_sent {
            // What the other end asked for is not sent because of room in the window.
            let answer = match self.order {
                Order::Seen => ANSWER,
                _ => REPLAYED_ANSWER,
            };
            self.is_answer = !self.was_asked
                && self.last_heard.is_some_and(|heard| sent.at - heard < answer);
        }
        self.last_sent = Some(sent.at);
        self.has_sent = true;
        self.note_limit();
        self.ticks.send(sent.at, sent.stamp);
    }

    /// What is sent next; from the first data on, if the connection's start was not captured.
    fn begin(&mut self, start: StreamOffset) -> StreamOffset {
        if self.una.is_none() {
            self.una = Some(start);
            self.warming_up = Some(start);
        }
        *self.nxt.get_or_insert(start)
    }

    /// New data. What lies before it was sent too, though the capture missed it.
    fn send_new(&mut self, at: Timestamp, from: StreamOffset, to: StreamOffset) {
        if self.board.is_empty()
            && self.recovery.is_open()
            && let Some(last) = self.last_sent
        {
            self.window.restart(at - last, self.timer.rto());
        }
        let segments = self.board.append(at, from, to, self.side.smss_bytes);
        self.reduction.send(segments);
        self.nxt = Some(to);
    }

    fn send_again(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
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
        rows.extend([SenderRow::Resent(Resent {
            flow: self.flow,
            direction: self.direction,
            at: sent.at,
            start: sent.start,
            end: sent.end,
            cause,
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
    fn detect(&mut self, at: Timestamp, record: u64) -> u32 {
        if !self.side.has_sack {
            return 0;
        }
        self.board.detect(at, record, &self.side.retransmissions)
    }

    fn enter(&mut self, kind: RecoveryKind, at: Timestamp, rows: &mut impl Extend<SenderRow>) {
        let Some(nxt) = self.nxt else {
            return;
        };
        // What was known before a timeout that interrupts a recovery is what the recovery knew.
        let before = (self.window.cwnd, self.window.is_filled);
        let ssthresh = self.window.ssthresh;
        if let Some(interrupted) = self.recovery.end() {
            self.report(&interrupted, Some(at), None, false, rows);
        }
        self.settle(None, rows);
        self.recovery
            .begin(kind, at, self.una.unwrap_or(nxt)..nxt, before, ssthresh);
        self.window.reduce();
        self.hints.lose();
        self.counts.recoveries += 1;
        self.counts.timeouts += u32::from(kind == RecoveryKind::Timeout);
        self.reduction = Reduction::new(before.0, self.factor);
    }

    /// The sender hears an ACK: tells its state before, and changes it.
    pub(super) fn hear(&mut self, acked: &Acked, rows: &mut impl Extend<SenderRow>) {
        let (Some(una), Some(nxt)) = (self.una, self.nxt) else {
            return;
        };
        self.limits.pass(acked.at);
        let nxt = self.admit(acked, una, nxt);
        let now = self.moment(acked.at, una, nxt);
        self.window.validate(&now);
        if self.settling.is_some() && now.has_sent {
            self.settle(Some(now.pipe), rows);
        }
        self.tell(&now, rows);
        if acked.ack >= una {
            self.process(acked, una, nxt, rows);
        }
        self.last_heard = Some(acked.at);
        self.was_asked = !acked.is_bare;
        self.has_sent = false;
        self.is_answer = false;
        self.note_limit();
    }

    /// What is acknowledged was sent, though the capture may have missed it.
    fn admit(&mut self, acked: &Acked, una: StreamOffset, nxt: StreamOffset) -> StreamOffset {
        if self.warming_up.is_some() && acked.ack < una && una == self.warming_up.unwrap_or(una) {
            // Data from before the capture is still in the network.
            return nxt;
        }
        let furthest = acked
            .blocks
            .selective(acked.ack)
            .map(|block| block.1)
            .fold(acked.ack, StreamOffset::max);
        // A window's worth may have been missed, not more: else it is no acknowledgment.
        if furthest > nxt && furthest.since(nxt) < 1 << 30 {
            self.send_new(acked.at, nxt, furthest);
            return furthest;
        }
        nxt
    }

    fn moment(&self, at: Timestamp, una: StreamOffset, nxt: StreamOffset) -> Moment {
        Moment {
            at,
            pipe: self.board.pipe(),
            outstanding: self.board.outstanding(),
            una,
            nxt,
            is_closed: self
                .usable(una, nxt)
                .is_some_and(|usable| usable < i64::from(self.side.smss_bytes)),
            has_sent: self.has_sent,
            is_answer: self.is_answer,
            srtt: self.timer.srtt(),
        }
    }

    /// From now on the sender is limited by this.
    fn note_limit(&mut self) {
        let (Some(una), Some(nxt)) = (self.una, self.nxt) else {
            return;
        };
        let room = i64::from(self.side.smss_bytes);
        let is_closed = self.usable(una, nxt).is_some_and(|usable| usable < room);
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

    /// Tells the state, at once or when it is known.
    fn tell(&mut self, now: &Moment, rows: &mut impl Extend<SenderRow>) {
        if !self.recovery.is_open() {
            self.undecided.give_up(rows);
            let cwnd = match self.recovery.state {
                State::Loss => now.pipe,
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
                    if !self.side.is_bursty {
                        self.hints.reduce();
                    }
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

    fn process(
        &mut self,
        acked: &Acked,
        una: StreamOffset,
        nxt: StreamOffset,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let advanced = acked.ack > una;
        let is_duplicate = !self.side.has_sack && self.is_duplicate(acked, advanced);
        self.una = Some(acked.ack);
        if advanced {
            self.last_advance = Some(acked.at);
            self.has_probed = false;
        }
        if self.warming_up.is_some_and(|start| acked.ack > start) {
            self.warming_up = None;
            self.window.cwnd = self.board.pipe().max(1);
        }
        let mut has_lost = false;
        let had = self.board.counted_duplicates;
        let mut progress =
            self.board
                .acknowledge(acked.at, acked.ack, acked.blocks.selective(acked.ack));
        if !self.side.has_sack {
            progress.delivered = self.count_duplicates(&progress, acked.ack, is_duplicate, had);
        }
        self.time(acked, &progress, nxt);
        if self.recovery.is_open() && !self.board.has_sacked() {
            self.delivery.acknowledge(acked.at, acked.ack, self.timer.srtt());
        } else {
            self.delivery.restart();
        }
        if !self.recovery.is_open() && progress.delivered > 0 {
            has_lost = self.detect(acked.at, acked.record) > 0;
        }
        self.window_bytes = acked.window_bytes;
        self.advance(acked, &progress, advanced, has_lost, rows);
    }

    fn is_duplicate(&self, acked: &Acked, advanced: bool) -> bool {
        let has_grown = acked.window_bytes > self.window_bytes;
        !advanced && acked.is_bare && !self.board.is_empty() && !has_grown
    }

    /// Without SACK each duplicate ACK stands for a segment that arrived, whichever it was
    /// (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`); tells how many segments have newly arrived.
    fn count_duplicates(
        &mut self,
        progress: &Progress,
        una: StreamOffset,
        is_duplicate: bool,
        had: u32,
    ) -> u32 {
        let mut delivered = 0;
        let advanced = progress.cumulative > 0;
        if advanced {
            let covered = progress.cumulative - 1;
            self.board.counted_duplicates = had.saturating_sub(covered);
            delivered = progress.cumulative.saturating_sub(had).max(1);
            match self.recovery.state {
                State::Recovery if !self.is_repaired_by(una) => {
                    self.board.mark_front_lost();
                }
                _ => self.board.counted_duplicates = 0,
            }
        }
        if is_duplicate {
            self.board.counted_duplicates += 1;
            delivered += 1;
        }
        let holes = self.board.lost().max(1);
        let most = self.board.outstanding().saturating_sub(holes);
        self.board.counted_duplicates = self.board.counted_duplicates.min(most);
        delivered
    }

    /// Round-trip times, as Linux takes them: one an ACK, and none of what was sent again.
    fn time(&mut self, acked: &Acked, progress: &Progress, nxt: StreamOffset) {
        let sent = self.syn.take().or_else(|| progress.timed());
        let rtt = match sent {
            Some(sent) => Some(acked.at - sent),
            None if progress.cumulative > 0 => self.ticks.rtt(acked.at, acked.echo),
            None => None,
        };
        if let Some(rtt) = rtt {
            self.timer.sample(rtt, acked.ack, nxt);
        }
    }

    /// The state machine, and growth.
    fn advance(
        &mut self,
        acked: &Acked,
        progress: &Progress,
        advanced: bool,
        has_lost: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
        if let Some((_, end)) = acked.blocks.duplicate(acked.ack) {
            self.recovery.duplicated(end);
        }
        match self.recovery.state {
            State::Open => {
                if acked.congestion_echo {
                    self.enter(RecoveryKind::CongestionEcho, acked.at, rows);
                } else if advanced && progress.delivered > 0 {
                    self.window.grow(progress.delivered);
                }
            }
            State::Recovery | State::Loss | State::Reducing => {
                let may_speed_up = advanced && !has_lost;
                self.reduction
                    .deliver(progress.delivered, self.board.pipe(), may_speed_up);
                let was_needless = self.was_needless(acked, advanced);
                if was_needless || self.is_repaired_by(acked.ack) {
                    self.leave(acked, was_needless, rows);
                }
            }
        }
    }

    /// Whether all is repaired that was sent when the recovery began.
    ///
    /// Without SACK more than that must be acknowledged, or duplicate ACKs of the same number would
    /// begin another recovery (RFC 6582, section 4).
    fn is_repaired_by(&self, una: StreamOffset) -> bool {
        let high = self.recovery.running.map(|running| running.high);
        high.is_some_and(|high| una > high || una == high && self.side.has_sack)
    }

    /// Whether the ACK shows that nothing was lost, by when the sender takes its reduction back: at
    /// once, unless copies of what was not lost are still in the network.
    fn was_needless(&self, acked: &Acked, advanced: bool) -> bool {
        let is_late = advanced && self.recovery.answers_original(acked.echo);
        let is_known = match self.recovery.state {
            State::Recovery => !self.board.has_retransmitted() || self.is_repaired_by(acked.ack),
            _ => true,
        };
        is_late && is_known || self.recovery.is_refuted()
    }

    fn leave(&mut self, acked: &Acked, undone: bool, rows: &mut impl Extend<SenderRow>) {
        let Some(running) = self.recovery.end() else {
            return;
        };
        if undone {
            self.window
                .undo(running.cwnd_before, running.ssthresh_before);
            self.board.undo();
            self.report(&running, Some(acked.at), None, true, rows);
        } else if let Some(threshold) = self.unreached(&running) {
            self.window.settle_unfilled(threshold);
            if running.was_filled && self.reduction.unreached().is_none() {
                self.hints.reduced(running.cwnd_before, threshold);
            }
            self.report(&running, Some(acked.at), Some(threshold), false, rows);
        } else {
            self.window.settle(self.board.pipe());
            self.settling = Some((running, acked.at));
        }
    }

    /// The threshold of a recovery that does not show in what the sender fills after it: because
    /// something else held it back, or because without SACK all that duplicate ACKs stood for
    /// counts as outstanding again.
    fn unreached(&self, running: &Running) -> Option<u32> {
        let is_blurred = !self.side.has_sack && running.kind == RecoveryKind::Fast;
        let last = is_blurred.then(|| self.reduction.latest());
        self.reduction.unreached().or(last)
    }

    /// What the sender fills right after a recovery is the threshold that the recovery set.
    fn settle(&mut self, filled: Option<u32>, rows: &mut impl Extend<SenderRow>) {
        if let Some((running, ended)) = self.settling.take() {
            if let Some(filled) = filled {
                self.window.settle(filled);
                if running.was_filled {
                    self.hints.reduced(running.cwnd_before, filled);
                    self.factor = factor(running.cwnd_before, filled).or(self.factor);
                }
            }
            self.report(&running, Some(ended), filled, false, rows);
        }
    }

    fn report(
        &self,
        running: &Running,
        ended: Option<Timestamp>,
        ssthresh: Option<u32>,
        was_undone: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
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
        })]);
    }

    /// The capture is over.
    pub(super) fn end(mut self, rows: &mut impl Extend<SenderRow>) {
        self.undecided.give_up(rows);
        self.settle(None, rows);
        if let Some(running) = self.recovery.end() {
            self.report(&running, None, None, false, rows);
        }
        rows.extend([SenderRow::Summary(self.summary())]);
    }

    fn summary(self) -> SenderSummary {
        let smss_bytes = self.side.smss_bytes;
        let least_rtt = self.board.least_rtt();
        SenderSummary {
            flow: self.flow,
            direction: self.direction,
            position: self.side.position,
            smss_bytes,
            has_sack: self.side.has_sack,
            resent: self.counts.resent,
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
