//! The likelihood of the observed windows under one control.
//!
//! The right control predicts most windows to the segment, and nearly all to within one. So an error is
//! evidence only while it is new: all windows that grow from a wrong window have the same error, and
//! the end of an error is not another error. The share of errors by one segment under the right control
//! depends on the path: with many segments in a round trip, windows are compared while they grow. So
//! this share is taken from the control that fits best.

use std::f64::consts::LN_2;

/// Number of predictions added to a count before its share of errors by one segment is computed;
/// [`USUAL`] of them are such errors. On the development paths, the share of the right control is 0.03
/// to 0.4.
const LEAST: f64 = 10.0;
const USUAL: f64 = 1.0;
/// Probability of an error beyond one segment under the right control. Controls that measure delays have
/// most, up to 0.15 on the development paths.
const RARE: f64 = 0.05;
/// Part of a window that counts as one more segment of error: super-packets leave up to 1.6 % unfilled.
const BLUR_PART: f64 = 0.01;
/// Smallest window that counts while it grows. Losses, more than growth, determine smaller windows, and
/// the state that a control remembers is uncertain by as much.
const MIN_WINDOW: u32 = 8;
/// Round trips in which an unchanged error by one segment counts. A sender may hold a segment back for
/// one round trip (`tcp_tso_should_defer`): this error ends after that round trip, while an error in
/// the window itself lasts.
const LASTING: u32 = 2;
/// Greatest error that counts, in segments.
const MOST: f64 = 8.0;

/// The errors of one control's predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Likelihood {
    growth: Count,
    reductions: Count,
    /// Logarithm of the probability of all errors beyond one segment.
    rest: f64,
    /// Error of the growing window in the latest round trip.
    off: i64,
    /// Round trips before it with the same error.
    lasted: u32,
}

/// Number of predictions without a new error beyond one segment, and how many of these count as inexact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    all: f64,
    near: f64,
}

impl Count {
    /// The share of predictions that are not exact.
    fn share(self) -> f64 {
        (self.near + USUAL) / (self.all + LEAST)
    }

    fn log(self, share: f64) -> f64 {
        self.near * share.ln() + (self.all - self.near) * (1.0 - share).ln()
    }

    fn add(&mut self, is_near: bool) {
        self.all += 1.0;
        self.near += f64::from(u8::from(is_near));
    }
}

impl Likelihood {
    /// Natural logarithm of the probability of all observed windows, if predictions are off by one segment as
    /// often as those of `best`.
    pub(super) fn log(&self, best: &Self) -> f64 {
        self.growth.log(best.growth.share())
            + self.reductions.log(best.reductions.share())
            + self.rest
    }

    /// The predicted and the observed window are made equal.
    pub(super) fn align(&mut self) {
        self.off = 0;
        self.lasted = 0;
    }

    /// Takes the windows after a round trip of growth.
    pub(super) fn grow(&mut self, predicted: u32, observed: u32) {
        let off = i64::from(observed) - i64::from(predicted);
        let before = std::mem::replace(&mut self.off, off);
        self.lasted = if off == before { self.lasted + 1 } else { 0 };
        if observed < MIN_WINDOW {
            return;
        }
        match beyond(off).abs_diff(beyond(before)) {
            0 => self.growth.add(off != 0 && self.lasted < LASTING),
            more => self.rest += rare(more, observed),
        }
    }

    /// Takes the windows after a reduction.
    pub(super) fn reduce(&mut self, predicted: u32, observed: u32) {
        let off = i64::from(observed) - i64::from(predicted);
        match beyond(off).unsigned_abs() {
            0 => self.reductions.add(off != 0),
            more => self.rest += rare(more, observed),
        }
    }
}

/// The part of an error beyond one segment.
fn beyond(off: i64) -> i64 {
    off.signum() * (off.abs() - 1).max(0)
}

/// Logarithm of the probability of an error of `segments` in one direction. Each segment halves the probability.
fn rare(segments: u64, observed: u32) -> f64 {
    let segments = segments as f64 / (1.0 + f64::from(observed) * BLUR_PART);
    (RARE / 2.0).ln() - segments.min(MOST) * LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The likelihood of these pairs of predicted and observed windows, a round trip after each other.
    fn grown(windows: &[(u32, u32)]) -> Likelihood {
        let mut likelihood = Likelihood::default();
        for (predicted, observed) in windows {
            likelihood.grow(*predicted, *observed);
        }
        likelihood
    }

    fn log_odds(one: &Likelihood, other: &Likelihood) -> f64 {
        one.log(one) - other.log(one)
    }

    #[test]
    fn an_error_counts_only_while_it_is_new() {
        let once = grown(&[(20, 20), (21, 24), (22, 25), (23, 26)]);
        let growing = grown(&[(20, 20), (21, 24), (22, 28), (23, 32)]);
        let right = grown(&[(24, 24), (25, 25), (26, 26), (27, 27)]);
        assert!(log_odds(&right, &once) > 0.0);
        assert!(log_odds(&right, &growing) > 2.0 * log_odds(&right, &once));
        let lasting = grown(&[(20, 19); 12]);
        let shorter = grown(&[&[(20, 19); 2][..], &[(20, 20); 10]].concat());
        assert_eq!(
            lasting,
            Likelihood {
                off: -1,
                lasted: 11,
                ..shorter
            }
        );
    }

    #[test]
    fn exact_predictions_are_likelier_than_those_within_a_segment() {
        let exact = grown(&[(20, 20); 40]);
        let near: Vec<_> = (0..40).map(|round| (20 + round % 2, 20)).collect();
        assert!(log_odds(&exact, &grown(&near)) > 40.0);
        // Where even the best control is off by one in each round trip, another one as good is as likely.
        let (one, other) = (grown(&near), grown(&near));
        assert!(log_odds(&one, &other).abs() < 1e-9);
    }

    #[test]
    fn in_small_windows_one_segment_shows_nothing() {
        let exact = grown(&[(5, 5); 40]);
        let near: Vec<_> = (0..40).map(|round| (5 + round % 2, 5)).collect();
        assert!(log_odds(&exact, &grown(&near)).abs() < 1e-9);
    }
}
