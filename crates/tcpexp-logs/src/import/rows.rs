//! The rows that a log yields.

use std::net::SocketAddr;
use std::sync::Arc;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_measure::SenderLabel;
use tcpexp_measure::sender::SenderSample;

/// Rows of all kinds, each kind in the order of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// New flows; a flow appears here no later than its first row.
    pub flows: Vec<ImportedFlow>,
    /// Sender state.
    pub samples: Vec<SenderSample>,
    /// Changes of the congestion state.
    pub state_changes: Vec<StateChange>,
    /// Retransmissions.
    pub retransmits: Vec<RetransmitEvent>,
    /// Totals since a connection began.
    pub counters: Vec<SenderCounters>,
    /// Intervals of load generators.
    pub intervals: Vec<IntervalSample>,
    /// Series of a test, at the common times of all series.
    pub series: Vec<SeriesSample>,
    /// What the tools of a test printed, which its series interpolate.
    pub series_samples: Vec<SeriesSample>,
    /// The test that the log is of.
    pub test: Option<TestInfo>,
    /// Start of a test whose log has no other absolute time, in whole seconds: the test starts up to a second
    /// and some round trips later, and the times of [`intervals`](Self::intervals) with it.
    pub coarse_start: Option<Timestamp>,
    /// Events that the kernel lost before it could write them to the log, at least. Rows of the log may be
    /// missing, on any flow.
    pub lost_events: u64,
}

/// A test of a test tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestInfo {
    /// Its name.
    pub name: String,
    /// The title that the user gave it; may be empty.
    pub title: String,
    /// Its start, from which its times count; `None` if unknown: they count from 1970.
    pub start: Option<Timestamp>,
    /// True if the log does not state the start: it is the time of the earliest sample, or unknown.
    pub is_start_estimated: bool,
    /// Its parameters, by name.
    pub parameters: Vec<(String, String)>,
}

/// A connection of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedFlow {
    /// Its number in this log, in order of first appearance.
    pub flow: FlowId,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Address and port of the end whose data is [`Direction::Forward`]: the local end of the first
    /// row. `None` if the log names no endpoints.
    pub local: Option<SocketAddr>,
    /// Address and port of the other end.
    pub remote: Option<SocketAddr>,
}

impl From<&ImportedFlow> for SenderLabel {
    fn from(flow: &ImportedFlow) -> Self {
        Self {
            flow: flow.flow,
            captured: flow.flow,
            protocol: flow.protocol,
            ends: flow.local.zip(flow.remote),
            capture: None,
        }
    }
}

/// A change of a sender's congestion state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Time on the log's clock; for a polled log, the first time that the new state was observed.
    pub at: Timestamp,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// The new state. Equals the previous state if the kernel sets it again, as after a second
    /// timeout.
    pub state: CongestionState,
}

/// The states of Linux's congestion control (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CongestionState {
    /// No congestion event is suspected.
    Open,
    /// Duplicate or selective ACKs arrive, but too few to detect a loss.
    Disorder,
    /// Reducing the window without losses, after ECN echoes or congestion in the host.
    WindowReduction,
    /// Reducing the window and retransmitting.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitEvent {
    /// Time on the log's clock.
    pub at: Timestamp,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
}

/// Totals of one sender since the start of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderCounters {
    /// Time on the log's clock.
    pub at: Timestamp,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// Segments retransmitted.
    pub retransmitted_segments: Option<u64>,
    /// Time with data queued or outstanding.
    pub busy: Option<TimeDelta>,
    /// Time limited by the receiver's window.
    pub receiver_limited: Option<TimeDelta>,
    /// Time limited by the send buffer.
    pub send_buffer_limited: Option<TimeDelta>,
}

/// One interval of one stream of a load generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSample {
    /// Start of the interval on the log's clock; counted from the start of the test if the log does
    /// not state the time of the start.
    pub start: Timestamp,
    /// Length of the interval.
    pub length: TimeDelta,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// Bytes written by the application (sender) or delivered to it (receiver).
    pub bytes: Option<u64>,
    /// The same as a rate in bits per second.
    pub goodput_bps: Option<u64>,
    /// Segments retransmitted in the interval.
    pub retransmitted_segments: Option<u64>,
    /// Congestion window at the end of the interval, in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time at the end of the interval.
    pub srtt: Option<TimeDelta>,
    /// Mean deviation of the round-trip time at the end of the interval.
    pub rttvar: Option<TimeDelta>,
    /// True if the generator excludes the interval from its totals as warm-up.
    pub omitted: bool,
}

/// One value of a series that a test tool reports.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSample {
    /// Name of the test.
    pub test: Arc<str>,
    /// Title that the user gave to the test; may be empty.
    pub title: Arc<str>,
    /// Name of the series.
    pub series: Arc<str>,
    /// Time of the value. In a series, the start of the test ([`TestInfo::start`]) plus `elapsed`.
    pub at: Timestamp,
    /// Time since the start of the test.
    pub elapsed: TimeDelta,
    /// The value.
    pub value: f64,
    /// Time before `at` over which the value is a mean; `None` if the file states none.
    pub duration: Option<TimeDelta>,
    /// Unit of the value, as the file states it.
    pub unit: Option<Arc<str>>,
    /// Mean of the series over the whole test, as its tool reports it; `None` if it reports none.
    pub tool_mean: Option<f64>,
}

impl Batch {
    /// True if the batch has no rows and states nothing about the log.
    pub const fn is_empty(&self) -> bool {
        self.flows.is_empty() && !self.has_rows() && self.lost_events == 0
    }

    /// True if the batch has rows other than flows.
    pub(super) const fn has_rows(&self) -> bool {
        !(self.samples.is_empty()
            && self.state_changes.is_empty()
            && self.retransmits.is_empty()
            && self.counters.is_empty()
            && self.intervals.is_empty()
            && self.series.is_empty()
            && self.series_samples.is_empty())
    }
}

impl CongestionState {
    /// The state with the kernel's number.
    pub const fn numbered(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Open),
            1 => Some(Self::Disorder),
            // `TCP_CA_CWR`: congestion window reduced.
            2 => Some(Self::WindowReduction),
            3 => Some(Self::Recovery),
            4 => Some(Self::Loss),
            _ => None,
        }
    }

    /// True while the window is being reduced or after a timeout.
    pub const fn is_reducing(self) -> bool {
        matches!(self, Self::WindowReduction | Self::Recovery | Self::Loss)
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::WindowReduction => "window_reduction",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}
