//! The slow start threshold set by a sender's congestion control at a loss.

use super::control::REDUCTION_RULES;
use super::reduction::{Factor, MIN_THRESHOLD, scaled};

/// Minimum window in segments for learning a factor: below it, rounding to whole segments changes
/// the factor by more than an eighth.
const MIN_FACTORED: u32 = 8;
/// Maximum difference in segments between the threshold and the pipe right after a recovery: the
/// ACK that ends the recovery may let the window grow, or show one more segment to be lost.
const SLACK: u32 = 1;

/// The reduction factor of one sender, learnt from its reductions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    /// Factor of the latest reduction; the exact factor of a rule if one fits.
    factor: Option<Factor>,
    is_written: bool,
}

impl Backoff {
    /// Learns from a reduction of an observed window of `before` segments to about `after`.
    pub(super) fn see(&mut self, before: u32, after: u32) {
        if before < MIN_FACTORED || after >= before {
            return;
        }
        let fits = |slack| {
            let written = REDUCTION_RULES.iter().map(|rule| rule.factor);
            written.filter(move |of| threshold(before, *of).abs_diff(after) <= slack)
        };
        // Prefer the known rule: a reduction that fits two rules must not replace it.
        let known = fits(SLACK).find(|of| self.is_written && self.factor == Some(*of));
        let only = fits(SLACK).next().filter(|_| fits(SLACK).count() == 1);
        // An exact fit beats a fit within `SLACK`, which counts only if a single rule fits.
        let written = known.or(fits(0).next()).or(only);
        self.is_written = written.is_some();
        self.factor = Some(written.unwrap_or((after, before)));
    }

    /// True if the factor is that of a known rule, so that the next reduction has it too.
    pub(super) fn is_known(&self) -> bool {
        self.is_written
    }

    /// The threshold of a recovery from a window of `before` segments; `None` before the first
    /// reduction.
    pub(super) fn threshold(&self, before: u32) -> Option<u32> {
        self.factor.map(|factor| threshold(before, factor))
    }

    /// The threshold of a recovery with `filled` segments in the network after it: the rule's
    /// threshold if a rule is known and differs by at most `SLACK`, else `filled`, at least the
    /// minimum threshold.
    pub(super) fn near(&self, before: u32, filled: u32) -> u32 {
        self.threshold(before)
            .filter(|rule| self.is_written && rule.abs_diff(filled) <= SLACK)
            .unwrap_or(filled.max(MIN_THRESHOLD))
    }
}

fn threshold(before: u32, factor: Factor) -> u32 {
    scaled(before, factor).max(MIN_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender with these observed reductions.
    fn seen(reductions: &[(u32, u32)]) -> Backoff {
        let mut backoff = Backoff::default();
        for (before, after) in reductions {
            backoff.see(*before, *after);
        }
        backoff
    }

    #[test]
    fn one_reduction_of_a_large_window_identifies_the_rule() {
        let cubic = seen(&[(90, 64)]);
        assert_eq!(cubic.near(90, 64), 63);
        assert_eq!(
            [3, 4, 5, 6, 13].map(|before| cubic.threshold(before).unwrap()),
            [2, 2, 3, 4, 9]
        );
        let reno = seen(&[(147, 72)]);
        assert_eq!(
            [2, 5, 147].map(|before| reno.threshold(before).unwrap()),
            [2, 2, 73]
        );
    }

    #[test]
    fn filled_window_counts_where_the_rule_is_unknown_or_far_off() {
        assert_eq!(seen(&[(90, 63)]).near(20, 12), 12);
        assert_eq!(seen(&[(90, 80)]).near(20, 18), 18);
        assert_eq!(seen(&[(90, 80)]).threshold(45), Some(40));
        assert_eq!(seen(&[]).near(20, 12), 12);
    }

    #[test]
    fn small_windows_and_ambiguous_reductions_identify_no_rule() {
        assert_eq!(seen(&[(4, 2)]).threshold(20), None);
        assert_eq!(seen(&[(90, 63), (4, 2)]).threshold(20), Some(14));
        assert_eq!(seen(&[(90, 45), (9, 5)]).threshold(20), Some(10));
    }
}
