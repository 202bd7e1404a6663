//! Turns packets into the events of a sender.

use tcpexp_flow::{
    CeFeedback, Class, Classifier, Direction, Flow, FlowId, PathTimes, Segment, StreamOffset,
};
use tcpexp_units::Timestamp;

use super::ack_gaps::AckGapWalk;
use super::data_gaps::DataGapWalk;
use super::engine::{Engine, Order, Subject};
use super::event::{Acked, Located, Sent};
use super::hindsight::Hindsight;
use super::losses::Losses;
use super::options::SenderOptions;
use super::profile::Profile;
use super::receiver::Replay;
use super::row::SenderRow;
use super::scale::WindowScale;
use super::side::Side;
use crate::missed::has_missed_data;
use crate::{Meter, Position};

/// The second pass over one flow.
pub(super) struct FlowReplay<'a> {
    /// Indexed by the direction of the data. Boxed because most flows of a port scan have no
    /// sender.
    senders: [Option<Box<Front<'a>>>; 2],
}

/// The events of one sender, as seen from the capture position.
struct Front<'a> {
    side: &'a Side,
    engine: Engine<'a>,
    /// Restores the sender's order of events in a capture at the receiver. In a box, because a capture at the
    /// sender needs none.
    replay: Option<Box<Replay<'a>>>,
    classifier: Classifier,
    /// In a box as in [`Side`].
    feedback: Option<Box<CeFeedback>>,
    gaps: AckGapWalk<'a>,
    data_gaps: DataGapWalk<'a>,
}

impl<'a> FlowReplay<'a> {
    pub(super) fn new(hindsight: &'a Hindsight, options: SenderOptions, flow: FlowId) -> Self {
        let sender = |direction| {
            let side = hindsight.side(flow, direction)?;
            let losses = hindsight.losses(flow, direction);
            let subject = Subject {
                flow,
                direction,
                side,
                order: order(side, options.position),
                coarse_tick: hindsight.coarse_tick,
            };
            let receiver = hindsight.side(flow, direction.opposite());
            Some(Box::new(Front::new(
                subject,
                receiver,
                losses,
                options.profile,
            )))
        };
        Self {
            senders: Direction::BOTH.map(sender),
        }
    }
}

impl Meter for FlowReplay<'_> {
    type Row = SenderRow;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<SenderRow>) {
        // The sequence numbers of a reset may be forged (RFC 5961).
        if segment.flags.rst() {
            return;
        }
        let direction = segment.seen.direction;
        if let (Some(ack), Some(sender)) =
            (segment.ack, &mut self.senders[direction.opposite().index()])
        {
            sender.on_ack(segment, ack, rows);
        }
        if let Some(sender) = &mut self.senders[direction.index()] {
            sender.send(segment, rows);
        }
    }

    fn end(&mut self, _flow: &Flow, rows: &mut impl Extend<SenderRow>) {
        for sender in self.senders.iter_mut().filter_map(Option::take) {
            sender.end(rows);
        }
    }
}

impl<'a> Front<'a> {
    fn new(
        subject: Subject<'a>,
        receiver: Option<&'a Side>,
        losses: Option<Losses<'a>>,
        profile: Profile,
    ) -> Self {
        let Subject { side, order, .. } = subject;
        Self {
            side,
            engine: Engine::new(
                subject,
                // Fates are known only for packets captured before the path, at the sender.
                losses.filter(|_| order == Order::Seen),
                profile,
            ),
            replay: (order == Order::Replayed).then(|| Box::new(Replay::new(side, receiver))),
            classifier: Classifier::default(),
            feedback: side.feedback.clone(),
            gaps: side.ack_gaps.walk(),
            data_gaps: side.data_gaps.walk(),
        }
    }

    fn send(&mut self, segment: &Segment, rows: &mut impl Extend<SenderRow>) {
        let stamps = segment.timestamps;
        if let (Some(replay), Some(ack)) = (&mut self.replay, segment.ack) {
            replay.answer(ack);
        }
        if !segment.is_numbered() {
            return;
        }
        let (side, engine) = (self.side, &self.engine);
        let path = || PathTimes {
            shortest_rtt: side.whole_rtt,
            srtt: engine.srtt(),
            ..PathTimes::default()
        };
        let (class, _) = self.classifier.segment(segment, path);
        if let Some(feedback) = &mut self.feedback
            && !self.classifier.is_outside(segment)
        {
            feedback.send(segment);
        }
        if segment.flags.syn() {
            let at = segment.seen.at;
            let left_at = match &self.replay {
                None => Some(at),
                Some(replay) => replay.syn_left_at(at),
            };
            let stamp = stamps.map(|(stamp, _)| stamp);
            self.engine.open(at, left_at, segment.start, stamp);
        }
        let (start, end) = (segment.payload_start(), segment.end());
        let brings_nothing = match class {
            // The byte of a window probe counts as sent once the receiver accepts it.
            Class::Empty | Class::Copy | Class::KeepAlive | Class::WindowProbe => true,
            // A packet overtaken on the path was sent before the packets that overtook it. An undecided repeat
            // has no new data, and may be a duplicate of the path.
            Class::Behind(behind) => {
                behind.is_undecided_repeat() || behind.is_reordered(self.replay.is_none())
            }
            Class::New => false,
        };
        if brings_nothing || start == end {
            return;
        }
        let sent = Sent {
            at: segment.seen.at,
            packet: Located::of(&segment.seen),
            start,
            end,
            stamp: stamps.map(|(stamp, _)| stamp),
        };
        match &mut self.replay {
            None => self.engine.send(&sent, rows),
            Some(replay) => {
                replay.arrive(sent, stamps.map(|(_, echo)| echo), &mut self.engine, rows);
            }
        }
    }

    fn on_ack(&mut self, segment: &Segment, ack: StreamOffset, rows: &mut impl Extend<SenderRow>) {
        if self.side.unsent_acks.has(segment.seen.place(), ack) {
            return;
        }
        self.classifier.acknowledge(segment);
        let feedback = self.feedback.as_mut();
        let (marks, marked_packets) = feedback.map_or((0, 0), |feedback| {
            let marks = feedback.on_ack(segment);
            (marks, feedback.latest_marked_packets())
        });
        let window = u64::from(segment.window);
        let window_bytes = match self.side.window_scale {
            // RFC 7323, section 2.2: the window of a SYN is never scaled.
            _ if segment.flags.syn() => Some(window),
            WindowScale::Known(shift) => Some(window << shift),
            WindowScale::AtLeast(_) => None,
        };
        let mut gap = self.gaps.pass(segment.seen.place());
        // A capture at the receiver may show data that was sent after the missed data before the sender gets
        // this ACK, and the engine then sees no gap.
        gap.before |= self.replay.is_some() && self.has_missed_data(ack);
        gap.hides_flight = self.replay.is_none() && self.data_gaps.hides(segment.seen.place());
        let acked = Acked {
            at: segment.seen.at,
            place: segment.seen.place(),
            packet: segment.seen.record,
            ack,
            seq: segment.start,
            blocks: segment.sack_blocks().collect(),
            window_bytes,
            is_bare: !segment.is_numbered(),
            is_syn: segment.flags.syn(),
            echo: segment.timestamps.map(|(_, echo)| echo),
            congestion_echo: marks > 0,
            marked_packets: u32::try_from(marked_packets).unwrap_or(u32::MAX),
            gap,
        };
        match (&mut self.replay, segment.timestamps) {
            (Some(replay), Some((stamp, _))) if !acked.is_syn => {
                replay.depart(stamp, acked, segment.end());
            }
            _ => self.engine.on_ack(&acked, rows),
        }
    }

    /// True if `ack` is of data that the capture missed.
    fn has_missed_data(&self, ack: StreamOffset) -> bool {
        self.classifier
            .nxt()
            .is_some_and(|nxt| has_missed_data(ack, nxt))
    }

    fn end(mut self, rows: &mut impl Extend<SenderRow>) {
        // No data echoes the last ACKs, so they count as received when they left.
        if let Some(replay) = &mut self.replay {
            replay.flush(Timestamp::MAX, &mut self.engine, rows);
        }
        self.engine.end(rows);
    }
}

/// How the order of the sender's events is known at the capture's position.
fn order(side: &Side, position: Option<Position>) -> Order {
    match position.or(side.position) {
        // Without evidence, assume a capture at the sender.
        None | Some(Position::Sender) => Order::Seen,
        // Without any echo, the timestamps show nothing: a middlebox may have changed them.
        Some(_) if side.has_timestamps && side.least_echo.is_some() && side.shows_order() => {
            Order::Replayed
        }
        Some(_) => Order::NotSeen,
    }
}
