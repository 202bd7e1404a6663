//! Errors of recovery epochs and of the slow start threshold after each.

use std::collections::HashMap;

use tcpexp_measure::sender::Phase;
use tcpexp_metrics::quantile::whole_median;
use tcpexp_units::TimeDelta;

use super::errors::{ErrorSum, Errors};
use super::record::{Epoch, SenderRecord};

/// Scores of the reductions of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EpochScore {
    /// Number of the truth's epochs that began during the reconstruction.
    pub truth: u64,
    /// Number of the reconstruction's epochs that began during the truth.
    pub found: u64,
    /// True if both sides have every epoch, so that an epoch missing from the truth did not occur, and one missing
    /// from the reconstruction was not found.
    pub is_complete: bool,
    /// Number of pairs of epochs that began at about the same time; each epoch is in at most one
    /// pair.
    pub matched: u64,
    /// Number of these pairs for which the kind is known on both sides.
    pub kind_known: u64,
    /// Number of these pairs with the same kind.
    pub kind_right: u64,
    /// Median difference of the start times of a pair.
    pub began_error_median: Option<TimeDelta>,
    /// Number of pairs for which the end is known on both sides.
    pub end_known: u64,
    /// Median difference of the end times of a pair.
    pub ended_error_median: Option<TimeDelta>,
    /// Errors of the threshold after fast recoveries, window reductions and epochs of unknown kind.
    pub ssthresh: Errors,
    /// Errors of the threshold after timeouts.
    pub ssthresh_after_timeout: Errors,
}

impl EpochScore {
    /// Share of the epochs found that the truth has; `None` if a side may lack epochs.
    pub fn precision(&self) -> Option<f64> {
        share(self.matched, self.found).filter(|_| self.is_complete)
    }

    /// Share of the truth's epochs that were found.
    pub fn recall(&self) -> Option<f64> {
        share(self.matched, self.truth)
    }

    /// Share of correct kinds among the pairs for which the kind is known on both sides.
    pub fn kind_accuracy(&self) -> Option<f64> {
        share(self.kind_right, self.kind_known)
    }

    pub(super) fn of(
        reconstructed: &SenderRecord,
        truth: &SenderRecord,
        clock_offset: TimeDelta,
        tolerance: TimeDelta,
    ) -> Self {
        let is_complete = truth.epochs_complete && reconstructed.epochs_complete;
        // A log without congestion states has no epochs, so each epoch found would look wrong. The rows of a table
        // lack epochs, so a right reconstruction would look worse than it is.
        if !is_complete {
            return Self::default();
        }
        let found = common(reconstructed, truth, clock_offset, tolerance);
        // `clock_offset` leads from the clock of the truth to the clock of the reconstruction, its
        // negative back.
        let truth = common(truth, reconstructed, -clock_offset, tolerance);
        let pairs = pairs(found, truth, clock_offset, tolerance);
        let mut score = Self {
            truth: truth.len() as u64,
            found: found.len() as u64,
            is_complete,
            matched: pairs.len() as u64,
            ..Self::default()
        };
        let (mut began, mut ended) = (Vec::new(), Vec::new());
        let mut ssthresh = [ErrorSum::default(); 2];
        for (number, theirs) in truth.iter().enumerate() {
            let ours = pairs.get(&number).map(|found_number| &found[*found_number]);
            // An epoch without a partner counts as a threshold without an estimate.
            if let Some(threshold) = theirs.ssthresh_segments {
                let after_timeout = theirs.kind == Some(Phase::LossRecovery);
                let estimate = ours.and_then(|ours| ours.ssthresh_segments).map(f64::from);
                ssthresh[usize::from(after_timeout)].add(estimate, threshold.into());
            }
            let Some(ours) = ours else { continue };
            began.push((theirs.began + clock_offset - ours.began).abs());
            if let (Some(theirs), Some(ours)) = (theirs.ended, ours.ended) {
                ended.push((theirs + clock_offset - ours).abs());
            }
            if let (Some(theirs), Some(ours)) = (theirs.kind, ours.kind) {
                score.kind_known += 1;
                score.kind_right += u64::from(theirs == ours);
            }
        }
        score.end_known = ended.len() as u64;
        score.began_error_median = median(&began);
        score.ended_error_median = median(&ended);
        [score.ssthresh, score.ssthresh_after_timeout] = ssthresh.map(|sum| sum.finish());
        score
    }
}

/// Returns the epochs that began within the other side's time: epochs logged after the capture's
/// end are not missing from the capture.
fn common<'a>(
    record: &'a SenderRecord,
    other: &SenderRecord,
    offset: TimeDelta,
    tolerance: TimeDelta,
) -> &'a [Epoch] {
    let epochs = &record.epochs[..];
    // Without rows, the time that the other side covers is unknown, and all epochs count.
    let ([first, .., last] | [first @ last]) = &other.samples[..] else {
        return epochs;
    };
    // The last timeout may follow the last ACK.
    let last_epoch = other.epochs.last().map_or(last.at, |epoch| epoch.began);
    let from = first.at + offset - tolerance;
    let until = last.at.max(last_epoch) + offset + tolerance;
    let begin = epochs.partition_point(|epoch| epoch.began < from);
    let end = epochs.partition_point(|epoch| epoch.began <= until);
    epochs.get(begin..end).unwrap_or_default()
}

/// Maps the index of each epoch of the truth to the index of its partner among `found`.
///
/// The nearest start times are paired first, so that a spurious epoch next to a correct one does
/// not take its partner.
fn pairs(
    found: &[Epoch],
    truth: &[Epoch],
    clock_offset: TimeDelta,
    tolerance: TimeDelta,
) -> HashMap<usize, usize> {
    let mut candidates = Vec::new();
    for (number, theirs) in truth.iter().enumerate() {
        let at = theirs.began + clock_offset;
        let first = found.partition_point(|ours| ours.began < at - tolerance);
        let near = found[first..]
            .iter()
            .take_while(|ours| ours.began <= at + tolerance);
        for (place, ours) in near.enumerate() {
            candidates.push(((ours.began - at).abs(), number, first + place));
        }
    }
    // The distance decides first. The indices make the order of equal distances unique.
    candidates.sort_unstable();
    let mut pairs = HashMap::new();
    let mut is_taken = vec![false; found.len()];
    for (_, number, found_number) in candidates {
        if !is_taken[found_number] && !pairs.contains_key(&number) {
            is_taken[found_number] = true;
            pairs.insert(number, found_number);
        }
    }
    pairs
}

fn median(spans: &[TimeDelta]) -> Option<TimeDelta> {
    let nanos = spans.iter().map(|span| span.as_nanos()).collect();
    whole_median(nanos).map(TimeDelta::from_nanos)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use tcpexp_units::Timestamp;

    use super::super::script::{Row, record};
    use super::*;

    fn epoch(began: i64, ended: i64, kind: Phase, ssthresh: u32) -> Epoch {
        let at = |millis| Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        Epoch {
            began: at(began),
            ended: Some(at(ended)),
            kind: Some(kind),
            ssthresh_segments: Some(ssthresh),
        }
    }

    fn score(found: &[Epoch], truth: &[Epoch]) -> EpochScore {
        let [found, truth] = [found, truth].map(|epochs| SenderRecord {
            epochs: epochs.to_vec(),
            epochs_complete: true,
            ..SenderRecord::default()
        });
        EpochScore::of(&found, &truth, TimeDelta::ZERO, TimeDelta::from_millis(20))
    }

    #[test]
    fn epochs_are_paired_one_to_one_by_their_starts() {
        let truth = [
            epoch(100, 150, Phase::FastRecovery, 10),
            epoch(160, 200, Phase::FastRecovery, 8),
            epoch(500, 900, Phase::LossRecovery, 4),
        ];
        let found = [
            epoch(101, 151, Phase::FastRecovery, 10),
            epoch(110, 150, Phase::FastRecovery, 3),
            epoch(170, 203, Phase::LossRecovery, 10),
            epoch(530, 900, Phase::LossRecovery, 4),
        ];
        let score = score(&found, &truth);
        assert_eq!((score.truth, score.found, score.matched), (3, 4, 2));
        assert_eq!((score.kind_known, score.kind_right), (2, 1));
        // Of 1 and 10 ms, and of 1 and 3 ms, the means.
        assert_eq!(
            score.began_error_median,
            Some(TimeDelta::from_micros(5_500))
        );
        assert_eq!(score.ended_error_median, Some(TimeDelta::from_millis(2)));
        assert_eq!((score.ssthresh.matched, score.ssthresh.truth), (2, 2));
        assert_eq!(score.ssthresh.mean, Some(0.125));
        assert_eq!(
            (
                score.ssthresh_after_timeout.matched,
                score.ssthresh_after_timeout.truth
            ),
            (0, 1)
        );
        assert_eq!(score.recall(), Some(2.0 / 3.0));
        assert_eq!(score.precision(), Some(0.5));
    }

    #[test]
    fn the_nearest_epoch_starts_are_paired() {
        let truth = [epoch(100, 150, Phase::FastRecovery, 10)];
        let found = [
            epoch(85, 99, Phase::LossRecovery, 1),
            epoch(102, 150, Phase::FastRecovery, 10),
        ];
        assert_eq!(score(&found, &truth).kind_right, 1);
    }

    #[test]
    fn only_epochs_within_the_common_time_count() {
        let [ours, theirs] = [[100, 500, 600], [90, 500, 900]]
            .map(|began| began.map(|began| epoch(began, began + 40, Phase::FastRecovery, 10)));
        let over = |epochs: [Epoch; 3], from: i64, until: i64| SenderRecord {
            epochs: epochs.to_vec(),
            epochs_complete: true,
            ..record(&[Row::at(from), Row::at(until)])
        };
        let score = |ours: &SenderRecord, theirs: &SenderRecord| {
            let score = EpochScore::of(ours, theirs, TimeDelta::ZERO, TimeDelta::from_millis(20));
            [score.truth, score.found, score.matched]
        };
        assert_eq!(
            score(&over(ours, 0, 1000), &over(theirs, 0, 1000)),
            [3, 3, 2]
        );
        // The capture ends before the truth's last epoch, the log before the reconstruction's last.
        assert_eq!(
            score(&over(ours, 0, 650), &over(theirs, 0, 1000)),
            [2, 3, 2]
        );
        let early = theirs.map(|epoch| Epoch {
            began: epoch.began - TimeDelta::from_millis(400),
            ..epoch
        });
        assert_eq!(
            score(&over(ours, 0, 650), &over(early, -400, 505)),
            [2, 2, 2]
        );
    }

    #[test]
    fn without_epochs_there_is_no_ratio() {
        let score = score(&[], &[]);
        assert_eq!(
            (score.precision(), score.recall(), score.kind_accuracy()),
            (None, None, None)
        );
    }
}
