//! The totals of one sender.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::TimeDelta;

use super::hints::CongestionHint;
use super::limits::LimitedTime;
use super::lost::LostPackets;
use super::model::ModelFit;
use super::scale::WindowScale;
use crate::Position;

/// Totals of one sender over the whole capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSummary {
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// Position of the capture; `None` if unknown.
    pub position: Option<Position>,
    /// Sender maximum segment size in bytes, as seen in the data; `None` if all packets may hold several
    /// segments.
    pub smss_bytes: Option<u32>,
    /// True if the receiver sends selective acknowledgments.
    pub has_sack: bool,
    /// Scale of the receiver's window. If unknown, the room in the window is unknown too.
    pub window_scale: WindowScale,
    /// Number of retransmissions, in captured packets.
    pub retransmitted: u64,
    /// Data packets lost on the path; `None` without a second capture.
    pub lost: Option<LostPackets>,
    /// Number of recoveries of all kinds.
    pub recoveries: u32,
    /// Number of recoveries that began with a timeout.
    pub timeouts: u32,
    /// Time spent in each limit.
    pub limited: LimitedTime,
    /// Minimum round-trip time, from data sent once only.
    pub least_rtt: Option<TimeDelta>,
    /// Maximum delivery rate over a round trip, in bits per second.
    pub greatest_delivery_rate_bps: Option<u64>,
    /// Twice the maximum delivery rate times the minimum round-trip time, in segments. Approximates
    /// the window of a sender that paces by a model of the path (BBR), whose window packets do not
    /// show: within 15 % in steady state, less accurate with losses.
    pub model_window_segments: Option<u32>,
    /// How well the pacing agrees with BBR's; `None` unless the sender paces.
    pub model_fit: Option<ModelFit>,
    /// Likely congestion control.
    pub hint: CongestionHint,
}
