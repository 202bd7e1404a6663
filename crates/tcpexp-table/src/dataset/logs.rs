//! The table `logs`: lines from the logs of kernels and tools.

use std::sync::Arc;

use tcpexp_flow::Direction;
use tcpexp_logs::import::IntervalSample;
use tcpexp_measure::sender::{CwndSource, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};

use super::flow::{DatasetFlow, maybe_flow_part, time_part};
use crate::columns::{Builder, Columns};
use crate::sender::{control, windows};

/// A line of a log.
#[derive(Clone, Debug)]
pub struct LogRow {
    /// Name of the log's file.
    pub log: Arc<str>,
    /// The program or kernel facility that wrote the log.
    pub kind: Arc<str>,
    /// The flow of the line, if a capture contains the flow or the log names it.
    pub flow: Option<Arc<DatasetFlow>>,
    /// Direction of the data.
    pub direction: Option<Direction>,
    /// Content of the line.
    pub sample: LogSample,
}

/// Content of a log line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogSample {
    /// State of a sender.
    Sender(SenderSample),
    /// One interval of a load generator.
    Interval(IntervalSample),
    /// A reply to an echo request.
    Echo {
        /// Arrival time of the reply.
        at: Timestamp,
        /// Sequence number of the request.
        number: u64,
        /// Round-trip time.
        rtt: TimeDelta,
    },
}

pub(super) fn columns(origin: Timestamp) -> Columns<LogRow> {
    let columns = Columns::named("dataset_logs")
        .name(
            "log",
            "The log file, as given on the command line.",
            |row: &LogRow| &row.log,
        )
        .name(
            "kind",
            "Source of the log: tcp_probe, tcpinfo, ss, siftr, web10g, iperf3 or ping.",
            |row| &row.kind,
        );
    let columns = maybe_flow_part(
        columns,
        "where the log names no endpoints or none that a capture has",
        |row| row.flow.as_deref(),
        |row| row.direction,
    );
    let columns = time_part(
        columns,
        "Time of the state on the log's clock, which is taken for the source's; of an interval, its start",
        origin,
        LogRow::at,
    );
    let columns = windows(columns, LogRow::sender).maybe_text(
        "cwnd_source",
        "Source of the window: measured (the kernel logged it). Null for other logs.",
        |row| Some(CwndSource::name(row.sender()?.cwnd_source)),
    );
    intervals(control(columns, LogRow::sender))
        .maybe_float(
            "rtt_ms",
            "Round-trip time reported by ping, in milliseconds. Null for other logs.",
            |row| Some(row.echo()?.1.as_nanos() as f64 / 1e6),
        )
        .maybe_span(
            "rtt_ns",
            "Round-trip time reported by ping, in nanoseconds. Null for other logs.",
            |row| Some(row.echo()?.1),
        )
        .maybe_count(
            "echo_number",
            "Sequence number of ping's request (icmp_seq). Null for other logs.",
            |row| Some(row.echo()?.0),
        )
        .done()
}

fn intervals(columns: Builder<LogRow>) -> Builder<LogRow> {
    const NULL: &str = "Null if the log has no such value, and for other logs.";
    columns
        .maybe_span("interval_ns", "Length of the load generator's interval, in nanoseconds. An iperf3 log has the start of its test in whole seconds, so the times of its rows count from the first data of the test in the capture at its end, if there is one. Null for other logs.", |row| Some(row.interval()?.length))
        .maybe_count("interval_bytes", &format!("Bytes written by the sending application in the interval, or read by the receiving one. {NULL}"), |row| row.interval()?.bytes)
        .maybe_count("interval_goodput_bps", &format!("These bytes as a rate in bits per second. {NULL}"), |row| row.interval()?.goodput_bps)
        .maybe_count("interval_retransmitted_segments", &format!("Segments retransmitted in the interval. {NULL}"), |row| row.interval()?.retransmitted_segments)
        .maybe_count("interval_cwnd_bytes", &format!("Congestion window at the end of the interval, in bytes. {NULL}"), |row| row.interval()?.cwnd_bytes)
        .maybe_span("interval_srtt_ns", &format!("Smoothed round-trip time at the end of the interval, in nanoseconds. {NULL}"), |row| row.interval()?.srtt)
        .maybe_flag("interval_omitted", "Whether the interval is part of the generator's warm-up, which its own sums omit. Null for other logs.", |row| Some(row.interval()?.omitted))
}

impl LogRow {
    /// Time of the line.
    pub const fn at(&self) -> Timestamp {
        match self.sample {
            LogSample::Sender(sample) => sample.at,
            LogSample::Interval(sample) => sample.start,
            LogSample::Echo { at, .. } => at,
        }
    }

    const fn sender(&self) -> Option<&SenderSample> {
        match &self.sample {
            LogSample::Sender(sample) => Some(sample),
            _ => None,
        }
    }

    const fn interval(&self) -> Option<&IntervalSample> {
        match &self.sample {
            LogSample::Interval(sample) => Some(sample),
            _ => None,
        }
    }

    const fn echo(&self) -> Option<(u64, TimeDelta)> {
        match self.sample {
            LogSample::Echo { number, rtt, .. } => Some((number, rtt)),
            _ => None,
        }
    }
}
