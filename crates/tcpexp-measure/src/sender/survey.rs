//! The first pass over one flow.

use tcpexp_flow::{
    CeFeedback, Class, Classifier, Direction, Flow, FlowId, PathTimes, Segment, SendOrder,
    StreamOffset,
};
use tcpexp_units::TimeDelta;

use super::ack_gaps::AckGapSearch;
use super::drain::Drains;
use super::echo_watch::EchoWatch;
use super::ecn_signs::EcnSigns;
use super::handshake::Handshake;
use super::lengths::Lengths;
use super::pacing::{ANSWER, Pacing};
use super::pulses::Pulses;
use super::retransmissions::{Again, Retransmissions};
use super::scale::{WindowScale, WindowScaleSearch};
use super::side::{Side, Surveyed};
use super::stamps::{Echoes, ReceivedAcks, TickSearch};
use super::unseen::Unseen;
use crate::{Busiest, Meter, MissedData, Position, Vantage};

/// Smallest sender maximum segment size. Linux sends segments of at least 48 bytes (`TCP_MIN_SND_MSS`),
/// and the options of a segment take at most 40 bytes.
const MIN_SMSS_BYTES: u32 = 8;

/// Minimum number of data segments of a direction: with fewer, the window is not worth
/// reconstructing.
const MIN_DATA_SEGMENTS: u64 = 4;
/// Longest answer time of a host that shows that the capture was taken at this host. The kernel of a
/// host takes some 20 µs from the capture of a segment to the capture of its answer. On a short path,
/// this may be the whole round trip.
const AT_HOST: TimeDelta = TimeDelta::from_micros(30);
/// A capture counts as taken at the sender if at most one part in this many of a window is on the way to
/// it. A window restored from timestamps has an error of the same size.
const MOST_HIDDEN: i64 = 100;

/// The first pass over one flow.
pub(super) struct FlowSurvey {
    flow: FlowId,
    handshake: Handshake,
    sides: [SideSurvey; 2],
}

/// State collected for one direction.
#[derive(Default)]
struct SideSurvey {
    /// Packets with data, each of one segment or more.
    data_segments: u64,
    data_bytes: u64,
    /// `None` without data. Boxed, because the counts would be a third of this state, and most flows
    /// of a flood have no data.
    lengths: Option<Box<Lengths>>,
    syn: Option<tcpexp_flow::SynOptions>,
    /// True if packets of this direction carry SACK blocks.
    has_blocks: bool,
    again: Retransmissions,
    unseen: Unseen,
    /// Separates new data from retransmissions and reordered data.
    classifier: Classifier,
    /// True if the latest new data carries timestamps.
    has_stamps: bool,
    /// Timestamps of this direction, echoed by the other direction.
    echoes: Echoes,
    scale: WindowScaleSearch,
    ticks: TickSearch,
    pacing: Pacing,
    /// ACKs from the other end, and which of them this end is known to have received.
    received_acks: ReceivedAcks,
    echo_watch: EchoWatch,
    ack_gaps: AckGapSearch,
    drains: Drains,
    pulses: Pulses,
    ecn: EcnSigns,
}

/// The result for one flow, with its activity.
pub(super) struct SurveyRow {
    flow: FlowId,
    data_segments: u64,
    missed: MissedData,
    surveyed: Surveyed,
}

impl SurveyRow {
    pub(super) fn add_to(self, flows: &mut Busiest<Surveyed>, missed: &mut MissedData) {
        *missed += self.missed;
        flows.add(self.data_segments, self.flow, self.surveyed);
    }
}

impl FlowSurvey {
    pub(super) fn new(flow: FlowId) -> Self {
        Self {
            flow,
            handshake: Handshake::default(),
            sides: Default::default(),
        }
    }
}

impl Meter for FlowSurvey {
    type Row = SurveyRow;

    fn segment(&mut self, segment: &Segment, _rows: &mut impl Extend<Self::Row>) {
        // The sequence numbers of a reset may be forged (RFC 5961).
        if segment.flags.rst() {
            return;
        }
        self.handshake.take(segment);
        let direction = segment.seen.direction;
        let (own, other) = match (&mut self.sides, direction) {
            ([forward, reverse], Direction::Forward) => (forward, reverse),
            ([forward, reverse], Direction::Reverse) => (reverse, forward),
        };
        if let Some(ack) = segment.ack {
            other.on_ack(segment, ack);
        }
        own.send(segment, other.echoes.least());
        if segment.flags.syn() {
            self.open();
        }
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Self::Row>) {
        // Store nothing for unanswered flows: scans and floods open millions of them.
        let has_data = self.sides.iter().any(|side| side.data_segments > 0);
        if !has_data && !self.handshake.has_syn_ack() {
            return;
        }
        let sides = Direction::BOTH.map(|direction| self.side(direction).map(Box::new));
        let surveyed = Surveyed {
            initiator: flow.initiator(),
            responder: flow.responder(),
            sides,
        };
        rows.extend([SurveyRow {
            flow: self.flow,
            data_segments: self.sides.iter().map(|side| side.data_segments).sum(),
            missed: self.missed(),
            surveyed,
        }]);
    }
}

impl FlowSurvey {
    /// The data that the capture missed.
    fn missed(&self) -> MissedData {
        let mut missed = MissedData::default();
        for side in &self.sides {
            missed += MissedData {
                ack_gaps: side.ack_gaps.count(),
                ..MissedData::of(&side.classifier.missed())
            };
        }
        missed
    }

    /// Learns the scales of the windows from the SYNs so far.
    #[cold]
    fn open(&mut self) {
        let syns = [self.sides[0].syn, self.sides[1].syn];
        for direction in Direction::BOTH {
            self.sides[direction.index()].ack_gaps.open(syns, direction);
        }
    }

    /// Position of the capture relative to the data in `direction`.
    ///
    /// A capture near the sender counts as between the ends if the sender's answers arrive late: data on
    /// the way to the capture is missing from the flight that it shows. A capture at an equally slow
    /// sender also counts as between the ends.
    fn position(&self, direction: Direction) -> Option<Position> {
        let position = self.vantage()?.of(direction);
        let Some(to_sender) = self.answer(direction) else {
            return Some(position);
        };
        if to_sender < AT_HOST {
            return Some(Position::Sender);
        }
        if position != Position::Sender || to_sender < ANSWER {
            return Some(position);
        }
        let to_receiver = self.answer(direction.opposite());
        let hides_data = to_receiver.is_some_and(|to_receiver| {
            to_sender.as_nanos() > (to_sender + to_receiver).as_nanos() / MOST_HIDDEN
        });
        let own = &self.sides[direction.index()];
        let other = &self.sides[direction.opposite().index()];
        // Without echoes, a position away from the sender would leave nothing known.
        let is_late = own.pacing.answers_from_afar() && own.echoes_acks(other);
        Some(if hides_data || is_late {
            Position::Between
        } else {
            Position::Sender
        })
    }

    /// True if the end that sends in `direction` is known to answer later than a host does at itself.
    fn is_far(&self, direction: Direction) -> bool {
        let answer = self.answer(direction);
        answer.is_some_and(|answer| answer >= ANSWER)
    }

    /// Shortest time in which the end that sends in `direction` answers, as the capture sees it.
    fn answer(&self, direction: Direction) -> Option<TimeDelta> {
        let handshake = self.handshake.answer(direction);
        let echo = self.sides[direction.opposite().index()].echoes.least();
        handshake.into_iter().chain(echo).min()
    }

    /// Position of the capture: from the handshake times, else from the shorter echo time.
    fn vantage(&self) -> Option<Vantage> {
        let answers = Direction::BOTH.map(|direction| self.handshake.answer(direction));
        if let [Some(to_initiator), Some(to_responder)] = answers {
            return Vantage::between(to_initiator, to_responder);
        }
        let [forward, reverse] = &self.sides;
        // The initiator echoes the timestamps of the reverse direction, so their echo time is the
        // round-trip time to the initiator.
        Vantage::between(reverse.echoes.least()?, forward.echoes.least()?)
    }
}

impl FlowSurvey {
    fn side(&self, direction: Direction) -> Option<Side> {
        let own = &self.sides[direction.index()];
        let other = &self.sides[direction.opposite().index()];
        let (position, is_far) = (self.position(direction), self.is_far(direction));
        let mut side = own.side(other, position, is_far)?;
        let (handshake, smss_bytes) = (&self.handshake.ecn, side.smss_bytes);
        let answers = Direction::BOTH.map(|direction| self.answer(direction));
        side.whole_rtt = answers[0].zip(answers[1]).map(|(one, other)| one + other);
        // Between two ticks of the ACKs, the flight of any sender seems to rise, and then falls.
        let shows_flight = side.whole_rtt.is_some_and(|rtt| side.shows_time(rtt));
        side.is_paced |= shows_flight && own.pulses.are_of_probes();
        let is_by_client = direction == Direction::Reverse;
        side.feedback = CeFeedback::new(handshake, is_by_client, smss_bytes).or_else(|| {
            let mode = own.ecn.mode(other.ecn)?;
            Some(CeFeedback::from_the_middle(mode, smss_bytes))
        });
        Some(side)
    }
}

impl SideSurvey {
    /// Processes a packet of this direction. `least_echo` is the shortest time in which this end answers.
    fn send(&mut self, segment: &Segment, least_echo: Option<TimeDelta>) {
        // The first pass uses no cause, so the classifier needs no path times.
        let (class, _) = self.classifier.segment(segment, PathTimes::default);
        if class == Class::Copy {
            return;
        }
        self.ecn.take(segment);
        if let Some((stamp, _)) = segment.timestamps {
            self.echoes.send(stamp, segment.seen.at);
            self.ticks.send(stamp, segment.seen.at);
        }
        self.has_blocks |= segment.sack_block_count() > 0;
        if segment.syn.is_some() {
            self.syn = segment.syn;
        }
        if !segment.is_numbered() {
            return;
        }
        // The receiver drops a segment outside its window, so the segment proves no missed ACK.
        if !self.classifier.is_outside(segment) {
            self.ack_gaps.send(segment);
        }
        let (start, end) = (segment.payload_start(), segment.end());
        let bytes = segment.seen.payload_bytes;
        if bytes > 0 {
            self.data_segments += 1;
            self.data_bytes += u64::from(bytes);
            self.lengths.get_or_insert_default().add(bytes);
        }
        match class {
            Class::Behind(behind) => {
                self.drains.send_again();
                self.pulses.send_again();
                self.again.push(Again {
                    start,
                    end,
                    record: segment.seen.record,
                    was_overtaken: behind.sent == SendOrder::Earlier,
                });
            }
            Class::Empty | Class::Copy | Class::KeepAlive | Class::WindowProbe => {}
            Class::New => {
                self.pacing.send(segment.seen.at);
                self.scale.send(end);
                self.unseen.send(start, end);
                let known = self
                    .received_acks
                    .known_at(segment.timestamps.map(|(_, echo)| echo));
                // In a gap, the flight is less than the captured ACKs show.
                if let Some(acked) = known.filter(|_| !self.ack_gaps.is_open()) {
                    let flight_bytes = end.since(acked);
                    let least_rtt = least_echo.zip(self.echoes.least());
                    let least_rtt = least_rtt.map(|(own, other)| own + other);
                    self.drains.send(segment.seen.at, flight_bytes, least_rtt);
                    if let Some(least_rtt) = least_rtt {
                        self.pulses.send(segment.seen.at, flight_bytes, least_rtt);
                    }
                }
                if bytes > 0 {
                    let known_at_most = self.received_acks.known_at_most();
                    let echo = segment.timestamps.map(|(_, echo)| echo);
                    self.echo_watch.send(echo, end, known_at_most);
                }
                self.has_stamps = segment.timestamps.is_some();
            }
        }
    }

    /// Processes an ACK of this direction's data.
    fn on_ack(&mut self, segment: &Segment, ack: StreamOffset) {
        self.classifier.acknowledge(segment);
        self.ack_gaps.on_ack(segment, ack);
        if let Some((_, echo)) = segment.timestamps {
            self.echoes.on_ack(echo, segment.seen.at);
        }
        self.pacing
            .on_ack(segment.seen.at, segment.sack_block_count() > 0);
        let stamp = segment.timestamps.map(|(stamp, _)| stamp);
        self.received_acks.push(stamp, ack);
        self.echo_watch.on_ack(stamp, segment.window);
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        if !segment.flags.syn() {
            self.scale.on_ack(ack, segment.window);
        }
    }

    /// Scale of the other end's window.
    fn window_scale(&self, other: &Self) -> WindowScale {
        match self.syn.zip(other.syn) {
            Some((own, other)) => {
                WindowScale::Known(match (own.window_scale, other.window_scale) {
                    // Scaling needs the option in both SYNs, and 14 is the limit (RFC 7323,
                    // sections 2.2 and 2.3).
                    (Some(_), Some(shift)) => shift.min(14),
                    _ => 0,
                })
            }
            None => self.scale.found(),
        }
    }

    /// True if the echoes in this end's data show which ACKs it knew.
    fn echoes_acks(&self, other: &Self) -> bool {
        self.echo_watch.shows_acks(self.window_scale(other))
    }

    fn side(&self, other: &Self, position: Option<Position>, is_far: bool) -> Option<Side> {
        let lengths = self.lengths.as_deref()?;
        let both = self.syn.zip(other.syn);
        let timestamps = both.map(|(own, other)| own.timestamps && other.timestamps);
        let mss = both.map(|(own, other)| {
            // RFC 9293, section 3.7.1: 536 without an MSS option.
            let least = own.mss.unwrap_or(536).min(other.mss.unwrap_or(536));
            // Timestamps with their padding take 12 bytes of each segment (RFC 7323, appendix A).
            let options = if timestamps == Some(true) { 12 } else { 0 };
            // A host may offer any MSS, also one below the length of the option.
            u32::from(least).saturating_sub(options).max(MIN_SMSS_BYTES)
        });
        let smss = lengths.smss(mss);
        let smss_bytes = smss.bytes;
        // A packet that the capture shows may hold several segments (TSO, GSO).
        let segments = self.data_bytes.div_ceil(u64::from(smss_bytes.max(1)));
        if self.data_segments.max(segments) < MIN_DATA_SEGMENTS {
            return None;
        }
        Some(Side {
            smss_bytes,
            is_smss_known: smss.is_known,
            feedback: None,
            is_bursty: lengths.is_above(smss_bytes),
            tick: self.ticks.found(),
            first_tick: self.ticks.start(),
            acks_tick: other.ticks.at_most(),
            whole_rtt: None,
            position,
            has_timestamps: timestamps.unwrap_or(self.has_stamps),
            has_sack: match both {
                Some((own, other)) => own.sack_permitted && other.sack_permitted,
                // Without retransmissions, a receiver may have had no reason for SACK blocks.
                None => other.has_blocks || self.again.is_empty(),
            },
            window_scale: self.window_scale(other),
            retransmissions: self.again.clone().sorted(position),
            ack_gaps: self.ack_gaps.found(),
            unseen: match position {
                // A capture at the sender misses data only by its own fault.
                None | Some(Position::Sender) => Unseen::default(),
                Some(Position::Between | Position::Receiver) => self.unseen.clone(),
            },
            least_echo: other.echoes.least().filter(|_| self.echoes_acks(other)),
            // Only at the sender is the time from an ACK to data the reaction time of the sender.
            is_paced: match position {
                // After a few losses, the window of a sender without pacing may look like a drain.
                Some(Position::Sender) => {
                    self.pacing.is_paced(is_far)
                        || self.drains.count() > 0 && !self.pacing.is_clocked_by_acks(is_far)
                }
                _ => self.drains.count() > 0,
            },
        })
    }
}
