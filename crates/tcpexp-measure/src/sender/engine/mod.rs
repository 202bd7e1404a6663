//! One sender, event by event: what it sends, what it hears, and what follows for its state.

mod duplicates;
mod repair;
mod tell;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::sender::SenderRow;
use crate::sender::backoff::Backoff;
use crate::sender::delivery::Delivery;
use crate::sender::event::{Acked, Sent};
use crate::sender::hindsight::Side;
use crate::sender::hints::Hints;
use crate::sender::limits::Limits;
use crate::sender::losses::Losses;
use crate::sender::profile::{Profile, Timer};
use crate::sender::progress::Progress;
use crate::sender::recovery::{Recovery, RecoveryKind, Running, State};
use crate::sender::reduction::Reduction;
use crate::sender::scoreboard::Scoreboard;
use crate::sender::stamps::Ticks;
use crate::sender::undecided::Undecided;
use crate::sender::window::Window;

/// What is answered to an ACK leaves within this time.
const ANSWER: TimeDelta = TimeDelta::from_millis(1);

/// Where more than this is missing in the capture, the sender's state starts anew: nobody has that
/// much in flight, and each segment of it would take memory.
const LONGEST_GAP_BYTES: i64 = 1 << 26;

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

impl Order {
    /// What is answered to an ACK leaves within this time.
    fn answer(self) -> TimeDelta {
        match self {
            Self::Seen => ANSWER,
            Self::Replayed | Self::NotSeen => REPLAYED_ANSWER,
        }
    }
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
    backoff: Backoff,
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
    settling: Option<Settling>,
    /// A recovery that has ended below its threshold, which shows where slow start ends.
    regrowing: Option<Settling>,
    /// What truly became of the data.
    losses: Option<Losses<'a>>,
}

/// A recovery that has ended, and whose threshold is not known yet.
#[derive(Clone, Copy, Debug)]
struct Settling {
    running: Running,
    ended: Timestamp,
    /// The sender was silent since and starts again with a smaller window, which is no threshold.
    has_restarted: bool,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        flow: FlowId,
        direction: Direction,
        side: &'a Side,
        losses: Option<Losses<'a>>,
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
            backoff: Backoff::default(),
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
            regrowing: None,
            losses,
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
        let losses = self.losses.as_mut();
        let earlier_copy = losses.and_then(|losses| losses.send(sent, nxt));
        if !self.is_answered_at(sent.at) {
            // What is sent without being asked for, as a probe is, may go beyond the window.
            self.see_settled(sent.at, rows);
        }
        if sent.end > nxt {
            self.send_new(sent.at, nxt, sent.end);
        }
        if sent.start < nxt {
            let again = Sent {
                end: sent.end.min(nxt),
                ..*sent
            };
            self.send_again(&again, earlier_copy, rows);
        }
        if !self.has_sent {
            // What the other end asked for is not sent because of room in the window.
            self.is_answer = !self.was_asked && self.is_answered_at(sent.at);
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
        if let Some(nxt) = self.nxt
            && start.since(nxt) > LONGEST_GAP_BYTES
        {
            self.board = Scoreboard::default();
            self.una = Some(start);
            self.nxt = Some(start);
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
            let has_restarted = self.window.restart(at - last, self.timer.rto());
            if let Some(settling) = &mut self.settling {
                settling.has_restarted |= has_restarted;
            }
        }
        let segments = self.board.append(at, from, to, self.side.smss_bytes);
        self.reduction.send(segments);
        self.nxt = Some(to);
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
        self.see_settled(acked.at, rows);
        if !acked.is_syn {
            self.tell(&now, rows);
        }
        self.see_regrown(rows);
        if acked.ack >= una {
            self.process(acked, una, nxt, rows);
        }
        if let Some(losses) = &mut self.losses
            && self.recovery.is_open()
            && self.settling.is_none()
        {
            losses.repair(acked.ack);
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
        if furthest > nxt && furthest.since(nxt) < LONGEST_GAP_BYTES {
            self.send_new(acked.at, nxt, furthest);
            return furthest;
        }
        nxt
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
            self.delivery
                .acknowledge(acked.at, acked.ack, self.timer.srtt());
        } else {
            self.delivery.restart();
        }
        if !self.recovery.is_open() && progress.delivered > 0 {
            has_lost = self.detect(acked.at, acked.record) > 0;
        }
        self.window_bytes = acked.window_bytes;
        self.advance(acked, &progress, advanced, has_lost, rows);
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

    /// The capture is over.
    pub(super) fn end(mut self, rows: &mut impl Extend<SenderRow>) {
        self.undecided.give_up(rows);
        self.settle(None, rows);
        self.give_up_regrowing(rows);
        if let Some(running) = self.recovery.end() {
            self.report(&running, None, None, false, rows);
        }
        rows.extend([SenderRow::Summary(self.summary())]);
    }
}
