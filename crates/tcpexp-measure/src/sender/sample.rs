//! One row of sender state.

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

/// The state of one sender when an ACK arrives, before it is processed.
///
/// Reconstructions and kernel logs share this row, so that both fit in one table. Fields that a source
/// does not have are `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSample {
    /// When, on the capture's (or the kernel's) clock.
    pub at: Timestamp,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// The oldest sequence number not acknowledged (RFC 9293, section 3.3.1).
    pub snd_una: Option<StreamOffset>,
    /// The next sequence number to send for the first time.
    pub snd_nxt: Option<StreamOffset>,
    /// Sender maximum segment size in bytes, as seen in the data (RFC 5681, section 2).
    pub smss_bytes: Option<u32>,
    /// Bytes sent and not acknowledged (RFC 5681, section 2).
    pub flight_size_bytes: Option<u64>,
    /// Bytes thought to be in the network (RFC 6675, section 2).
    pub pipe_bytes: Option<u64>,
    /// Segments thought to be in the network.
    pub pipe_segments: Option<u32>,
    /// Congestion window in segments: an estimate, unless the source says measured.
    pub cwnd_segments: Option<u32>,
    /// Congestion window in bytes.
    pub cwnd_bytes: Option<u64>,
    /// How the congestion window is known, or why it is not.
    pub cwnd_source: CwndSource,
    /// Slow start threshold in segments; `None` while infinite or not known.
    pub ssthresh_segments: Option<u32>,
    /// What congestion control is doing.
    pub phase: Option<Phase>,
    /// Which recovery of this sender, counted from 0; `None` outside of one.
    pub recovery_epoch: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout.
    pub rto: Option<TimeDelta>,
    /// Bytes that the receiver's window still leaves room for; negative after it shrank.
    pub usable_window_bytes: Option<i64>,
    /// What keeps the sender from sending more.
    pub limit: Option<Limit>,
}

/// How a congestion window is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CwndSource {
    /// A kernel logged it.
    Measured,
    /// The sender fills its window, so the window is the pipe.
    Filled,
    /// In recovery the window is the pipe plus the segments that an ACK lets out (RFC 6937).
    Recovery,
    /// The receiver's window is smaller; the congestion window is replayed by the sender's rules.
    ReceiverLimited,
    /// The application sends less; the congestion window is replayed by the sender's rules.
    ApplicationLimited,
    /// The capture began in the middle and nothing was acknowledged yet.
    WarmUp,
    /// The sender paces below its window (BBR), which then cannot be seen.
    Paced,
    /// The capture was not taken at the sender and the flow has no timestamps, so what the sender
    /// knew when it sent is not known.
    NotSeen,
}

/// What congestion control is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Doubling every round trip (RFC 5681, section 3.1).
    SlowStart,
    /// Probing slowly (RFC 5681, section 3.1).
    CongestionAvoidance,
    /// Retransmitting what duplicate or selective ACKs showed to be lost (RFC 6675).
    FastRecovery,
    /// Retransmitting after a timeout (RFC 6298, section 5).
    LossRecovery,
    /// Reducing after ECN echoes, without losses (RFC 3168, section 6.1.2).
    WindowReduction,
}

/// What keeps a sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The congestion window.
    CongestionWindow,
    /// The receiver's window.
    ReceiverWindow,
    /// The application, or the sender's buffer: the two look the same in a capture.
    Application,
}

impl CwndSource {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Measured,
        Self::Filled,
        Self::Recovery,
        Self::ReceiverLimited,
        Self::ApplicationLimited,
        Self::WarmUp,
        Self::Paced,
        Self::NotSeen,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Filled => "filled",
            Self::Recovery => "recovery",
            Self::ReceiverLimited => "receiver_limited",
            Self::ApplicationLimited => "application_limited",
            Self::WarmUp => "warm_up",
            Self::Paced => "paced",
            Self::NotSeen => "not_seen",
        }
    }
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SlowStart,
        Self::CongestionAvoidance,
        Self::FastRecovery,
        Self::LossRecovery,
        Self::WindowReduction,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::FastRecovery => "fast_recovery",
            Self::LossRecovery => "loss_recovery",
            Self::WindowReduction => "window_reduction",
        }
    }
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Application,
    ];

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CongestionWindow => "congestion_window",
            Self::ReceiverWindow => "receiver_window",
            Self::Application => "application",
        }
    }
}
