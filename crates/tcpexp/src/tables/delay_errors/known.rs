//! The known errors of a group's delays, and whether the note of a chart states them.

use tcpexp_metrics::quantile::quantile;
use tcpexp_units::TimeDelta;

/// The note states the largest error of all delays and of this percentage of them: a few packets near the ends of
/// the captures have much larger errors. The errors in the table `flows` leave out up to 5 % for the same reason.
pub(super) const USUAL_PERCENT: usize = 95;
/// A chart states an error other than that of the clocks' offset if it exceeds this percentage of the median of
/// any group: a smaller error is narrower than a line of a chart whose axis starts at zero.
const NOTED_PERCENT: i128 = 5;

/// True if the note of a chart states this error of delays with this median.
pub fn is_noted_error(error: TimeDelta, median: TimeDelta) -> bool {
    let [error, median] = [error, median].map(|span| i128::from(span.as_nanos()).abs());
    error * 100 > median * NOTED_PERCENT
}

/// The delays of a group whose error has a bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The delays, in the unit of their column.
    pub(super) values: Vec<f64>,
    /// Nanoseconds.
    pub(super) errors: Vec<i64>,
    /// Seconds of the unit of the values.
    pub(super) unit_seconds: f64,
}

impl Known {
    /// True if the note states the error of these delays.
    pub(super) fn is_noted(&self) -> bool {
        let mut values = self.values.clone();
        values.sort_unstable_by(f64::total_cmp);
        let median = quantile(&values, 0.5)
            .map(|median| TimeDelta::from_seconds_f64(median * self.unit_seconds));
        usual(&mut self.errors.clone())
            .zip(median)
            .is_some_and(|(usual, median)| is_noted_error(TimeDelta::from_nanos(usual), median))
    }
}

/// Sorts the errors, and returns their nearest-rank percentile.
pub(super) fn usual(errors: &mut [i64]) -> Option<i64> {
    errors.sort_unstable();
    let rank = (errors.len() * USUAL_PERCENT).div_ceil(100);
    errors.get(rank.saturating_sub(1)).copied()
}
