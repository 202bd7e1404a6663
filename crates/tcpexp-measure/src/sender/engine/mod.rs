//! The replay of one sender, event by event.

mod ack_gap;
mod duplicates;
mod measure;
mod missed_data;
mod repair;
mod sample;
mod sending;
mod settle;
mod shorter;
mod state;
mod stream;
mod syns;
mod unseen;
mod untimed;

use std::ops::Range;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::TimeDelta;

use self::ack_gap::AckGap;
use self::state::State;
use self::stream::{Exchange, Start, Stream};
use self::syns::Syns;
use self::untimed::Untimed;
use super::backoff::Backoff;
use super::delivery::Delivery;
use super::event::Acked;
use super::hints::Hints;
use super::limits::Limits;
use super::losses::Losses;
use super::model::Model;
use super::profile::{Profile, Timer};
use super::progress::Progress;
use super::recovery::RecoveryKind;
use super::row::SenderRow;
use super::scoreboard::Scoreboard;
use super::side::Side;
use super::stamps::Ticks;
use super::undecided::Undecided;
use super::window::Window;

pub(super) use self::stream::Order;

/// The sender to replay, and how its order of events is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) flow: FlowId,
    pub(super) direction: Direction,
    pub(super) side: &'a Side,
    pub(super) order: Order,
    /// Tick of the capture's clock, if known to be coarse.
    pub(super) coarse_tick: Option<TimeDelta>,
}

/// The replay of one sender.
#[derive(Debug)]
pub(super) struct Engine<'a> {
    subject: Subject<'a>,
    /// `None` before the first SYN or data.
    stream: Option<Stream>,
    syns: Syns,
    state: State,
    board: Scoreboard,
    window: Window,
    timer: Timer,
    exchange: Exchange,
    ticks: Ticks,
    backoff: Backoff,
    undecided: Undecided,
    gap: AckGap,
    /// True if the receiver's window held the sender back when the latest ACK arrived.
    was_held: bool,
    totals: Totals,
    /// `snd_nxt` at the last retransmission as a tail loss probe, until an ACK shows whether the probe
    /// repaired a loss (`tlp_high_seq`).
    probed: Option<StreamOffset>,
    /// Data of the SYN (RFC 7413) that the SYN-ACK does not acknowledge and that was not sent again yet, while
    /// the SYN-ACK is the latest ACK.
    refused: Option<Range<StreamOffset>>,
    /// End of the data that exceeded the path MTU and is sent again in shorter segments.
    resized: Option<StreamOffset>,
    /// True if a retransmission has split a segment and no full segment was sent since: the SMSS is unknown.
    is_split: bool,
    /// Data whose send times are not known.
    untimed: Untimed,
    /// Round-trip time that the latest ACK showed.
    latest_rtt: Option<TimeDelta>,
    latest_marked_packets: u32,
    /// The model of the path; `None` unless the sender paces. Boxed because most senders have none.
    model: Option<Box<Model>>,
    /// The fates of the data; `None` without a second capture.
    losses: Option<Losses<'a>>,
}

/// Sums over the flow.
#[derive(Debug, Default)]
struct Totals {
    limits: Limits,
    delivery: Delivery,
    hints: Hints,
    retransmitted: u64,
    /// Number of recoveries; the index of the next recovery.
    recoveries: u32,
    timeouts: u32,
}

impl Subject<'_> {
    /// True if the capture clock resolves `span` and, if the order is replayed from timestamps, the
    /// timestamps of ACKs do too.
    fn shows(&self, span: TimeDelta) -> bool {
        self.coarse_tick.is_none_or(|tick| span >= tick)
            && (self.order != Order::Replayed || self.side.shows_time(span))
    }

    /// True if the sender paces, so that its model of the path may limit it.
    fn has_model(&self) -> bool {
        self.side.is_paced && self.order != Order::NotSeen
    }
}

impl<'a> Engine<'a> {
    pub(super) fn new(subject: Subject<'a>, losses: Option<Losses<'a>>, profile: Profile) -> Self {
        Self {
            subject,
            stream: None,
            syns: Syns::default(),
            state: State::Open,
            board: Scoreboard::default(),
            window: Window::new(
                profile,
                subject.side.smss_bytes,
                subject.side.is_bursty,
                subject.order == Order::Seen,
            ),
            timer: profile.timer(),
            exchange: Exchange::new(subject.order, subject.side.is_bursty),
            ticks: Ticks::new(subject.side.tick),
            backoff: Backoff::default(),
            undecided: Undecided::default(),
            gap: AckGap::default(),
            was_held: false,
            totals: Totals::default(),
            probed: None,
            refused: None,
            resized: None,
            is_split: false,
            untimed: Untimed::default(),
            latest_rtt: None,
            latest_marked_packets: 0,
            model: subject.has_model().then(|| {
                let is_pacing_seen = subject.order == Order::Seen;
                Box::new(Model::new(subject.side.smss_bytes, is_pacing_seen))
            }),
            losses,
        }
    }

    /// Processes an ACK that reaches the sender, after emitting the state before it.
    pub(super) fn on_ack(&mut self, acked: &Acked, rows: &mut impl Extend<SenderRow>) {
        let Some(stream) = self.stream else {
            return;
        };
        let stream = self.admit(acked, stream);
        self.totals.limits.pass(acked.at);
        // The sender drops an ACK of data that it has not sent (RFC 9293, section 3.10.7.4).
        if acked.ack > stream.nxt {
            return;
        }
        let now = self.context(acked, &stream);
        if self.enter_gap(acked, &stream) {
            self.emit_hidden(acked, &now, rows);
        } else if acked.gap.hides_flight {
            self.emit_without_flight(acked, &now, rows);
        } else {
            self.window.validate(&now);
            self.see_settled(acked.at, rows);
            // As in `tcp_probe`, the sample shows the state before the ACK is processed, and a SYN-ACK
            // gives no sample.
            if !acked.is_syn {
                self.emit_sample(&now, rows);
            }
            self.see_regrown(rows);
        }
        self.window.take_ack();
        // RFC 9293, section 3.10.7.4: an older ACK updates neither `snd_una` nor the window.
        if acked.ack >= stream.una {
            self.process(acked, stream, rows);
        }
        if let Some(losses) = &mut self.losses
            && matches!(self.state, State::Open | State::Regrowing(_))
        {
            losses.repair(acked.ack);
        }
        self.exchange.on_ack(acked);
        self.leave_gap(acked, rows);
        self.note_limit();
    }

    /// Processes an ACK at or above `snd_una`.
    fn process(&mut self, acked: &Acked, before: Stream, rows: &mut impl Extend<SenderRow>) {
        let has_sack = self.subject.side.has_sack;
        let advanced = acked.ack > before.una;
        // With SACK, the blocks name the received segments; duplicate ACKs would count them twice.
        let is_duplicate = !has_sack && self.is_duplicate(acked, &before);
        let start = before.start_after(acked.ack);
        let warmed_up = before.is_warming_up() && start == Start::Complete;
        let (window_bytes, wl1) = if before.takes_window_of(acked) {
            (acked.window_bytes, Some(acked.seq))
        } else {
            (before.window_bytes, before.wl1)
        };
        self.refused = acked.is_syn.then_some(acked.ack..before.nxt);
        // A responder keeps its initial window (`tcp_init_transfer`).
        if acked.is_syn
            && self.subject.direction == Direction::Forward
            && self.syns.answer(acked.echo)
        {
            self.window.begin_at_one();
        }
        self.stream = Some(Stream {
            una: acked.ack,
            nxt: before.nxt,
            window_bytes,
            wl1,
            start,
        });
        if advanced {
            self.exchange.advance(acked.at);
        }
        if warmed_up {
            self.totals.delivery.restart();
            self.window.begin_in_the_middle(self.board.pipe());
        }
        let prior_in_flight = self.board.pipe();
        let had = self.board.counted_duplicates;
        let blocks = acked.blocks.selective(acked.ack);
        let is_of_earlier_copy = self.board.compare_echo(acked.ack, acked.echo);
        let mut progress = self.board.acknowledge(acked.at, acked.ack, blocks);
        if !has_sack {
            progress.delivered = self.count_duplicates(&progress, acked.ack, is_duplicate, had);
        }
        self.latest_marked_packets = acked.marked_packets;
        let is_timed = !self.untimed.covers(before.una, acked.ack, &progress);
        // A missed ACK may have been the first to cover the data.
        let is_first = !self.gap.hides_state;
        self.latest_rtt = progress
            .latest_rtt()
            .filter(|_| is_timed && is_first && !before.is_warming_up());
        if is_timed && is_first {
            let is_sampled = self.time(acked, &progress, &before);
            if is_of_earlier_copy && !is_sampled {
                // The sender knows when it sent the earlier copy.
                self.untimed.missing.miss(1);
            }
        } else if progress.delivered > 0 {
            // A missed ACK may have timed each of the segments.
            let samples = if is_first { 1 } else { progress.delivered };
            self.untimed.missing.miss(samples);
        }
        self.measure_delivery(acked);
        // Outside a recovery, the first retransmission marks the losses: only it shows that the
        // sender has detected them.
        let lost = if !self.state.is_open() && progress.delivered > 0 {
            self.detect(acked.at, acked.place)
        } else {
            0
        };
        self.advance(acked, &progress, advanced, lost > 0, rows);
        self.update_model(acked.at, &progress, prior_in_flight, lost);
    }

    /// Advances the state machine and grows the window.
    fn advance(
        &mut self,
        acked: &Acked,
        progress: &Progress,
        advanced: bool,
        has_lost: bool,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let was_repaired_by_probe = self.was_repaired_by_probe(acked, progress, advanced);
        let Some(recovery) = self.state.recovery_mut() else {
            if was_repaired_by_probe {
                self.reduce_at_once();
            } else if acked.congestion_echo {
                self.enter(RecoveryKind::CongestionEcho, acked.at, rows);
            } else if advanced && progress.delivered > 0 {
                // Unless the path reorders, a SACK alone does not grow the window
                // (`tcp_may_raise_cwnd`).
                self.window.grow(progress.delivered);
            }
            return;
        };
        if let Some((_, end)) = acked.blocks.duplicate(acked.ack) {
            recovery.duplicated(end);
        }
        // `tcp_cwnd_reduction` releases one segment more if `snd_una` advances without a new loss.
        let may_speed_up = advanced && !has_lost;
        recovery
            .reduction
            .deliver(progress.delivered, self.board.pipe(), may_speed_up);
        let recovery = *recovery;
        let was_spurious = self.was_spurious(&recovery, acked, advanced)
            || self.was_spurious_timeout(&recovery, acked, progress);
        if was_spurious || recovery.is_repaired_by(acked.ack, self.subject.side.has_sack) {
            self.leave(acked.at, was_spurious, rows);
            if was_spurious && advanced && progress.delivered > 0 && !acked.congestion_echo {
                // The ACK that undoes a reduction also grows the window (`tcp_may_raise_cwnd`). A copy that a
                // D-SACK reports counts as delivered (`tcp_dsack_seen`).
                let copies = u32::from(acked.blocks.duplicate(acked.ack).is_some());
                self.window.grow(progress.delivered + copies);
            }
            // The ACK that ends one reduction may report the marks that begin the next.
            if acked.congestion_echo && self.state.is_open() {
                self.enter(RecoveryKind::CongestionEcho, acked.at, rows);
            }
        }
    }

    /// Reports the last recovery and the summary at the end of the capture.
    pub(super) fn end(mut self, rows: &mut impl Extend<SenderRow>) {
        self.undecided.give_up(rows);
        match std::mem::take(&mut self.state) {
            State::Recovering(recovery) => self.report(&recovery, None, None, rows),
            state => self.close(state, rows),
        }
        rows.extend([SenderRow::Summary(self.summary())]);
    }
}
