//! The first pass over one flow.

mod direction;

use tcpexp_flow::{CeFeedback, Direction, EcnMode, Flow, FlowId, Segment};
use tcpexp_units::TimeDelta;

use super::handshake::Handshake;
use super::side::{Side, Surveyed};
use crate::vantage::{ANSWER, hides_data};
use crate::{Busiest, Meter, MissedData, Position, Vantage};
use direction::SideSurvey;

/// Longest answer time of a host that shows that the capture was taken at this host. The kernel of a
/// host takes some 20 µs from the capture of a segment to the capture of its answer. On a short path,
/// this may be the whole round trip.
const AT_HOST: TimeDelta = TimeDelta::from_micros(30);

/// The first pass over one flow.
pub(super) struct FlowSurvey {
    flow: FlowId,
    handshake: Handshake,
    sides: [SideSurvey; 2],
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
        let gap = segment.ack.and_then(|ack| other.on_ack(segment, ack));
        own.send(segment, other.echoes.least());
        if let Some(around) = gap {
            own.answer_missed_ack(segment, around);
        }
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
        let hides_data = to_receiver.is_some_and(|to_receiver| hides_data(to_sender, to_receiver));
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
        let answers = Direction::BOTH.map(|direction| self.answer(direction));
        side.whole_rtt = answers[0].zip(answers[1]).map(|(one, other)| one + other);
        // Between two ticks of the ACKs, the flight of any sender seems to rise, and then falls.
        let shows_flight = side.whole_rtt.is_some_and(|rtt| side.shows_time(rtt));
        side.is_paced |= shows_flight && own.has_probed();
        let feedback = self.feedback(direction, side.smss_bytes);
        let offers = own.syn.zip(other.syn);
        let has_no_sack =
            offers.is_some_and(|(own, other)| !(own.sack_permitted && other.sack_permitted));
        let feedback = if has_no_sack {
            feedback.map(CeFeedback::without_sack)
        } else {
            feedback
        };
        side.feedback = feedback.map(Box::new);
        Some(side)
    }

    /// How the receiver reports marks on the data of `direction`; `None` if unknown, or if it reports none.
    fn feedback(&self, direction: Direction, smss_bytes: u32) -> Option<CeFeedback> {
        let [own, other] =
            [direction, direction.opposite()].map(|direction| self.sides[direction.index()].ecn);
        let handshake = &self.handshake.ecn;
        // Most flows use no ECN: the state would take memory and time, and count nothing.
        if handshake.mode() == Some(EcnMode::NotEcn) {
            return None;
        }
        let is_by_client = direction == Direction::Reverse;
        CeFeedback::new(handshake, is_by_client, smss_bytes).or_else(|| {
            let mode = own.mode(other).filter(|mode| *mode != EcnMode::NotEcn)?;
            Some(CeFeedback::from_the_middle(mode, smss_bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::scripted::segments;

    use super::*;

    /// The first pass over an upload with these flags in the handshake.
    fn upload(syn: &str, syn_ack: &str) -> FlowSurvey {
        let text = format!(
            "
            0.000 > {syn} 0 mss 1000
            0.040 < {syn_ack} 0 ack 1 mss 1000
            0.0401 > . 1 ack 1
            0.041 > 1:4001(4000) ack 1
            0.081 < . 1 ack 4001
            0.0811 > 4001:8001(4000) ack 1
            0.121 < . 1 ack 8001
            "
        );
        let mut survey = FlowSurvey::new(FlowId(0));
        for segment in segments(&text) {
            survey.segment(&segment, &mut Vec::new());
        }
        survey
    }

    #[test]
    fn a_sender_without_ecn_has_no_feedback() {
        let has_feedback = |syn, syn_ack| {
            let side = upload(syn, syn_ack).side(Direction::Forward);
            side.unwrap().feedback.is_some()
        };
        assert!(!has_feedback("S", "S."));
        assert!(!has_feedback("SEW", "S."));
        assert!(has_feedback("SEW", "S.E"));
    }

    #[test]
    fn an_end_without_data_has_no_state_of_a_flight() {
        let survey = upload("S", "S.");
        let has_flight = survey.sides.map(|side| side.flight.is_some());
        assert_eq!(has_flight, [true, false]);
        let bytes = size_of::<FlowSurvey>();
        assert!(bytes <= 1_664, "{bytes}");
    }
}
