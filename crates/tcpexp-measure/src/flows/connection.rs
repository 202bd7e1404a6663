//! State of one live connection.

use tcpexp_flow::{
    CeFeedback, Class, Datagram, Direction, EcnMode, Flow, PathTimes, Segment, StreamOffset,
};
use tcpexp_units::TimeDelta;

use super::ending::Closing;
use super::half::Half;
use super::handshake::Handshake;
use super::summary::{ConnectionSummary, DirectionSummary, Known, QuicConnection};
use crate::mss::{DEFAULT_MSS, LONGEST_SINGLE_BYTES, TIMESTAMPS_BYTES, applied_mss};
use crate::quic::{QuicObserver, QuicSummary};
use crate::vantage::hides_data;
use crate::{Meter, Position, Vantage};

/// The shortest of several round-trip times; without an `Option`, which takes twice the memory.
#[derive(Clone, Copy, Debug)]
struct ShortestRtt(TimeDelta);

impl Default for ShortestRtt {
    fn default() -> Self {
        Self(Self::NONE)
    }
}

impl ShortestRtt {
    /// Stands for no round-trip time.
    const NONE: TimeDelta = TimeDelta::from_nanos(i64::MAX);

    #[inline]
    fn add(&mut self, rtt: TimeDelta) {
        self.0 = self.0.min(rtt);
    }

    #[inline]
    fn get(self) -> Option<TimeDelta> {
        Some(self.0).filter(|rtt| *rtt != Self::NONE)
    }
}

/// Sums up one connection, or the datagrams between two endpoints.
#[derive(Debug, Default)]
pub struct Connection {
    handshake: Handshake,
    closing: Closing,
    halves: [Half; 2],
    /// The minimum round-trip time from the capture to each direction's receiver and back, from the
    /// handshake or from ACKs of data.
    shortest: [ShortestRtt; 2],
    /// `None` unless the flow is QUIC.
    quic: Option<Box<QuicObserver>>,
}

impl Connection {
    /// Creates the sums of `flow`.
    pub fn of(flow: &Flow) -> Self {
        Self {
            quic: flow.continues.map(|_| Box::default()),
            ..Self::default()
        }
    }

    /// Processes a TCP segment; returns its class, and true if it is a duplicate ACK.
    #[inline]
    pub fn see(&mut self, segment: &Segment) -> (Class, bool) {
        let Self {
            handshake,
            closing,
            halves,
            shortest,
            quic: _,
        } = self;
        let direction = segment.seen.direction;
        let opposite = direction.opposite();
        closing.observe(segment);
        let (rtt, is_duplicate) = halves[opposite.index()].is_acknowledged(segment);
        if let Some(rtt) = handshake.observe(segment).or(rtt.map(|rtt| rtt.least)) {
            shortest[opposite.index()].add(rtt);
        }
        let to_sender = shortest[direction.index()].get();
        if let (Some(rtt), Some(una)) = (rtt, segment.ack) {
            // The timer of the sender measures the whole round trip; `rtt` is the part beyond the
            // capture.
            halves[opposite.index()].time(rtt.sample + to_sender.unwrap_or_default(), una);
        }
        if segment.flags.syn() && segment.flags.ack() {
            expect_feedback(handshake, halves, segment);
        }
        let half = &mut halves[direction.index()];
        if is_duplicate {
            half.count_duplicate_ack();
        }
        let class = half.sends(segment, || PathTimes {
            shortest_rtt: shortest[0]
                .get()
                .zip(shortest[1].get())
                .map(|(one, other)| one + other),
            to_sender: shortest[opposite.index()].get().unwrap_or_default(),
            // Tail loss probes need SACK (RFC 8985, section 3).
            may_probe: handshake.agreed(|offer| offer.sack_permitted) != Some(false),
            ..PathTimes::default()
        });
        if segment.flags.fin() && !half.is_outside(segment) {
            closing.finish(direction);
        }
        // A closed connection stays for late segments, but most of its memory can be released.
        if self.closing.is_closed() {
            self.halves.iter_mut().for_each(Half::shrink);
        }
        (class, is_duplicate)
    }

    /// One past the highest sequence number captured in a direction.
    pub(crate) fn nxt(&self, direction: Direction) -> Option<StreamOffset> {
        self.halves[direction.index()].nxt()
    }

    /// Returns the summary so far.
    pub fn summary(&mut self, flow: &Flow) -> ConnectionSummary {
        let vantage = self.vantage();
        let positions = Direction::BOTH.map(|direction| self.position(direction));
        let quic = self.quic(flow);
        let ecn = self.handshake.ecn.mode();
        let sack = self.handshake.agreed(|offer| offer.sack_permitted);
        for direction in Direction::BOTH {
            if flow.is_fin_dropped(direction) {
                self.closing.go_on(direction);
            } else if self.halves[direction.index()].has_late_fin() {
                self.closing.finish(direction);
            }
        }
        let mut of = |direction: Direction| {
            let half = &mut self.halves[direction.index()];
            let known = Known {
                position: positions[direction.index()],
                offer: self.handshake.offers[direction.index()],
                reports_no_ce: ecn == Some(EcnMode::NotEcn),
                has_sack: sack != Some(false),
                spin_rtt: self.quic.as_mut().and_then(|quic| quic.spins(direction)),
            };
            DirectionSummary::of(half, known)
        };
        ConnectionSummary {
            flow: flow.id,
            protocol: flow.key.protocol(),
            initiator: flow.initiator(),
            responder: flow.responder(),
            initiator_known: flow.initiator_known,
            first_at: flow.first_seen,
            duration: flow.last_seen - flow.first_seen,
            ending: self.closing.ending(),
            vantage,
            handshake_rtt: quic
                .as_ref()
                .map_or_else(|| self.handshake.rtt(), |quic| quic.handshake_rtt),
            sack,
            timestamps: self.handshake.agreed(|offer| offer.timestamps),
            window_scaling: self.handshake.agreed(|offer| offer.window_scale.is_some()),
            ecn,
            directions: [of(Direction::Forward), of(Direction::Reverse)],
            quic,
            coarse_tick: None,
        }
    }

    fn quic(&self, flow: &Flow) -> Option<QuicConnection> {
        let observer = self.quic.as_ref()?;
        let QuicSummary {
            version,
            connections,
            spin,
        } = observer.summary();
        Some(QuicConnection {
            first_flow: flow.continues.unwrap_or(flow.id),
            version,
            connections,
            handshake_rtt: observer.handshake_rtt(),
            spin,
        })
    }

    #[cold]
    fn see_quic(&mut self, datagram: &Datagram) {
        if QuicObserver::is_shown_by(datagram) {
            self.quic.get_or_insert_default();
        }
        if let Some(quic) = &mut self.quic {
            quic.observe(datagram).for_each(drop);
        }
    }

    /// Position of the capture.
    fn vantage(&self) -> Option<Vantage> {
        let [to_responder, to_initiator] = self.shortest.map(ShortestRtt::get);
        Vantage::between(to_initiator?, to_responder?)
    }

    /// Position of the capture for the data in `direction`. At some distance from the sender, the capture may still
    /// count as taken at this end, but is between the ends: packets may overtake each other before it.
    fn position(&self, direction: Direction) -> Option<Position> {
        let position = self.vantage()?.of(direction);
        let to = |direction: Direction| self.shortest[direction.index()].get();
        // The data of a direction is acknowledged by its receiver.
        let (to_receiver, to_sender) = (to(direction)?, to(direction.opposite())?);
        let is_apart = position == Position::Sender && hides_data(to_sender, to_receiver);
        Some(if is_apart {
            Position::Between
        } else {
            position
        })
    }
}

/// Sets up the counting of congestion marks as negotiated in the handshake.
#[cold]
fn expect_feedback(handshake: &Handshake, halves: &mut [Half; 2], syn_ack: &Segment) {
    for direction in Direction::BOTH {
        // The MSS option of the data's receiver limits the sender's segments, and usually so does the MTU of
        // the sender's own interface, which its own option shows (RFC 6691).
        let mss = |direction: Direction| {
            let offer = handshake.offers[direction.index()];
            applied_mss(offer.and_then(|offer| offer.mss))
        };
        let [own, other] = [direction, direction.opposite()].map(mss);
        // Senders may ignore the default for a receiver without the option.
        let most_bytes = other.unwrap_or(LONGEST_SINGLE_BYTES);
        let [own, other] = [own, other].map(|mss| mss.unwrap_or(DEFAULT_MSS.into()));
        let smss_bytes = own.min(other);
        let has_timestamps = handshake
            .offers
            .iter()
            .all(|offer| offer.is_some_and(|offer| offer.timestamps));
        let options_bytes = if has_timestamps { TIMESTAMPS_BYTES } else { 0 };
        let is_by_client = direction == Direction::Reverse;
        let mut feedback = CeFeedback::new(&handshake.ecn, is_by_client, smss_bytes)
            .map(|feedback| feedback.up_to(most_bytes, options_bytes))
            .filter(|_| handshake.ecn.mode() != Some(EcnMode::NotEcn));
        if handshake.agreed(|offer| offer.sack_permitted) == Some(false) {
            feedback = feedback.map(CeFeedback::without_sack);
        }
        if let Some(feedback) = &mut feedback
            && direction != syn_ack.seen.direction
        {
            // The SYN-ACK marks where the first ACK begins to count packets.
            feedback.on_ack(syn_ack);
        }
        halves[direction.index()].expect_feedback(feedback);
    }
}

impl Meter for Connection {
    type Row = ConnectionSummary;

    #[inline]
    fn segment(&mut self, segment: &Segment, _: &mut impl Extend<ConnectionSummary>) {
        self.see(segment);
    }

    #[inline]
    fn datagram(&mut self, datagram: &Datagram, _: &mut impl Extend<ConnectionSummary>) {
        self.halves[datagram.seen.direction.index()].count(&datagram.seen);
        if datagram.quic.is_some() {
            self.see_quic(datagram);
        }
    }

    #[inline]
    fn prefetch(&self) {
        self.halves.iter().for_each(Half::prefetch);
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<ConnectionSummary>) {
        rows.extend(std::iter::once_with(|| self.summary(flow)));
    }
}
