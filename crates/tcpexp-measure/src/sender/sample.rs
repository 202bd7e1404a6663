//! One row of sender state.

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use super::model::PathModel;

/// The state of one sender when an ACK arrives, before it is processed.
///
/// Reconstructions and kernel logs share this row, so that both fit in one table. Fields that a source
/// does not have are `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSample {
    /// Time of the ACK on the clock of the capture or the kernel.
    pub at: Timestamp,
    /// Record number of the ACK in the capture, from 0; `None` from a kernel's log.
    pub record: Option<u64>,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// `snd_una`: the oldest sequence number not acknowledged (RFC 9293, section 3.3.1).
    pub snd_una: Option<StreamOffset>,
    /// `snd_nxt`: the next sequence number to send for the first time.
    pub snd_nxt: Option<StreamOffset>,
    /// Sender maximum segment size in bytes, as seen in the data (RFC 5681, section 2); `None` if all packets
    /// may hold several segments.
    pub smss_bytes: Option<u32>,
    /// Bytes sent and not acknowledged (RFC 5681, section 2). `None` if the capture does not show the order of
    /// events at the sender.
    pub flight_size_bytes: Option<u64>,
    /// Estimated bytes in the network (RFC 6675, section 2).
    pub pipe_bytes: Option<u64>,
    /// Estimated segments in the network.
    pub pipe_segments: Option<u32>,
    /// Congestion window in segments: an estimate unless [`cwnd_source`](Self::cwnd_source) is
    /// [`CwndSource::Measured`].
    pub cwnd_segments: Option<u32>,
    /// Congestion window in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Source of the congestion window, or the reason why it is unknown.
    pub cwnd_source: CwndSource,
    /// Slow start threshold in segments; `None` while infinite or unknown.
    pub ssthresh_segments: Option<u32>,
    /// Phase of congestion control.
    pub phase: Option<Phase>,
    /// Index of the sender's current recovery, from 0; `None` outside of a recovery.
    pub recovery_epoch: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout; from a capture, `None` where `srtt` is.
    pub rto: Option<TimeDelta>,
    /// Unused bytes of the receiver's window; negative after the window shrank. `None` if the capture does not show
    /// the order of events at the sender.
    pub usable_window_bytes: Option<i64>,
    /// Limit on the sender.
    pub limit: Option<Limit>,
    /// The model of the path of a sender that paces.
    pub model: Option<PathModel>,
    /// Round-trip time that the ACK before showed: that of the latest segment newly acknowledged, if it
    /// was sent once (`ca_rtt_us` of Linux, which congestion controls measure). Not a column.
    pub latest_rtt: Option<TimeDelta>,
    /// Number of packets that the previous ACK reported as marked: with classic ECE, all newly
    /// acknowledged packets. Not a column.
    pub latest_marked_packets: u32,
}

/// Source of a congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CwndSource {
    /// A kernel logged it.
    Measured,
    /// The sender fills its window, so the window equals the pipe.
    Filled,
    /// In recovery, the window is the pipe plus the segments that an ACK releases (RFC 6937).
    Recovery,
    /// The receiver's window is smaller; the sender's rules are replayed. The window is unknown in a recovery of
    /// unknown threshold, and after a growth of unknown size.
    ReceiverLimited,
    /// The application sends less; the sender's rules are replayed.
    ApplicationLimited,
    /// Unknown: a sender that filled its window left several ACKs unanswered until a loss recovery
    /// began. It may have cut the window, or the application may have had no data. Or the application
    /// had no data during and after a recovery, or the capture missed packets, and nothing has shown the window
    /// since. Or the threshold is unknown, so the growth since the sender last filled its window is unknown.
    Undecided,
    /// Unknown: the capture began mid-connection, and the sender has neither filled nor reduced its window
    /// since. Or segments cannot be counted: all packets that it shows may hold several, or a retransmission has
    /// split a segment, as after a reduction of the path MTU, and no full segment follows.
    WarmUp,
    /// Unknown: the sender paces below its window (BBR), so packets do not show the window.
    Paced,
    /// Unknown: the capture was not taken at the sender and the flow has no timestamps, so the
    /// sender's order of events is unknown. Or the capture missed packets: see
    /// [`SenderSample::follows_missed_packets`].
    NotSeen,
}

/// Phase of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The window doubles every round trip (RFC 5681, section 3.1).
    SlowStart,
    /// The window grows slowly (RFC 5681, section 3.1).
    CongestionAvoidance,
    /// Retransmission after duplicate or selective ACKs showed a loss (RFC 6675).
    FastRecovery,
    /// Retransmission after a timeout (RFC 6298, section 5).
    LossRecovery,
    /// Window reduction after ECN echoes, without losses (RFC 3168, section 6.1.2).
    WindowReduction,
}

/// The limit on a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The congestion window.
    CongestionWindow,
    /// The receiver's window.
    ReceiverWindow,
    /// The application or the send buffer; a capture does not distinguish them.
    Application,
}

impl SenderSample {
    /// A sample with a known sender and time. All other values are unknown.
    pub const fn unknown(at: Timestamp, flow: FlowId, direction: Direction) -> Self {
        Self {
            at,
            record: None,
            flow,
            direction,
            snd_una: None,
            snd_nxt: None,
            smss_bytes: None,
            flight_size_bytes: None,
            pipe_bytes: None,
            pipe_segments: None,
            cwnd_segments: None,
            cwnd_bytes: None,
            cwnd_source: CwndSource::NotSeen,
            ssthresh_segments: None,
            phase: None,
            recovery_epoch: None,
            srtt: None,
            rto: None,
            usable_window_bytes: None,
            limit: None,
            model: None,
            latest_rtt: None,
            latest_marked_packets: 0,
        }
    }

    /// True if the capture missed ACKs or data, so that what the sender had in flight before this ACK is unknown.
    /// Only then is `snd_una` unknown in a row whose window is [`CwndSource::NotSeen`].
    pub fn follows_missed_packets(&self) -> bool {
        self.cwnd_source == CwndSource::NotSeen && self.snd_una.is_none()
    }

    /// True if not all segments in flight behind the capture are full. A sender with more data to send sends full
    /// segments only (RFC 9293, section 3.8.6.2.1).
    pub fn has_short_segments(&self) -> bool {
        let captured = || {
            let captured = self.snd_nxt?.since(self.snd_una?);
            u64::try_from(captured).ok()
        };
        match (self.flight_size_bytes.or_else(captured), self.smss_bytes) {
            (Some(flight), Some(smss)) if smss > 0 => !flight.is_multiple_of(u64::from(smss)),
            _ => false,
        }
    }
}

impl CwndSource {
    /// All variants.
    pub const ALL: [Self; 9] = [
        Self::Measured,
        Self::Filled,
        Self::Recovery,
        Self::ReceiverLimited,
        Self::ApplicationLimited,
        Self::Undecided,
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
            Self::Undecided => "undecided",
            Self::WarmUp => "warm_up",
            Self::Paced => "paced",
            Self::NotSeen => "not_seen",
        }
    }
}

impl Phase {
    /// All variants.
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
    /// All variants.
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
