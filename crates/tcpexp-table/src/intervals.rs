//! The table of load generator intervals.

use tcpexp_logs::import::IntervalSample;

use crate::columns::Columns;
use crate::labels::{Labelled, SenderLabel, sender_label_columns};

/// An interval with its flow.
pub type IntervalRow = Labelled<IntervalSample, SenderLabel>;

/// The columns of `tcpexp import iperf3`.
pub fn interval_columns() -> Columns<IntervalRow> {
    sender_label_columns(Columns::named("intervals"), |row: &IntervalRow| &row.flow)
        .name("direction", "Direction of the data: forward (from the end that wrote the log) or reverse.", |row| row.row.direction.name())
        .time("start_time", "Start of the interval. iperf3 writes the start of a test in whole seconds, and before it connects the streams: the true times are later by up to a second and some round trips, the same for the whole log. The test of a log without dates starts at 1970-01-01.", |row| row.row.start)
        .span("length_ns", "Length of the interval, in nanoseconds.", |row| row.row.length)
        .maybe_count("bytes", "Bytes written by the sending application, or read by the receiving one. Null if the log has no bytes.", |row| row.row.bytes)
        .maybe_count("goodput_bps", "These bytes as a rate, in bits per second. Null if bytes is null, and for an interval of zero length.", |row| row.row.goodput_bps)
        .maybe_count("retransmitted_segments", "Segments retransmitted in the interval. Null if the log has no such value, as at a receiver.", |row| row.row.retransmitted_segments)
        .maybe_count("cwnd_bytes", "Congestion window at the end of the interval in bytes. Null if the log has no such value.", |row| row.row.cwnd_bytes)
        .maybe_span("srtt_ns", "Smoothed round-trip time at the end of the interval in nanoseconds. Null if the log has no such value.", |row| row.row.srtt)
        .maybe_span("rttvar_ns", "Mean deviation of the round-trip time at the end of the interval in nanoseconds. Null if the log has no such value.", |row| row.row.rttvar)
        .flag("omitted", "Whether the interval is part of the generator's warm-up, which its own sums omit.", |row| row.row.omitted)
        .done()
}
