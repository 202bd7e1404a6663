//! The table `rtt`: a row per round-trip time sample.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_measure::rtt::SingleRttSample;
use tcpexp_pair::spp::{Point, RttSample};
use tcpexp_units::{TimeDelta, Timestamp};

use super::flow::{DatasetFlow, flow_part, time_part};
use crate::columns::Columns;

/// A round-trip time sample.
#[derive(Clone, Debug)]
pub struct RttRow {
    /// The flow of the sample.
    pub flow: Arc<DatasetFlow>,
    /// Time of the sample, on the source's clock.
    pub at: Timestamp,
    /// The measurement.
    pub source: RttSource,
}

/// Origin of a round-trip time sample.
#[derive(Clone, Copy, Debug)]
pub enum RttSource {
    /// From two captures.
    Pair(RttSample),
    /// From one capture.
    Answer(SingleRttSample),
}

pub(super) fn columns(origin: Timestamp) -> Columns<RttRow> {
    let columns = flow_part(
        Columns::named("dataset_rtt"),
        |row: &RttRow| &row.flow,
        |row| row.source.direction(),
    );
    time_part(columns, "Time when the pair's first packet passed the reference point, or, with one capture, when the answer was captured", origin, |row| row.at)
        .span_twice("rtt", "Round-trip time in nanoseconds. With method packet_pairs between the two points, without the turnaround; otherwise from the capture to the receiver and back, including the receiver's response time. Not clamped: a negative value is a finding.", |row| row.source.rtt())
        .text("method", "Method of measurement: packet_pairs (between two captures), or with one capture sequence_ack (an ACK answers a segment) or timestamps (a TSecr echoes a TSval).", |row| row.source.method())
        .name("reference", "Point where the round trip starts and ends: src (first capture) or dst (second capture).", |row| row.source.reference().name())
        .maybe_span("turnaround_ns", "Time between the pair's two packets at the far point, in nanoseconds; not part of rtt_ns. Null unless method is packet_pairs.", |row| Some(row.source.pair()?.turnaround))
        .maybe_span("owd_out_ns", "One-way time of the pair's first packet in nanoseconds: far clock minus reference clock, so it includes the clock offset. The table owd removes the offset. Null unless method is packet_pairs.", |row| Some(row.source.pair()?.owd_out))
        .maybe_span("owd_back_ns", "One-way time of the pair's second packet back, in nanoseconds, including the clock offset with the opposite sign. Null unless method is packet_pairs.", |row| Some(row.source.pair()?.owd_back))
        .maybe_span("rtt_error_ns", "Maximum error of rtt_ns in nanoseconds. With method packet_pairs one tick of each clock, the uncertainty of their skew over the turnaround, and any movement of the clocks by more than 20 µs that the delays of the two directions do not exclude; with one capture the step of a clock that advances in steps of more than 1 µs, and for the spin bit the waiting time at the answer's sender. Null if a method with one capture has neither.", |row| row.source.rtt_error())
        .maybe_text("ack_class", "Kind of answer, with one capture: handshake, cumulative, after_reordering, selective, duplicate or unasked. Null if method is packet_pairs.", |row| Some(row.source.answer()?.ack_class.name()))
        .done()
}

impl RttSource {
    const fn pair(&self) -> Option<&RttSample> {
        match self {
            Self::Pair(sample) => Some(sample),
            Self::Answer(_) => None,
        }
    }

    const fn answer(&self) -> Option<&SingleRttSample> {
        match self {
            Self::Answer(sample) => Some(sample),
            Self::Pair(_) => None,
        }
    }

    const fn direction(&self) -> Direction {
        match self {
            Self::Pair(sample) => sample.direction,
            Self::Answer(sample) => sample.direction,
        }
    }

    const fn rtt(&self) -> TimeDelta {
        match self {
            Self::Pair(sample) => sample.rtt,
            Self::Answer(sample) => sample.rtt,
        }
    }

    const fn rtt_error(&self) -> Option<TimeDelta> {
        match self {
            Self::Pair(sample) => Some(sample.rtt_error),
            Self::Answer(sample) => sample.error,
        }
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::Pair(_) => "packet_pairs",
            Self::Answer(sample) => sample.method.name(),
        }
    }

    const fn reference(&self) -> Point {
        match self {
            Self::Pair(sample) => sample.reference,
            // A single capture counts as the source.
            Self::Answer(_) => Point::Src,
        }
    }
}
