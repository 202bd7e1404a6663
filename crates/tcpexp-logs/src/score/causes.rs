//! Scores of the causes of retransmissions, against the kernel's congestion states.

use std::collections::BTreeMap;

use tcpexp_measure::sender::Phase;
use tcpexp_units::{TimeDelta, Timestamp};

use super::cause_class::CauseClass;
use super::record::{Epoch, RetransmittedAs, SenderRecord};

/// Confusion matrix of the causes of retransmissions: the class in the kernel's log against the
/// class in the reconstruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseScore {
    segments: BTreeMap<(CauseClass, CauseClass), u64>,
}

impl CauseScore {
    /// Number of segments of true class `truth` that the reconstruction classified as `found`.
    pub fn segments(&self, truth: CauseClass, found: CauseClass) -> u64 {
        self.segments.get(&(truth, found)).copied().unwrap_or(0)
    }

    /// Number of segments of true class `truth`.
    pub fn of_truth(&self, truth: CauseClass) -> u64 {
        let of = CauseClass::ALL.map(|found| self.segments(truth, found));
        of.iter().sum()
    }

    /// Number of correctly classified segments.
    pub fn right(&self) -> u64 {
        let right = CauseClass::ALL.map(|class| self.segments(class, class));
        right.iter().sum()
    }

    /// Number of all retransmitted segments.
    pub fn all(&self) -> u64 {
        self.segments.values().sum()
    }

    /// Share of the segments that are correctly classified; `None` if there are no segments.
    pub fn accuracy(&self) -> Option<f64> {
        let all = self.all();
        (all > 0).then(|| self.right() as f64 / all as f64)
    }

    /// Compares nothing if the truth has no congestion states, nothing after its last row, and nothing before
    /// its first row if that is more than `tolerance` after the reconstruction's first.
    pub(super) fn of(
        reconstructed: &SenderRecord,
        truth: &SenderRecord,
        clock_offset: TimeDelta,
        tolerance: TimeDelta,
    ) -> Self {
        let mut score = Self::default();
        let ([first, .., last] | [first @ last]) = &truth.samples[..] else {
            return score;
        };
        if !truth.epochs_complete {
            return score;
        }
        // A log of the whole transfer has the states before its first acknowledgment too.
        let is_whole = reconstructed
            .samples
            .first()
            .is_some_and(|ours| first.at + clock_offset <= ours.at + tolerance);
        let is_logged = |at: Timestamp| at <= last.at && (is_whole || at >= first.at);
        for RetransmittedAs {
            at,
            class,
            segments,
        } in &reconstructed.retransmitted
        {
            // The offset is added to times of the truth, so it is subtracted from the
            // reconstruction's.
            let at = *at - clock_offset;
            // Outside its time, the log has no epochs, and each retransmission would count as a probe.
            if is_logged(at) {
                let true_class = class_at(&truth.epochs, at);
                *score.segments.entry((true_class, *class)).or_default() += segments;
            }
        }
        score
    }
}

/// Returns the class of a retransmission at `at` by a sender with these epochs.
fn class_at(epochs: &[Epoch], at: Timestamp) -> CauseClass {
    // The start is inclusive: the kernel sets the state before it retransmits.
    let begun = epochs.partition_point(|epoch| epoch.began <= at);
    let running = epochs[..begun]
        .last()
        .filter(|epoch| epoch.ended.is_none_or(|ended| at < ended));
    match running.and_then(|epoch| epoch.kind) {
        Some(Phase::FastRecovery) => CauseClass::Fast,
        Some(Phase::LossRecovery) => CauseClass::Timeout,
        // In `Open` and `CWR`, Linux retransmits for loss probes only (`tcp_schedule_loss_probe`).
        _ => CauseClass::Probe,
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Row, record, rows};
    use super::*;
    use CauseClass::{Fast, Probe, Spurious, Timeout};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(0) + TimeDelta::from_millis(millis)
    }

    fn epoch(began: i64, ended: Option<i64>, kind: Phase) -> Epoch {
        Epoch {
            began: at(began),
            ended: ended.map(at),
            kind: Some(kind),
            ssthresh_segments: None,
        }
    }

    fn truth(epochs_complete: bool) -> SenderRecord {
        SenderRecord {
            epochs: vec![
                epoch(100, Some(200), Phase::FastRecovery),
                epoch(200, Some(300), Phase::LossRecovery),
                epoch(400, Some(500), Phase::WindowReduction),
                epoch(600, None, Phase::FastRecovery),
            ],
            epochs_complete,
            ..record(&[Row::at(0), Row::at(700)])
        }
    }

    fn found(retransmitted: &[(i64, CauseClass)]) -> SenderRecord {
        let retransmitted = retransmitted.iter().map(|(millis, class)| RetransmittedAs {
            at: at(*millis),
            class: *class,
            segments: 1,
        });
        SenderRecord {
            retransmitted: retransmitted.collect(),
            ..record(&[Row::at(0), Row::at(900)])
        }
    }

    #[test]
    fn retransmissions_are_scored_against_the_state_at_their_time() {
        let found = found(&[
            (50, Probe),
            (100, Fast),
            (199, Timeout),
            (200, Timeout),
            (299, Spurious),
            (300, Probe),
            (450, Fast),
            (650, Fast),
            (701, Probe), // After the end of the log.
        ]);
        let metrics = [
            "retransmission_cause_ratio",
            "fast_retransmission_ratio",
            "timeout_retransmission_ratio",
            "probe_retransmission_ratio",
        ];
        let all = metrics.map(|metric| {
            let shown = rows(&found, &truth(true), metric);
            format!("{metric}\n{shown}")
        });
        let all = all.concat();
        insta::assert_snapshot!(all, @r"
        retransmission_cause_ratio
        all 5/8: 0.6250
        fast_retransmission_ratio
        fast 2/3: 0.6667
        timeout 1/3: 0.3333
        timeout_retransmission_ratio
        timeout 1/2: 0.5000
        spurious 1/2: 0.5000
        probe_retransmission_ratio
        fast 1/3: 0.3333
        probe 2/3: 0.6667
        ");
    }

    #[test]
    fn without_states_causes_have_no_score() {
        let score = scored(&[(150, Fast)], &truth(false));
        assert_eq!((score.all(), score.accuracy()), (0, None));
    }

    #[test]
    fn retransmissions_before_a_log_that_starts_late_have_no_score() {
        let early = [(50, Fast), (450, Probe)];
        let late = SenderRecord {
            samples: record(&[Row::at(350), Row::at(700)]).samples,
            ..truth(true)
        };
        assert_eq!(scored(&early, &late).all(), 1);
        assert_eq!(scored(&early, &truth(true)).all(), 2);
    }

    fn scored(retransmitted: &[(i64, CauseClass)], truth: &SenderRecord) -> CauseScore {
        let tolerance = TimeDelta::from_millis(50);
        CauseScore::of(&found(retransmitted), truth, TimeDelta::ZERO, tolerance)
    }
}
