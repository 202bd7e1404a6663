//! Sender samples from a kernel's numbers.

use tcpexp_measure::sender::{CwndSource, Phase, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::SeqNum;

use super::flows::Stream;
use super::rows::CongestionState;

/// `TCP_INFINITE_SSTHRESH` of Linux.
const INFINITE_SSTHRESH: u32 = 0x7FFF_FFFF;

/// A sample in which only the sender and the time are known.
pub(super) fn blank(stream: &Stream, at: Timestamp) -> SenderSample {
    SenderSample {
        cwnd_source: CwndSource::Measured,
        ..SenderSample::unknown(at, stream.flow, stream.direction)
    }
}

/// One event of the kernel's `tcp_probe`, in any output format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) at: Timestamp,
    pub(super) snd_nxt: SeqNum,
    pub(super) snd_una: SeqNum,
    pub(super) snd_cwnd: u32,
    /// The kernel's `tcp_current_ssthresh`, which is not always the threshold; see [`ssthresh`].
    pub(super) current_ssthresh: u32,
    pub(super) snd_wnd: u32,
    /// `None` if its unit is unknown.
    pub(super) srtt: Option<TimeDelta>,
}

impl Probe {
    pub(super) fn sample(&self, stream: &mut Stream) -> SenderSample {
        let (snd_una, snd_nxt) = stream.place(self.snd_una, self.snd_nxt);
        let flight_size = snd_nxt.since(snd_una);
        SenderSample {
            snd_una: Some(snd_una),
            snd_nxt: Some(snd_nxt),
            // A malformed row may have `snd_nxt` before `snd_una`: its flight size is unknown, not
            // wrapped.
            flight_size_bytes: u64::try_from(flight_size).ok(),
            cwnd_segments: Some(self.snd_cwnd),
            ssthresh_segments: ssthresh(self.current_ssthresh, self.snd_cwnd, stream.state()),
            phase: phase(self.current_ssthresh, self.snd_cwnd, stream.state()),
            recovery_epoch: stream.recovery_epoch(),
            // The kernel reports 0 until the first measurement.
            srtt: self.srtt.filter(|srtt| *srtt > TimeDelta::ZERO),
            // Negative after the receiver shrinks its window (RFC 9293, section 3.8.6).
            usable_window_bytes: Some(i64::from(self.snd_wnd) - flight_size),
            ..blank(stream, self.at)
        }
    }
}

/// The slow start threshold, if `current` determines it.
///
/// `tcp_current_ssthresh` is the threshold itself while the kernel reduces the window, and otherwise
/// the larger of the threshold and 3/4 of the window. A value other than 3/4 of the window is
/// therefore the threshold; a value equal to it is the threshold only during a reduction.
fn ssthresh(current: u32, cwnd: u32, state: Option<CongestionState>) -> Option<u32> {
    // The shifts of `tcp_current_ssthresh`: they round down separately, so `cwnd * 3 / 4` may
    // differ.
    let is_replaced = current == (cwnd >> 1) + (cwnd >> 2);
    // The states of `tcp_in_cwnd_reduction`, which do not include `Loss`.
    let is_exact = matches!(
        state,
        Some(CongestionState::WindowReduction | CongestionState::Recovery)
    );
    (current < INFINITE_SSTHRESH && (is_exact || !is_replaced)).then_some(current)
}

/// The phase of congestion control, as far as the log determines it.
///
/// 3/4 of the window never exceeds the window, so comparing the window with `tcp_current_ssthresh`
/// gives the same phase as comparing it with the threshold.
pub(super) fn phase(ssthresh: u32, cwnd: u32, state: Option<CongestionState>) -> Option<Phase> {
    match state {
        Some(CongestionState::WindowReduction) => Some(Phase::WindowReduction),
        Some(CongestionState::Recovery) => Some(Phase::FastRecovery),
        Some(CongestionState::Loss) => Some(Phase::LossRecovery),
        Some(CongestionState::Open | CongestionState::Disorder) if cwnd >= ssthresh => {
            Some(Phase::CongestionAvoidance)
        }
        Some(CongestionState::Open | CongestionState::Disorder) => Some(Phase::SlowStart),
        // The threshold is infinite until the first reduction.
        None => (ssthresh == INFINITE_SSTHRESH).then_some(Phase::SlowStart),
    }
}

/// The threshold; `None` while it is infinite.
pub(super) fn finite(ssthresh: u32) -> Option<u32> {
    (ssthresh < INFINITE_SSTHRESH).then_some(ssthresh)
}
