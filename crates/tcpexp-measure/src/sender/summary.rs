//! The totals of one sender.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::TimeDelta;

use super::hints::CongestionHint;
use super::limits::LimitedTime;
use super::scale::WindowScale;
use crate::Position;

/// One sender, over the whole capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSummary {
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// Where the capture was taken; `None` if unknown.
    pub position: Option<Position>,
    /// Sender maximum segment size in bytes, as seen in the data.
    pub smss_bytes: u32,
    /// Whether the receiver acknowledged selectively.
    pub has_sack: bool,
    /// Scale of the receiver's window. Where it is not known, nor is the room in the window.
    pub window_scale: WindowScale,
    /// Retransmissions, in packets as captured.
    pub retransmitted: u64,
    /// Data packets lost on their way; `None` without a second capture.
    pub lost_packets: Option<u64>,
    /// Recoveries of any kind.
    pub recoveries: u32,
    /// Those of them that a timeout began.
    pub timeouts: u32,
    /// Time by what limited the sender.
    pub limited: LimitedTime,
    /// Least round-trip time; from data sent once only.
    pub least_rtt: Option<TimeDelta>,
    /// The most bits of data acknowledged in a round trip, per second.
    pub greatest_delivery_rate_bps: Option<u64>,
    /// Twice the greatest delivery rate times the least round-trip time, in segments: about the
    /// window of a sender that paces by a model of the path (BBR), which cannot be seen. Right
    /// within 15 % in steady state, and worse where it loses packets.
    pub model_window_segments: Option<u32>,
    /// Which congestion control it may be.
    pub hint: CongestionHint,
}
