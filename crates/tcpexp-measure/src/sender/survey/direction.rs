//! The first pass over one direction of a flow.

use tcpexp_flow::{Class, Classifier, PathTimes, Segment, SendOrder, StreamOffset};
use tcpexp_units::TimeDelta;

use crate::Position;
use crate::mss::{DEFAULT_MSS, TIMESTAMPS_BYTES, applied_mss};
use crate::sender::ack_gaps::AckGapSearch;
use crate::sender::data_gaps::{DataGapSearch, DataGaps};
use crate::sender::drain::Drains;
use crate::sender::echo_watch::EchoWatch;
use crate::sender::ecn_signs::EcnSigns;
use crate::sender::lengths::{Lengths, Offers};
use crate::sender::pacing::Pacing;
use crate::sender::pulses::Pulses;
use crate::sender::retransmissions::{Again, Retransmissions};
use crate::sender::scale::{WindowScale, WindowScaleSearch};
use crate::sender::side::Side;
use crate::sender::stamps::{Echoes, ReceivedAcks, TickSearch};
use crate::sender::unseen::Unseen;
use crate::sender::unsent_acks::UnsentAckSearch;

/// Minimum number of data segments of a direction: with fewer, the window is not worth
/// reconstructing.
const MIN_DATA_SEGMENTS: u64 = 4;

/// State collected for one direction.
#[derive(Default)]
pub(super) struct SideSurvey {
    /// Packets with data, each of one segment or more.
    pub(super) data_segments: u64,
    data_bytes: u64,
    /// `None` without data. Boxed, because the counts would be a third of this state, and most flows
    /// of a flood have no data.
    lengths: Option<Box<Lengths>>,
    pub(super) syn: Option<tcpexp_flow::SynOptions>,
    /// True if packets of this direction carry SACK blocks.
    has_blocks: bool,
    /// `None` without retransmissions.
    again: Option<Box<Retransmissions>>,
    unseen: Unseen,
    /// Separates new data from retransmissions and reordered data.
    pub(super) classifier: Classifier,
    /// True if the latest new data carries timestamps.
    has_stamps: bool,
    /// Timestamps of this direction, echoed by the other direction.
    pub(super) echoes: Echoes,
    scale: WindowScaleSearch,
    ticks: TickSearch,
    pub(super) pacing: Pacing,
    /// ACKs from the other end, and which of them this end is known to have received.
    received_acks: ReceivedAcks,
    echo_watch: EchoWatch,
    pub(super) ack_gaps: AckGapSearch,
    unsent_acks: UnsentAckSearch,
    data_gaps: DataGapSearch,
    /// `None` before data whose sender is known to have received an ACK.
    pub(super) flight: Option<Box<Flight>>,
    pub(super) ecn: EcnSigns,
}

/// Signs of a sender that probes the path, in its data in flight.
#[derive(Default)]
pub(super) struct Flight {
    drains: Drains,
    pulses: Pulses,
}

impl SideSurvey {
    /// Processes a packet of this direction. `least_echo` is the shortest time in which this end answers.
    pub(super) fn send(&mut self, segment: &Segment, least_echo: Option<TimeDelta>) {
        // The first pass uses no cause, so the classifier needs no path times.
        let (class, _) = self.classifier.segment(segment, PathTimes::default);
        if class == Class::Copy {
            return;
        }
        self.ecn.take(segment);
        if let Some((stamp, _)) = segment.timestamps {
            self.echoes
                .send(stamp, segment.seen.at, segment.seen.place());
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
            Class::Behind(behind) if !behind.is_undecided_repeat() => {
                if let Some(flight) = &mut self.flight {
                    flight.drains.send_again();
                    flight.pulses.send_again();
                }
                self.again.get_or_insert_default().push(Again {
                    start,
                    end,
                    place: segment.seen.place(),
                    was_overtaken: behind.sent == SendOrder::Earlier,
                });
            }
            Class::Behind(_)
            | Class::Empty
            | Class::Copy
            | Class::KeepAlive
            | Class::WindowProbe => {}
            Class::New => {
                self.pacing.send(segment.seen.at);
                self.scale.send(end);
                let gap_bytes = self.unseen.send(start, end);
                self.data_gaps
                    .send(segment.seen.place(), segment.seen.at, gap_bytes);
                let known = self
                    .received_acks
                    .known_at(segment.timestamps.map(|(_, echo)| echo));
                // In a gap, the flight is less than the captured ACKs show.
                if let Some(acked) = known.filter(|_| !self.ack_gaps.is_open()) {
                    let flight_bytes = end.since(acked);
                    let least_rtt = least_echo.zip(self.echoes.least());
                    let least_rtt = least_rtt.map(|(own, other)| own + other);
                    let flight = self.flight.get_or_insert_default();
                    flight.drains.send(segment.seen.at, flight_bytes, least_rtt);
                    if let Some(least_rtt) = least_rtt {
                        flight.pulses.send(segment.seen.at, flight_bytes, least_rtt);
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

    /// Processes an ACK of this direction's data. Returns the places around a gap between this direction's
    /// packets, if the ACK echoes a packet that the capture missed in the gap.
    pub(super) fn on_ack(&mut self, segment: &Segment, ack: StreamOffset) -> Option<(u64, u64)> {
        self.classifier.acknowledge(segment);
        let (place, at) = (segment.seen.place(), segment.seen.at);
        if let Some(nxt) = self.unsent_acks.on_ack(place, ack, &self.classifier) {
            self.data_gaps.on_ack_beyond(place, at, ack, nxt);
        }
        self.data_gaps.on_ack(place, at);
        self.ack_gaps.on_ack(segment, ack);
        let echo = segment.timestamps.map(|(_, echo)| echo);
        let gap = echo.and_then(|echo| self.echoes.on_ack(echo, segment.seen.at));
        self.pacing
            .on_ack(segment.seen.at, segment.sack_block_count() > 0);
        let stamp = segment.timestamps.map(|(stamp, _)| stamp);
        self.received_acks.push(stamp, ack);
        self.echo_watch.on_ack(stamp, segment.window);
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        if !segment.flags.syn() {
            self.scale.on_ack(ack, segment.window);
        }
        gap
    }

    /// Takes this direction's latest segment, which echoes an ACK that the capture missed in a gap between two
    /// others.
    #[cold]
    pub(super) fn answer_missed_ack(&mut self, segment: &Segment, around: (u64, u64)) {
        // As in `send`, and a packet without data may echo missed data of the other end.
        if segment.is_numbered() && !self.classifier.is_outside(segment) {
            self.ack_gaps.add(around);
        }
    }

    /// Scale of the other end's window.
    fn window_scale(&self, other: &Self) -> WindowScale {
        match self.syn.zip(other.syn) {
            Some((own, other)) => WindowScale::Known(other.agreed_shift(&own)),
            None => self.scale.found(),
        }
    }

    /// True if the echoes in this end's data show which ACKs it knew.
    pub(super) fn echoes_acks(&self, other: &Self) -> bool {
        self.echo_watch.shows_acks(self.window_scale(other))
    }

    /// True if the sender is seen to probe for bandwidth.
    pub(super) fn has_probed(&self) -> bool {
        let flight = self.flight.as_ref();
        flight.is_some_and(|flight| flight.pulses.are_of_probes())
    }

    pub(super) fn side(
        &self,
        other: &Self,
        position: Option<Position>,
        is_far: bool,
    ) -> Option<Side> {
        let lengths = self.lengths.as_deref()?;
        let both = self.syn.zip(other.syn);
        let timestamps = both.map(|(own, other)| own.timestamps && other.timestamps);
        let offers = both.map(|(own, other)| {
            let has_timestamps = timestamps == Some(true);
            let options = if has_timestamps { TIMESTAMPS_BYTES } else { 0 };
            let payload = |mss: u32| mss.saturating_sub(options);
            Offers {
                own: applied_mss(own.mss).map(payload),
                other: applied_mss(other.mss).map(payload),
                default: payload(DEFAULT_MSS.into()),
            }
        });
        let smss = lengths.smss(offers);
        let smss_bytes = smss.bytes;
        // A packet that the capture shows may hold several segments (TSO, GSO).
        let segments = self.data_bytes.div_ceil(u64::from(smss_bytes.max(1)));
        if self.data_segments.max(segments) < MIN_DATA_SEGMENTS {
            return None;
        }
        let again = self.again.as_deref().cloned().unwrap_or_default();
        let drains = self
            .flight
            .as_ref()
            .map_or(0, |flight| flight.drains.count());
        let unsent_acks = self.unsent_acks.found();
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
                None => other.has_blocks || self.again.is_none(),
            },
            window_scale: self.window_scale(other),
            retransmissions: again.sorted(position),
            ack_gaps: self.ack_gaps.found(),
            data_gaps: match position {
                None | Some(Position::Sender) => self.data_gaps.found(&unsent_acks),
                // Elsewhere, such data may have been lost before it reached the capture.
                Some(Position::Between | Position::Receiver) => DataGaps::default(),
            },
            unsent_acks,
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
                        || drains > 0 && !self.pacing.is_clocked_by_acks(is_far)
                }
                _ => drains > 0,
            },
        })
    }
}
