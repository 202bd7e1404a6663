//! Errors of the congestion window.

use std::collections::BTreeMap;

use tcpexp_measure::sender::{CwndSource, SenderSample};
use tcpexp_metrics::quantile::whole_median;
use tcpexp_units::{TimeDelta, Timestamp};

use super::errors::{ErrorSum, Errors};

/// Errors of an estimate of the window, and of the flight size taken as the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// Errors of `cwnd_segments`.
    pub estimate: Errors,
    /// Errors of the flight size in segments of the SMSS, rounded up: the window that is readable
    /// without a reconstruction.
    pub flight_size: Errors,
}

/// Errors of the estimates from one source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceScore {
    /// Source of these estimates.
    pub source: CwndSource,
    /// Errors over the rows of the truth that are paired with a row of this source.
    pub errors: Compared,
}

/// Errors of the congestion window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CwndScore {
    /// Errors at every ACK of the truth.
    pub all: Compared,
    /// The same errors by the source of the estimate.
    pub by_source: Vec<SourceScore>,
    /// Errors where the application or the receiver limits the sender, so that packets do not show
    /// the window.
    pub not_filled: Compared,
    /// Errors of the mean window in each bin; a bin is as long as the median smoothed round-trip
    /// time.
    pub binned_mean: Compared,
    /// Errors of the largest window in each of these bins.
    pub binned_max: Compared,
}

/// A row of the truth and the row of the reconstruction for the same state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) truth: &'a SenderSample,
    pub(super) estimate: Option<&'a SenderSample>,
}

impl CwndScore {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let mut all = CompareSum::default();
        let mut by_source: BTreeMap<CwndSource, CompareSum> = BTreeMap::new();
        let mut not_filled = CompareSum::default();
        for pair in pairs {
            let Some(truth) = pair.truth.cwnd_segments.map(f64::from) else {
                continue;
            };
            // A row without a partner counts as a true value without an estimate.
            let windows = pair.estimate.map(Windows::of).unwrap_or_default();
            all.add(windows, truth);
            let Some(source) = pair.estimate.map(|estimate| estimate.cwnd_source) else {
                continue;
            };
            by_source.entry(source).or_default().add(windows, truth);
            if matches!(
                source,
                CwndSource::ApplicationLimited | CwndSource::ReceiverLimited
            ) {
                not_filled.add(windows, truth);
            }
        }
        let [binned_mean, binned_max] = binned(pairs);
        Self {
            all: all.finish(),
            by_source: by_source
                .into_iter()
                .map(|(source, sum)| SourceScore {
                    source,
                    errors: sum.finish(),
                })
                .collect(),
            not_filled: not_filled.finish(),
            binned_mean,
            binned_max,
        }
    }
}

/// Window estimate and flight size of one row of a reconstruction, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    estimate: Option<f64>,
    flight_size: Option<f64>,
}

impl Windows {
    fn of(sample: &SenderSample) -> Self {
        let flight_size = sample
            .flight_size_bytes
            .zip(sample.smss_bytes.filter(|smss| *smss > 0))
            .map(|(bytes, smss)| bytes.div_ceil(smss.into()) as f64);
        Self {
            estimate: sample.cwnd_segments.map(f64::from),
            flight_size,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct CompareSum {
    estimate: ErrorSum,
    flight_size: ErrorSum,
}

impl CompareSum {
    fn add(&mut self, windows: Windows, truth: f64) {
        self.estimate.add(windows.estimate, truth);
        self.flight_size.add(windows.flight_size, truth);
    }

    fn finish(&self) -> Compared {
        Compared {
            estimate: self.estimate.finish(),
            flight_size: self.flight_size.finish(),
        }
    }
}

/// Compares the mean and the largest window of both sides in bins of the truth's median SRTT.
///
/// Both sides use the rows that have an estimate; a bin without an estimate counts as a true value
/// without one.
fn binned(pairs: &[Pair<'_>]) -> [Compared; 2] {
    let (Some(width), Some(first)) = (median_srtt(pairs), pairs.first()) else {
        return [Compared::default(); 2];
    };
    let start = first.truth.at;
    let mut bins: BTreeMap<i64, [Bin; 2]> = BTreeMap::new();
    for pair in pairs {
        let Some(truth) = pair.truth.cwnd_segments.map(f64::from) else {
            continue;
        };
        let windows = pair.estimate.map(Windows::of).unwrap_or_default();
        let bin = bins.entry(number(pair.truth.at, start, width)).or_default();
        bin[0].add(windows.estimate, truth);
        bin[1].add(windows.flight_size, truth);
    }
    let mut sums = [CompareSum::default(); 2];
    for [estimate, flight_size] in bins.into_values() {
        estimate.compare(&mut sums, |sum| &mut sum.estimate);
        flight_size.compare(&mut sums, |sum| &mut sum.flight_size);
    }
    sums.map(|sum| sum.finish())
}

/// Returns the median of the truth's smoothed round-trip times.
pub(super) fn median_srtt(pairs: &[Pair<'_>]) -> Option<TimeDelta> {
    let srtts = pairs
        .iter()
        .filter_map(|pair| Some(pair.truth.srtt?.as_nanos()));
    whole_median(srtts.collect()).map(TimeDelta::from_nanos)
}

fn number(at: Timestamp, start: Timestamp, width: TimeDelta) -> i64 {
    (at - start).as_nanos().div_euclid(width.as_nanos().max(1))
}

/// The windows of both sides in one bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    rows: u64,
    sums: [f64; 2],
    largest: [f64; 2],
}

impl Bin {
    fn add(&mut self, estimate: Option<f64>, truth: f64) {
        let Some(estimate) = estimate else { return };
        self.rows += 1;
        for (side, window) in [estimate, truth].into_iter().enumerate() {
            self.sums[side] += window;
            self.largest[side] = self.largest[side].max(window);
        }
    }

    fn compare(self, sums: &mut [CompareSum; 2], of: impl Fn(&mut CompareSum) -> &mut ErrorSum) {
        let [mean, max] = sums;
        if self.rows == 0 {
            // Any true value works here: without an estimate, `add` only counts it.
            of(mean).add(None, 1.0);
            of(max).add(None, 1.0);
            return;
        }
        let rows = self.rows as f64;
        of(mean).add(Some(self.sums[0] / rows), self.sums[1] / rows);
        of(max).add(Some(self.largest[0]), self.largest[1]);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::script::{Row, record, rows};
    use tcpexp_measure::sender::CwndSource::{ApplicationLimited, Filled, Measured, Paced};

    #[test]
    fn windows_of_the_same_state_are_compared_by_source() {
        let truth = record(&[
            Row::at(0).seq(0, 14_480).cwnd(10, Measured),
            Row::at(40).seq(14_480, 28_960).cwnd(20, Measured),
            Row::at(80).seq(28_960, 43_440).cwnd(40, Measured),
            Row::at(120).seq(43_440, 57_920).cwnd(50, Measured),
            Row::at(160).seq(99, 100).cwnd(50, Measured),
        ]);
        let ours = record(&[
            Row::at(1).seq(0, 14_480).cwnd(10, Filled),
            Row::at(41).seq(14_480, 28_960).cwnd(19, ApplicationLimited),
            Row::at(81).seq(28_960, 43_440).cwnd(38, Filled),
            Row::at(121).seq(43_440, 57_920).cwnd(None, Paced),
        ]);
        assert_snapshot!(rows(&ours, &truth, "cwnd_error_ratio"), @r"
        all 3/5: 0.0333, flight size 4/5: 0.5125
        filled 2/2: 0.0250, flight size 2/2: 0.3750
        application_limited 1/1: 0.0500, flight size 1/1: 0.5000
        paced 0/1: -, flight size 1/1: 0.8000
        not_filled 1/1: 0.0500, flight size 1/1: 0.5000
        ");
        assert_snapshot!(rows(&ours, &truth, "cwnd_within_5_percent_ratio"), @r"
        all 3/5: 1.0000, flight size 4/5: 0.2500
        filled 2/2: 1.0000, flight size 2/2: 0.5000
        application_limited 1/1: 1.0000, flight size 1/1: 0.0000
        paced 0/1: -, flight size 1/1: 0.0000
        not_filled 1/1: 1.0000, flight size 1/1: 0.0000
        ");
    }

    #[test]
    fn bins_of_a_round_trip_compare_means_and_largest_windows() {
        let truth = record(&[
            Row::at(0).seq(0, 10).cwnd(10, Measured).srtt(40),
            Row::at(10).seq(1, 10).cwnd(20, Measured).srtt(40),
            Row::at(40).seq(2, 10).cwnd(30, Measured).srtt(40),
            Row::at(90).seq(9, 10).cwnd(30, Measured).srtt(40),
        ]);
        let ours = record(&[
            Row::at(0).seq(0, 10).cwnd(12, Filled),
            Row::at(10).seq(1, 10).cwnd(18, Filled),
            Row::at(40).seq(2, 10).cwnd(33, Filled),
        ]);
        assert_snapshot!(rows(&ours, &truth, "rtt_mean_cwnd_error_ratio"), @"all 2/3: 0.0500, flight size 2/3: 0.9500");
        assert_snapshot!(rows(&ours, &truth, "rtt_max_cwnd_error_ratio"), @"all 2/3: 0.1000, flight size 2/3: 0.9583");
    }
}
