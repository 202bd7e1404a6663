//! The congestion window of BBR, in segments.

use super::{Bbr, INITIAL_WINDOW, LEAST_WINDOW, Mode, PROBING_ROOM};
use crate::sender::model::delivery::{Delivery, Repairing};
use crate::sender::model::rate::RateSampler;
use crate::sender::model::units::{UNIT, micros, super_segments};

impl Bbr {
    pub(super) fn set_cwnd(&mut self, now: &Delivery, samples: &RateSampler) {
        if now.segments > 0 && !self.recover_or_restore(now, samples) {
            let bandwidth = self.bandwidth();
            let extra = if self.is_full {
                self.aggregation.extra_segments(bandwidth)
            } else {
                0
            };
            let target = self.data(bandwidth, self.window_gain()) + extra;
            let is_probing = self.mode == Mode::ProbeBandwidth && self.cycle.phase() == Some(0);
            let target =
                self.rounded(target, now.smss_bytes) + if is_probing { PROBING_ROOM } else { 0 };
            if self.is_full {
                self.cwnd = (self.cwnd + now.segments).min(target);
            } else if self.cwnd < target || samples.delivered() < u64::from(INITIAL_WINDOW) {
                self.cwnd += now.segments;
            }
            self.cwnd = self.cwnd.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_WINDOW);
        }
    }

    /// True if a recovery sets the window (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, now: &Delivery, samples: &RateSampler) -> bool {
        let before = std::mem::replace(&mut self.before, now.repairing);
        if now.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(now.lost).max(1);
        }
        if now.repairing == Repairing::Losses && before != Repairing::Losses {
            self.conserves = true;
            self.round_end = samples.delivered();
            self.cwnd = now.in_flight + now.segments;
        } else if before != Repairing::Nothing && now.repairing == Repairing::Nothing {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(now.in_flight + now.segments);
        }
        self.conserves
    }

    /// Bandwidth times propagation time times a gain, in segments (`bbr_bdp`).
    fn data(&self, bandwidth: u64, gain: u64) -> u32 {
        let Some(least_rtt) = self.least_rtt else {
            return INITIAL_WINDOW;
        };
        let product = u128::from(bandwidth) * u128::from(micros(least_rtt));
        let segments = ((product * u128::from(gain)) >> 8).div_ceil(u128::from(UNIT));
        u32::try_from(segments).unwrap_or(u32::MAX / 4)
    }

    /// Room for the super-packets of both hosts (`bbr_quantization_budget`), without
    /// [`PROBING_ROOM`].
    fn rounded(&self, cwnd: u32, smss_bytes: u32) -> u32 {
        (cwnd + 3 * super_segments(self.pacing_rate, smss_bytes) + 1) & !1
    }

    pub(super) fn flight(&self, bandwidth: u64, gain: u64, smss_bytes: u32) -> u32 {
        self.rounded(self.data(bandwidth, gain), smss_bytes)
    }
}
