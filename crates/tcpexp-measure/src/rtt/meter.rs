//! The meter of one flow, both directions.

use tcpexp_flow::{Datagram, Direction, Flow, Segment, SynOptions};
use tcpexp_metrics::Quantiles;

use super::half_path::HalfPath;
use super::{
    AckClass, RttMethod, SingleRttDirection, SingleRttFlow, SingleRttRow, SingleRttSample,
};
use crate::Meter;
use crate::quic::{QuicObserver, QuicSample};

/// Measures the round-trip times of one TCP connection, both directions, or of a QUIC connection.
///
/// Flows of other protocols yield nothing. Memory grows with the segments in flight, plus 400 kB per direction of
/// a connection with tens of thousands of samples.
#[derive(Debug)]
pub struct SingleRttMeter {
    flow: Flow,
    /// By direction of the data, from the first segment on.
    paths: Option<Box<[HalfPath; 2]>>,
    captured: [bool; 2],
    /// By direction.
    syns: [Option<SynOptions>; 2],
    /// `None` unless the flow is QUIC.
    quic: Option<Box<Quic>>,
}

/// The state of a QUIC connection.
#[derive(Debug, Default)]
struct Quic {
    observer: QuicObserver,
    has_begun: bool,
    handshakes: [Quantiles; 2],
}

impl SingleRttMeter {
    /// Creates a meter for `flow`.
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            paths: None,
            captured: [false; 2],
            syns: [None; 2],
            quic: flow.continues.map(|_| Box::default()),
        }
    }
}

impl Quic {
    fn add(&mut self, flow: &Flow, sample: &QuicSample, rows: &mut impl Extend<SingleRttRow>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            rows.extend([SingleRttRow::Began(*flow)]);
        }
        if sample.is_handshake {
            self.handshakes[sample.direction.index()].add(sample.rtt);
        }
        let (method, ack_class) = if sample.is_handshake {
            (RttMethod::QuicHandshake, AckClass::Handshake)
        } else {
            (RttMethod::SpinBit, AckClass::Spin)
        };
        rows.extend([SingleRttRow::Sample(SingleRttSample {
            at: sample.at,
            flow: flow.id,
            direction: sample.direction,
            rtt: sample.rtt,
            method,
            ack_class,
            offset: None,
            error: sample.error,
            rfc6298: None,
            linux: None,
        })]);
    }

    fn end(&mut self) -> [SingleRttDirection; 2] {
        Direction::BOTH.map(|direction| SingleRttDirection {
            quic_handshake: self.handshakes[direction.index()].summary(),
            spin_bit: self.observer.spins(direction),
            ..SingleRttDirection::default()
        })
    }
}

impl Meter for SingleRttMeter {
    type Row = SingleRttRow;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<SingleRttRow>) {
        let flow = &self.flow;
        let paths = self.paths.get_or_insert_with(|| {
            rows.extend([SingleRttRow::Began(*flow)]);
            Box::default()
        });
        if segment.flags.rst() {
            // The sequence numbers of a reset may be forged (RFC 5961), and it answers nothing.
            return;
        }
        let direction = segment.seen.direction;
        self.captured[direction.index()] = true;
        if segment.flags.syn() {
            self.syns[direction.index()] = segment.syn;
            for direction in Direction::BOTH {
                paths[direction.index()].open(self.syns, direction);
            }
        }
        // Process the ACK first: data in the same packet may be due to it.
        if let Some(ack) = segment.ack {
            let other = &mut paths[direction.opposite().index()];
            other.answer(segment, ack, flow.id, rows);
            if other.take_echoed_gap() && segment.is_numbered() {
                paths[direction.index()].answer_missed_ack(segment);
            }
        }
        paths[direction.index()].send(segment, self.captured[direction.opposite().index()]);
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<SingleRttRow>) {
        if QuicObserver::is_shown_by(datagram) {
            self.quic.get_or_insert_default();
        }
        if let Some(quic) = &mut self.quic {
            for sample in quic.observer.observe(datagram) {
                quic.add(&self.flow, &sample, rows);
            }
        }
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<SingleRttRow>) {
        let of_quic = self.quic.as_mut().filter(|quic| quic.has_begun);
        let directions = match (&mut self.paths, of_quic) {
            (Some(paths), _) => paths.each_mut().map(HalfPath::end),
            (None, Some(quic)) => quic.end(),
            (None, None) => return,
        };
        rows.extend([SingleRttRow::Ended(Box::new(SingleRttFlow {
            flow: *flow,
            directions,
            coarse_tick: None,
        }))]);
    }
}
