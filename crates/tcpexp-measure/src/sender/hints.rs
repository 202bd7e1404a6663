//! Hints at a sender's congestion control, from the changes of its window.

use tcpexp_metrics::quantile::whole_median;
use tcpexp_units::{TimeDelta, Timestamp};

use super::control::{CongestionFamily, REDUCTION_RULES};

/// Minimum number of reductions for a hint.
const MIN_REDUCTIONS: usize = 2;
/// Minimum window in segments for a reduction factor: below it, rounding changes the factor too
/// much.
const MIN_WINDOW: u32 = 8;
/// Minimum number of round trips without loss and with hardly any growth that hints at a
/// delay-based congestion control.
const MIN_STEADY_ROUNDS: u32 = 50;
/// Minimum number of reductions without loss that hints at a delay-based congestion control.
const MIN_LOSSLESS: u32 = 4;
/// Maximum number of reductions stored per flow; bounds memory.
const KEPT_REDUCTIONS: usize = 4_096;

/// A hint at a congestion control, with its evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionHint {
    /// Likely family; `None` if the evidence is insufficient or fits no family.
    pub family: Option<CongestionFamily>,
    /// Median factor by which recoveries multiplied the window, in percent.
    pub reduction_percent: Option<u32>,
    /// Number of recoveries behind the median.
    pub reductions: u32,
    /// Number of reductions without a loss or a congestion echo.
    pub lossless_reductions: u32,
}

/// Collects the evidence for a [`CongestionHint`].
#[derive(Debug, Default)]
pub(super) struct Hints {
    factors: Vec<u32>,
    lossless: u32,
    losses: u32,
    rounds: u32,
    growth: i64,
    steady_rounds: u32,
    /// The window one round trip ago, in segments; `None` if it was not observable.
    latest: Option<u32>,
    round_began: Option<Timestamp>,
}

impl Hints {
    /// Records an observed window of `cwnd` segments outside of slow start. `is_free` is true if
    /// the receiver's window is known to leave room; otherwise the receiver's window may be what
    /// limits or lowers `cwnd`.
    pub(super) fn see(&mut self, at: Timestamp, cwnd: u32, srtt: Option<TimeDelta>, is_free: bool) {
        let is_over = self
            .round_began
            .is_none_or(|began| srtt.is_some_and(|srtt| at - began >= srtt));
        // Windows grow per round trip, so one value per round trip shows the growth.
        if !is_over {
            return;
        }
        self.round_began = Some(at);
        if let Some(before) = self.latest.take() {
            // Ignore smaller decreases: super-packets leave some room now and then.
            if u64::from(cwnd) * 10 <= u64::from(before) * 9 {
                self.lossless += u32::from(is_free);
                return;
            }
            self.rounds += 1;
            self.steady_rounds += u32::from(is_free);
            self.growth += i64::from(cwnd) - i64::from(before);
        }
        self.latest = Some(cwnd);
    }

    /// Forgets the latest window: the window is not observable for some time.
    pub(super) fn forget(&mut self) {
        self.latest = None;
        self.round_began = None;
    }

    /// Ends the growth at a loss.
    pub(super) fn lose(&mut self) {
        self.steady_rounds = 0;
        self.losses += 1;
        self.forget();
    }

    /// Records a recovery that reduced a filled window.
    pub(super) fn reduced(&mut self, before: u32, after: u32) {
        if before >= MIN_WINDOW && self.factors.len() < KEPT_REDUCTIONS {
            // The kernel rounds windows down, so add half a segment.
            let percent = (u64::from(after) * 200 + 100) / (u64::from(before) * 2);
            self.factors
                .push(u32::try_from(percent).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn hint(self, is_paced: bool) -> CongestionHint {
        let reductions = self.factors.len();
        let reduction_percent = median(&self.factors);
        CongestionHint {
            family: self.family(is_paced, reductions, reduction_percent),
            reduction_percent,
            reductions: u32::try_from(reductions).unwrap_or(u32::MAX),
            lossless_reductions: self.lossless,
        }
    }

    fn family(
        &self,
        is_paced: bool,
        reductions: usize,
        percent: Option<u32>,
    ) -> Option<CongestionFamily> {
        if is_paced {
            return Some(CongestionFamily::ModelBased);
        }
        // Reno grows by one segment per round trip (RFC 5681, section 3.1); a fifth is hardly
        // growth.
        let is_still = self.growth.abs() * 5 < i64::from(self.rounds);
        let holds = reductions == 0 && self.steady_rounds >= MIN_STEADY_ROUNDS && is_still;
        let reduces = self.lossless >= MIN_LOSSLESS && self.lossless / 2 > self.losses;
        if holds || reduces {
            return Some(CongestionFamily::DelayBased);
        }
        let percent = percent.filter(|_| reductions >= MIN_REDUCTIONS)?;
        let rule = REDUCTION_RULES
            .iter()
            .find(|rule| rule.percents.contains(&percent))?;
        Some(rule.family)
    }
}

/// Median of whole percentages, rounded to the nearest, halves up.
fn median(values: &[u32]) -> Option<u32> {
    let values = values.iter().copied().map(i64::from).collect();
    u32::try_from(whole_median(values)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_stays_after_one_step_is_steady_however_long_the_flow_lasts() {
        let mut hints = Hints::default();
        for round in 0..10_000 {
            let at = Timestamp::from_nanos(round * 100_000_000);
            let cwnd = if round < 4_600 { 20 } else { 26 };
            hints.see(at, cwnd, Some(TimeDelta::from_millis(100)), true);
        }
        assert_eq!(hints.hint(false).family, Some(CongestionFamily::DelayBased));
    }
}
