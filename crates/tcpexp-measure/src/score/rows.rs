//! Scores as a table.

use super::cwnd::Compared;
use super::errors::Errors;
use super::sum::Score;

/// One number of a [`Score`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRow {
    /// What is measured, with the unit last: `ratio` is a relative error or a share.
    pub metric: &'static str,
    /// Of which rows: `all`, or those whose window is known in one way.
    pub subset: &'static str,
    /// True values that an estimate was found for.
    pub matched: u64,
    /// True values there are.
    pub truth: u64,
    /// The score; `None` where nothing could be compared.
    pub value: Option<f64>,
    /// True values that a flight size was found for; `None` where the flight size is no rival.
    pub flight_size_matched: Option<u64>,
    /// The same score of the flight size taken for the window.
    pub flight_size_value: Option<f64>,
}

impl Score {
    /// Its numbers one by one, in the order of a report.
    pub fn rows(&self) -> Vec<ScoreRow> {
        let cwnd = &self.cwnd;
        let mut rows = Vec::new();
        compared(&mut rows, CWND, "all", &cwnd.all);
        for of in &cwnd.by_source {
            compared(&mut rows, CWND, of.source.name(), &of.errors);
        }
        compared(&mut rows, CWND, "not_filled", &cwnd.not_filled);
        compared(&mut rows, BINNED_MEAN, "all", &cwnd.binned_mean);
        compared(&mut rows, BINNED_MAX, "all", &cwnd.binned_max);
        rows
    }
}

/// Names of the mean error, and of the shares within 5 % and 10 %.
type Names = [&'static str; 3];

const CWND: Names = [
    "cwnd_error_ratio",
    "cwnd_within_5_percent_ratio",
    "cwnd_within_10_percent_ratio",
];
const BINNED_MEAN: Names = [
    "rtt_mean_cwnd_error_ratio",
    "rtt_mean_cwnd_within_5_percent_ratio",
    "rtt_mean_cwnd_within_10_percent_ratio",
];
const BINNED_MAX: Names = [
    "rtt_max_cwnd_error_ratio",
    "rtt_max_cwnd_within_5_percent_ratio",
    "rtt_max_cwnd_within_10_percent_ratio",
];

fn values(errors: &Errors) -> [Option<f64>; 3] {
    [
        errors.mean,
        errors.within_5_percent,
        errors.within_10_percent,
    ]
}

fn compared(rows: &mut Vec<ScoreRow>, names: Names, subset: &'static str, of: &Compared) {
    let (ours, naive) = (values(&of.estimate), values(&of.flight_size));
    for (place, metric) in names.into_iter().enumerate() {
        rows.push(ScoreRow {
            metric,
            subset,
            matched: of.estimate.matched,
            truth: of.estimate.truth,
            value: ours[place],
            flight_size_matched: Some(of.flight_size.matched),
            flight_size_value: naive[place],
        });
    }
}
