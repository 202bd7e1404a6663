//! Why a sender retransmitted: one rule for every reader of retransmissions.
//!
//! A retransmission does not say what set it off. What the sender knew when it sent it does: which
//! ACKs it had heard, how long it had waited, and what its timers were.

use tcpexp_units::TimeDelta;

/// What set a retransmission off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Duplicate or selective ACKs showed a loss (RFC 5681, section 3.2; RFC 6675; RFC 8985).
    FastRetransmit,
    /// The segment was still missing when the reordering timer expired (RFC 8985, section 6.3).
    ReorderingTimer,
    /// The retransmission timer expired (RFC 6298, section 5).
    Timeout,
    /// The recovery after a timeout repaired it.
    AfterTimeout,
    /// The last data sent was not acknowledged in time (RFC 8985, section 7).
    TailLossProbe,
    /// Nothing: the sender knew that the data had arrived.
    Spurious,
}

impl Cause {
    /// All, in order of their [`index`](Self::index).
    pub const ALL: [Self; 6] = [
        Self::FastRetransmit,
        Self::ReorderingTimer,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::Spurious,
    ];

    /// For arrays with one place per cause.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmit => "fast_retransmit",
            Self::ReorderingTimer => "reordering_timer",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Spurious => "spurious",
        }
    }
}

/// What a sender is repairing when it retransmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Losses that ACKs showed.
    Losses,
    /// What was outstanding when the retransmission timer expired.
    Timeout,
}

/// What a sender knew when it retransmitted.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own"
)]
pub struct Evidence {
    /// Whether the segment begins at `snd_una`.
    pub is_head: bool,
    /// Whether it ends at `snd_nxt`.
    pub is_tail: bool,
    /// Whether it left at once after an ACK.
    pub is_answer: bool,
    /// Whether ACKs report that data behind `snd_una` has arrived.
    pub is_loss_reported: bool,
    /// Whether a segment is known to be lost and was not retransmitted yet.
    pub owes: bool,
    /// The recovery that is under way.
    pub repair: Option<Repair>,
    /// Whether the sender may send tail loss probes and has sent none since `snd_una` advanced.
    pub may_probe: bool,
    /// Since the retransmission timer was last restarted (RFC 6298, section 5).
    pub waited: TimeDelta,
    /// Since the sender last sent or heard anything.
    pub idle: TimeDelta,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout.
    pub rto: TimeDelta,
}

/// A timer may seem early by this share, in percent: the replayed RTO is up to a jiffy and some
/// samples off the kernel's. Measured: 0.8 % at the median, up to a jiffy of 4 ms in 200 ms.
const EARLIEST_TIMEOUT_PERCENT: i64 = 90;
/// The probe timeout is two round trips (RFC 8985, section 7.2), less the same share.
const EARLIEST_PROBE_PERCENT: i64 = 180;
/// Linux sends a tail loss probe when the retransmission timer would expire at the latest
/// (`tcp_schedule_loss_probe`). Half of the timeout is left for the error of the replay.
const LATEST_PROBE_PERCENT: i64 = 150;

impl Evidence {
    /// The cause.
    pub fn cause(&self) -> Cause {
        let percent_of = |span: TimeDelta, of: TimeDelta| {
            span.as_nanos().saturating_mul(100) / of.as_nanos().max(1)
        };
        let waited = percent_of(self.waited, self.rto);
        let is_expired = waited >= EARLIEST_TIMEOUT_PERCENT;
        // An ACK that shows losses sets off a fast retransmission, however late the ACK is.
        if self.is_head && is_expired && !(self.is_answer && self.owes) {
            let is_probe = self.is_tail && self.repair.is_none() && self.may_probe;
            if !is_probe || waited > LATEST_PROBE_PERCENT {
                return Cause::Timeout;
            }
        }
        match self.repair {
            Some(Repair::Timeout) => return Cause::AfterTimeout,
            Some(Repair::Losses) => return Cause::FastRetransmit,
            None => {}
        }
        let srtt = self.srtt.unwrap_or_default();
        let is_idle =
            srtt <= TimeDelta::ZERO || percent_of(self.idle, srtt) >= EARLIEST_PROBE_PERCENT;
        if self.is_tail && !self.is_answer && !self.is_loss_reported && is_idle {
            Cause::TailLossProbe
        } else if self.is_answer {
            Cause::FastRetransmit
        } else {
            Cause::ReorderingTimer
        }
    }
}

/// What the rule needs of the path and of a sender's timers, from the place of the capture.
#[derive(Clone, Copy, Debug)]
pub struct PathTimes {
    /// The shortest round-trip time between the two ends; `None` without a sample.
    pub shortest_rtt: Option<TimeDelta>,
    /// The shortest time from the capture to the sender and back: that much later than an ACK is
    /// captured, the sender's answer to it can be. About zero at the sender.
    pub to_sender: TimeDelta,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<TimeDelta>,
    /// Retransmission timeout.
    pub rto: TimeDelta,
    /// Whether the sender may send tail loss probes: they need SACK (RFC 8985, section 3).
    pub may_probe: bool,
}

impl Default for PathTimes {
    /// Of a path of which nothing was measured.
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

/// The shortest timeout of Linux (`TCP_RTO_MIN`): assumed for a sender that has round-trip times of
/// which the capture shows none.
pub const SHORTEST_TIMEOUT: TimeDelta = TimeDelta::from_millis(200);
