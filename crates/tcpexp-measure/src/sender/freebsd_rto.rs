//! The retransmission timeout of FreeBSD.

use tcpexp_units::TimeDelta;

use crate::rto::Rfc6298Rto;

/// Minimum of SRTT + 4 RTTVAR (`TCPTV_MIN`, the default of `t_rttmin`).
const RTT_MIN: TimeDelta = TimeDelta::from_millis(30);
/// Time added to each timeout (`TCPTV_CPU_VAR`, the default of `tcp_rexmit_slop`).
const SLOP: TimeDelta = TimeDelta::from_millis(200);
/// Maximum timeout (`TCPTV_REXMTMAX`).
const RTO_MAX: TimeDelta = TimeDelta::from_seconds(64);
/// Greatest factor of the back-off as a power of two (`tcp_backoff`).
const MAX_DOUBLINGS: u32 = 9;

/// FreeBSD's timer: the estimator of RFC 6298, with bounds of its own (`TCP_REXMTVAL`, `TCPT_RANGESET`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FreeBsdRto {
    estimator: Rfc6298Rto,
    /// Number of times that the timeout expired since the last sample.
    expiries: u32,
}

impl FreeBsdRto {
    /// Adds a round-trip time.
    pub(super) fn sample(&mut self, rtt: TimeDelta) {
        self.estimator.sample(rtt);
        self.expiries = 0;
    }

    /// Doubles the timeout without its slop after it expired, until the next sample.
    pub(super) fn back_off(&mut self) {
        self.expiries = (self.expiries + 1).min(MAX_DOUBLINGS);
    }

    pub(super) fn srtt(&self) -> Option<TimeDelta> {
        self.estimator.srtt()
    }

    pub(super) fn rto(&self) -> TimeDelta {
        let estimate = self.estimator.srtt().zip(self.estimator.rttvar());
        let base = estimate.map_or(self.estimator.rto(), |(srtt, rttvar)| {
            let four = TimeDelta::from_nanos(rttvar.as_nanos().saturating_mul(4));
            (srtt + four).max(RTT_MIN)
        });
        if estimate.is_none() && self.expiries == 0 {
            // `tcp_rexmit_initial` has no slop.
            return base;
        }
        // `tcp_timer_rexmt` doubles the estimate, then adds the slop.
        let doubled = base.as_nanos().saturating_mul(1 << self.expiries);
        (TimeDelta::from_nanos(doubled) + SLOP).min(RTO_MAX)
    }
}
