//! Scores as a table.

use tcpexp_units::TimeDelta;

use super::cause_class::CauseClass;
use super::causes::CauseScore;
use super::cwnd::Compared;
use super::epochs::EpochScore;
use super::errors::Errors;
use super::sum::{Counts, Score, Share};

/// One number of a [`Score`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRow {
    /// Name of the metric, ending in its unit; `ratio` is a relative error or a share.
    pub metric: &'static str,
    /// Subset that the row covers: `all`; for the window, how the estimate is known; for the
    /// threshold, the kind of epoch; for retransmissions, the class that the reconstruction found.
    pub subset: &'static str,
    /// Number of true values with an estimate. For a count of segments, the estimate itself.
    pub matched: u64,
    /// Number of true values. For a count of segments, the true count; for a precision, the number
    /// of epochs or losses found.
    pub truth: u64,
    /// The score; `None` if nothing could be compared.
    pub value: Option<f64>,
    /// Number of true values with a flight size; `None` for metrics other than the window's.
    pub flight_size_matched: Option<u64>,
    /// The same score for the flight size taken as the window.
    pub flight_size_value: Option<f64>,
}

impl Score {
    /// Returns the rows of the score, in the order of a report.
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
        self.epochs.rows(&mut rows);
        errors(&mut rows, SRTT, "all", &self.srtt);
        errors(&mut rows, RTO, "all", &self.rto);
        count(
            &mut rows,
            "retransmitted_excess_segments",
            self.retransmitted_segments,
        );
        self.causes.rows(&mut rows);
        count(&mut rows, "lost_excess_segments", self.lost_segments);
        time(&mut rows, "busy_error_ratio", self.busy);
        time(
            &mut rows,
            "receiver_limited_error_ratio",
            self.receiver_limited,
        );
        rows
    }
}

impl EpochScore {
    fn rows(&self, rows: &mut Vec<ScoreRow>) {
        let millis = |span: Option<TimeDelta>| span.map(TimeDelta::as_millis_f64);
        for (metric, matched, truth, value) in [
            (
                "epoch_precision_ratio",
                self.matched,
                self.found,
                self.precision(),
            ),
            (
                "epoch_recall_ratio",
                self.matched,
                self.truth,
                self.recall(),
            ),
            (
                "epoch_kind_ratio",
                self.kind_right,
                self.kind_known,
                self.kind_accuracy(),
            ),
            (
                "epoch_began_error_median_ms",
                self.matched,
                self.truth,
                millis(self.began_error_median),
            ),
            (
                "epoch_ended_error_median_ms",
                self.end_known,
                self.truth,
                millis(self.ended_error_median),
            ),
        ] {
            rows.push(ScoreRow::new(metric, "all", matched, truth, value));
        }
        errors(rows, SSTHRESH, "fast_recovery", &self.ssthresh);
        errors(
            rows,
            SSTHRESH,
            "loss_recovery",
            &self.ssthresh_after_timeout,
        );
    }
}

impl CauseScore {
    /// Adds the accuracy and the nonzero cells of the confusion matrix: the metric names the true
    /// class, the subset the class that the reconstruction found.
    fn rows(&self, rows: &mut Vec<ScoreRow>) {
        if self.all() == 0 {
            return;
        }
        let (right, all) = (self.right(), self.all());
        let accuracy = ScoreRow::new(
            "retransmission_cause_ratio",
            "all",
            right,
            all,
            self.accuracy(),
        );
        rows.push(accuracy);
        // `Spurious` is missing, as no kernel state shows it and so it is never the true class.
        for (truth, metric) in [
            (CauseClass::Fast, "fast_retransmission_ratio"),
            (CauseClass::Timeout, "timeout_retransmission_ratio"),
            (CauseClass::Probe, "probe_retransmission_ratio"),
        ] {
            let whole = self.of_truth(truth);
            for found in CauseClass::ALL {
                let part = self.segments(truth, found);
                if part > 0 {
                    // `part` is positive and a part of `whole`, so the divisor is not zero.
                    let share = Some(part as f64 / whole as f64);
                    rows.push(ScoreRow::new(metric, found.name(), part, whole, share));
                }
            }
        }
    }
}

impl ScoreRow {
    /// Creates a row without a score of the flight size.
    pub(super) const fn new(
        metric: &'static str,
        subset: &'static str,
        matched: u64,
        truth: u64,
        value: Option<f64>,
    ) -> Self {
        Self {
            metric,
            subset,
            matched,
            truth,
            value,
            flight_size_matched: None,
            flight_size_value: None,
        }
    }
}

/// Names of the mean error and of the shares within 5 % and 10 %.
type Names = [&'static str; 3];

const CWND: Names = [
    "cwnd_error_ratio",
    "cwnd_within_5_percent_ratio",
    "cwnd_within_10_percent_ratio",
];
const SSTHRESH: Names = [
    "ssthresh_error_ratio",
    "ssthresh_within_5_percent_ratio",
    "ssthresh_within_10_percent_ratio",
];
const SRTT: Names = [
    "srtt_error_ratio",
    "srtt_within_5_percent_ratio",
    "srtt_within_10_percent_ratio",
];
const RTO: Names = [
    "rto_error_ratio",
    "rto_within_5_percent_ratio",
    "rto_within_10_percent_ratio",
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

fn errors(rows: &mut Vec<ScoreRow>, names: Names, subset: &'static str, of: &Errors) {
    for (metric, value) in names.into_iter().zip(values(of)) {
        rows.push(ScoreRow::new(metric, subset, of.matched, of.truth, value));
    }
}

/// Adds no row if either side lacks the count.
fn count(rows: &mut Vec<ScoreRow>, metric: &'static str, counts: Counts) {
    if let (Some(estimate), Some(truth)) = (counts.estimate, counts.truth) {
        let excess = counts.excess().map(|excess| excess as f64);
        rows.push(ScoreRow::new(metric, "all", estimate, truth, excess));
    }
}

fn time(rows: &mut Vec<ScoreRow>, metric: &'static str, share: Share) {
    let known = |share: Option<f64>| u64::from(share.is_some());
    let (matched, truth) = (known(share.error()), known(share.truth));
    rows.push(ScoreRow::new(metric, "all", matched, truth, share.error()));
}
