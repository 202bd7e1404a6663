//! The rows that a log yields.

use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_measure::sender::SenderSample;

/// Rows of all kinds, each in the order of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Flows not met before; a flow stands here no later than its first row.
    pub flows: Vec<ImportedFlow>,
    /// State of a sender.
    pub samples: Vec<SenderSample>,
    /// Changes of the congestion state.
    pub state_changes: Vec<StateChange>,
    /// Retransmissions.
    pub retransmits: Vec<RetransmitEvent>,
    /// Totals since a connection began.
    pub counters: Vec<SenderCounters>,
    /// What a load generator told of each interval.
    pub intervals: Vec<IntervalSample>,
}

/// A connection that a log tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedFlow {
    /// Its number in this log, in order of first appearance.
    pub flow: FlowId,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Address and port of the end whose data goes [`Direction::Forward`]: the one that the log
    /// calls its own in the first row. `None` where the log names no endpoints.
    pub local: Option<SocketAddr>,
    /// Address and port of the other end.
    pub remote: Option<SocketAddr>,
}

/// A sender's congestion control sets its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// When, on the log's clock. Where a log polls, when the new state was first seen.
    pub at: Timestamp,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// The state from here on; the same as before where a kernel sets it again, as it does after
    /// a second timeout.
    pub state: CongestionState,
}

/// The states of Linux's congestion control (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CongestionState {
    /// Nothing suspicious.
    Open,
    /// Duplicate or selective ACKs arrive, but not enough to call it a loss.
    Disorder,
    /// Reducing the window without losses, after ECN echoes or congestion in the host.
    WindowReduction,
    /// Reducing the window and retransmitting.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A sender retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitEvent {
    /// When, on the log's clock.
    pub at: Timestamp,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
}

/// Totals of one sender since its connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderCounters {
    /// When, on the log's clock.
    pub at: Timestamp,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// Segments retransmitted.
    pub retransmitted_segments: Option<u64>,
    /// Time with data queued or outstanding.
    pub busy: Option<TimeDelta>,
    /// Time in which the receiver's window kept the sender from sending.
    pub receiver_limited: Option<TimeDelta>,
    /// Time in which the send buffer's size kept the application from writing enough.
    pub send_buffer_limited: Option<TimeDelta>,
}

/// What a load generator told of one interval and one stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSample {
    /// When the interval began: on the log's clock where it tells the time of the start, else
    /// counted from the start of the test.
    pub start: Timestamp,
    /// How long it was.
    pub length: TimeDelta,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// Bytes handed over by the application (sender) or to it (receiver).
    pub bytes: Option<u64>,
    /// These bytes as a rate, in bits per second.
    pub goodput_bps: Option<u64>,
    /// Segments retransmitted in it.
    pub retransmitted_segments: Option<u64>,
    /// Congestion window at its end, in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time at its end.
    pub srtt: Option<TimeDelta>,
    /// Mean deviation of the round-trip time at its end.
    pub rttvar: Option<TimeDelta>,
    /// Whether the generator still warmed up and left it out of its sums.
    pub omitted: bool,
}

impl Batch {
    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.flows.is_empty() && !self.has_rows()
    }

    /// Whether there is more in it than flows.
    pub(super) const fn has_rows(&self) -> bool {
        !(self.samples.is_empty()
            && self.state_changes.is_empty()
            && self.retransmits.is_empty()
            && self.counters.is_empty()
            && self.intervals.is_empty())
    }
}

impl CongestionState {
    /// The state with this number in the kernel.
    pub const fn numbered(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Open),
            1 => Some(Self::Disorder),
            2 => Some(Self::WindowReduction),
            3 => Some(Self::Recovery),
            4 => Some(Self::Loss),
            _ => None,
        }
    }

    /// Whether the window is being reduced or was just lost.
    pub const fn is_reducing(self) -> bool {
        matches!(self, Self::WindowReduction | Self::Recovery | Self::Loss)
    }

    /// The name used in tables.
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
