//! Causes of retransmissions, by one rule for every reader of retransmissions.
//!
//! A retransmission does not carry its cause. The cause follows from the sender's knowledge at the
//! time: the ACKs it had received, the time it had waited, and its timers.

use tcpexp_units::TimeDelta;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetransmissionCause {
    /// Duplicate or selective ACKs showed a loss (RFC 5681, section 3.2; RFC 6675; RFC 8985).
    FastRetransmit,
    /// The segment was still missing when the reordering timer expired (RFC 8985, section 6.3).
    ReorderingTimer,
    /// The retransmission timer expired (RFC 6298, section 5).
    Timeout,
    /// The segment was retransmitted in the recovery after a timeout.
    AfterTimeout,
    /// Tail loss probe: the last data sent was not acknowledged in time (RFC 8985, section 7).
    TailLossProbe,
    /// A router reported that the packet exceeds the path MTU (RFC 1191): the sender sends its data again,
    /// in shorter segments. This shows no congestion, so that the window stays (`tcp_simple_retransmit`).
    PathMtu,
    /// The responder acknowledged a SYN, but not its data: the sender sends this data again at once (RFC 7413,
    /// section 4.2.2). This shows no loss (`tcp_rcv_fastopen_synack`).
    RefusedSynData,
    /// No cause: the sender knew that the data had arrived.
    Spurious,
}

impl RetransmissionCause {
    /// All causes, in order of their [`index`](Self::index).
    pub const ALL: [Self; 8] = [
        Self::FastRetransmit,
        Self::ReorderingTimer,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::PathMtu,
        Self::RefusedSynData,
        Self::Spurious,
    ];

    /// Index into arrays with one element per cause.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmit => "fast_retransmit",
            Self::ReorderingTimer => "reordering_timer",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::PathMtu => "path_mtu",
            Self::RefusedSynData => "refused_syn_data",
            Self::Spurious => "spurious",
        }
    }
}

/// Kind of recovery during which a sender retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecoveryKind {
    /// Repairs losses that ACKs showed.
    Fast,
    /// Repairs the data that was outstanding at the expiry of the retransmission timer.
    Timeout,
    /// Sends the data again that was outstanding when a router reported a smaller path MTU.
    PathMtu,
}

/// A sender's knowledge at the time of a retransmission.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own"
)]
pub struct RetransmissionEvidence {
    /// True if the segment begins at `snd_una`.
    pub is_head: bool,
    /// True if the segment ends at `snd_nxt`.
    pub is_tail: bool,
    /// True if the segment left immediately after an ACK.
    pub is_answer: bool,
    /// True if the sender's incoming ACKs are known; false in a capture of one direction.
    pub has_acks: bool,
    /// True if ACKs report that data above `snd_una` has arrived.
    pub is_loss_reported: bool,
    /// True if a segment is known to be lost and has not been retransmitted yet.
    pub owes: bool,
    /// Recovery in progress; `None` outside a recovery.
    pub repair: Option<LossRecoveryKind>,
    /// True if the sender may send tail loss probes and has sent none since `snd_una` advanced.
    pub may_probe: bool,
    /// Time since the last restart of the retransmission timer (RFC 6298, section 5).
    pub waited: TimeDelta,
    /// Time since the sender last sent data or received an ACK.
    pub idle: TimeDelta,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout.
    pub rto: TimeDelta,
}

/// Longest time from an ACK to a transmission that answers it. Measured: 98.8 % of 411 recoveries
/// began, by the first retransmission, within 1 ms of the kernel's change of state.
pub const MAX_ANSWER_DELAY: TimeDelta = TimeDelta::from_millis(1);
/// Least wait for a timeout, in percent of the replayed RTO. The replay differs from the kernel's
/// timer by up to a jiffy and some samples. Measured: 0.8 % at the median, up to a jiffy of 4 ms in
/// 200 ms.
const EARLIEST_TIMEOUT_PERCENT: i64 = 90;
/// Least wait for a tail loss probe, in percent of the SRTT: two round-trip times (RFC 8985,
/// section 7.2), less the same 10 %.
const EARLIEST_PROBE_PERCENT: i64 = 180;
/// Greatest wait for a tail loss probe, in percent of the RTO. Linux sends the probe no later than
/// the retransmission timer would expire (`tcp_schedule_loss_probe`); the other half allows for
/// errors of the replay.
const LATEST_PROBE_PERCENT: i64 = 150;

/// True if a sender that has been `idle` this long may send a tail loss probe.
pub fn may_be_probe_after(idle: TimeDelta, srtt: TimeDelta) -> bool {
    percent_of(idle, srtt) >= EARLIEST_PROBE_PERCENT
}

/// True if the retransmission timer may have expired after it has waited this long.
pub(crate) fn is_expired(waited: TimeDelta, rto: TimeDelta) -> bool {
    percent_of(waited, rto) >= EARLIEST_TIMEOUT_PERCENT
}

/// True if no timer expires after this wait: none expires within a round trip (RFC 6298, section 2).
pub(crate) fn is_within_round_trip(waited: TimeDelta, srtt: TimeDelta) -> bool {
    srtt > TimeDelta::ZERO && percent_of(waited, srtt) < EARLIEST_TIMEOUT_PERCENT
}

/// A capture may contain any time, so a span times 100 may exceed 64 bits.
fn percent_of(span: TimeDelta, of: TimeDelta) -> i64 {
    span.as_nanos().saturating_mul(100) / of.as_nanos().max(1)
}

impl RetransmissionEvidence {
    /// Returns the cause.
    pub fn cause(&self) -> RetransmissionCause {
        let waited = percent_of(self.waited, self.rto);
        let is_expired = is_expired(self.waited, self.rto);
        let may_be_probe = self.is_tail && self.repair.is_none() && self.may_probe;
        // An ACK that shows losses causes a fast retransmission, however late the ACK is.
        if self.is_head
            && is_expired
            && !(self.is_answer && self.owes)
            && (!may_be_probe || waited > LATEST_PROBE_PERCENT)
        {
            return RetransmissionCause::Timeout;
        }
        let srtt = self.srtt.unwrap_or_default();
        let is_long = |span| srtt <= TimeDelta::ZERO || may_be_probe_after(span, srtt);
        // The reordering timer repairs the lowest hole first, and a probe sends the tail. An ACK that
        // acknowledges nothing new does not restart the timer of the probe.
        let skips_head = !self.is_head && self.has_acks && is_long(self.waited);
        let is_unreported_tail = !self.is_loss_reported && is_long(self.idle);
        let is_probe = may_be_probe && !self.is_answer && (skips_head || is_unreported_tail);
        // Without an ACK that shows a loss, only a timer retransmits, and the reordering timer needs
        // such an ACK too: the sender's retransmission timeout is shorter than the replayed one.
        let is_unreported =
            self.has_acks && !self.is_answer && !self.is_loss_reported && !self.owes;
        if self.is_head && is_unreported && !is_probe {
            // After a timeout, `waited` may count from a segment that the receiver already had, so it
            // proves nothing.
            let is_too_soon = is_within_round_trip(self.waited, srtt)
                && self.repair != Some(LossRecoveryKind::Timeout);
            return if is_too_soon {
                RetransmissionCause::PathMtu
            } else {
                RetransmissionCause::Timeout
            };
        }
        match self.repair {
            Some(LossRecoveryKind::Timeout) => return RetransmissionCause::AfterTimeout,
            Some(LossRecoveryKind::Fast) => return RetransmissionCause::FastRetransmit,
            Some(LossRecoveryKind::PathMtu) if !(self.is_answer && self.is_loss_reported) => {
                return RetransmissionCause::PathMtu;
            }
            Some(LossRecoveryKind::PathMtu) | None => {}
        }
        if is_probe {
            RetransmissionCause::TailLossProbe
        } else if self.is_answer {
            RetransmissionCause::FastRetransmit
        } else {
            RetransmissionCause::ReorderingTimer
        }
    }
}

/// Times of the path and of a sender's timers, as seen at the capture point.
#[derive(Clone, Copy, Debug)]
pub struct PathTimes {
    /// Minimum round-trip time between the two ends; `None` without a sample.
    pub shortest_rtt: Option<TimeDelta>,
    /// Minimum round-trip time from the capture point to the sender: the sender's response to an
    /// ACK is captured at least this much later than the ACK. About zero at the sender.
    pub to_sender: TimeDelta,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout.
    pub rto: TimeDelta,
    /// True if the sender may send tail loss probes, which need SACK (RFC 8985, section 3).
    pub may_probe: bool,
}

impl Default for PathTimes {
    /// Times of a path without any measurement.
    fn default() -> Self {
        Self {
            shortest_rtt: None,
            to_sender: TimeDelta::ZERO,
            srtt: None,
            rto: SHORTEST_TIMEOUT,
            may_probe: true,
        }
    }
}

/// Minimum RTO of Linux (`TCP_RTO_MIN`): assumed for a sender whose round-trip times the capture
/// does not show.
pub const SHORTEST_TIMEOUT: TimeDelta = TimeDelta::from_millis(200);
