//! Relative errors and their sums.

/// Errors of a quantity relative to its true value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Number of true values with an estimate.
    pub matched: u64,
    /// Number of true values.
    pub truth: u64,
    /// Mean of `|estimate - truth| / truth` over the matched values; 0.01 is one percent.
    pub mean: Option<f64>,
    /// Share of the matched values within 5 % of the truth.
    pub within_5_percent: Option<f64>,
    /// Share of the matched values within 10 % of the truth.
    pub within_10_percent: Option<f64>,
}

/// Sums from which [`Errors`] are computed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorSum {
    matched: u64,
    truth: u64,
    sum: f64,
    within_5_percent: u64,
    within_10_percent: u64,
}

impl ErrorSum {
    /// Adds a true value and its estimate. A true value of 0 counts as unmatched: it has no
    /// relative error.
    pub(super) fn add(&mut self, estimate: Option<f64>, truth: f64) {
        self.truth += 1;
        let Some(estimate) = estimate.filter(|_| truth > 0.0) else {
            return;
        };
        let error = (estimate - truth).abs() / truth;
        self.matched += 1;
        self.sum += error;
        self.within_5_percent += u64::from(error <= 0.05);
        self.within_10_percent += u64::from(error <= 0.10);
    }

    pub(super) fn finish(&self) -> Errors {
        let mean = |sum: f64| (self.matched > 0).then(|| sum / self.matched as f64);
        Errors {
            matched: self.matched,
            truth: self.truth,
            mean: mean(self.sum),
            within_5_percent: mean(self.within_5_percent as f64),
            within_10_percent: mean(self.within_10_percent as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_truth_and_missing_estimates_are_counted() {
        let mut sum = ErrorSum::default();
        sum.add(Some(10.0), 10.0);
        sum.add(Some(11.0), 10.0);
        sum.add(Some(5.0), 10.0);
        sum.add(None, 10.0);
        sum.add(Some(1.0), 0.0);
        let errors = sum.finish();
        assert_eq!((errors.matched, errors.truth), (3, 5));
        assert!((errors.mean.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(errors.within_5_percent, Some(1.0 / 3.0));
        assert_eq!(errors.within_10_percent, Some(2.0 / 3.0));
    }

    #[test]
    fn an_empty_comparison_has_no_error_of_zero() {
        assert_eq!(ErrorSum::default().finish(), Errors::default());
    }
}
