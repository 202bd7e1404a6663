//! The table of load generator intervals.

use tcpexp_logs::import::IntervalSample;

use crate::columns::Columns;
use crate::labels::{Labelled, SenderLabel, sender_label_columns};

/// An interval with its flow.
pub type IntervalRow = Labelled<IntervalSample, SenderLabel>;

/// The columns of `tcpexp import iperf3`.
pub fn interval_columns() -> Columns<IntervalRow> {
    sender_label_columns(Columns::named("intervals"), |row: &IntervalRow| &row.flow)
        .text("direction", "Which way the data goes: forward (from the end that wrote the log) or reverse.", |row| row.row.direction.name())
        .time("start_ns", "When the interval began: nanoseconds since 1970-01-01 UTC, or since the test began where the log does not tell when that was.", |row| row.row.start)
        .span("length_ns", "How long the interval is, in nanoseconds.", |row| row.row.length)
        .maybe_count("bytes", "Bytes that the sending application handed over, or that the receiving one got. Null where the log does not tell them.", |row| row.row.bytes)
        .maybe_count("goodput_bps", "These bytes as a rate in bits per second. Null where the bytes are, and for an interval without length.", |row| row.row.goodput_bps)
        .maybe_count("retransmitted_segments", "Segments sent again in the interval. Null where the log does not tell, as a receiver's.", |row| row.row.retransmitted_segments)
        .maybe_count("cwnd_bytes", "Congestion window at the end of the interval in bytes. Null where the log does not tell it.", |row| row.row.cwnd_bytes)
        .maybe_span("srtt_ns", "Smoothed round-trip time at the end of the interval in nanoseconds. Null where the log does not tell it.", |row| row.row.srtt)
        .maybe_span("rttvar_ns", "Mean deviation of the round-trip time at the end of the interval in nanoseconds. Null where the log does not tell it.", |row| row.row.rttvar)
        .flag("omitted", "Whether the generator still warmed up and leaves the interval out of its own sums.", |row| row.row.omitted)
        .done()
}
