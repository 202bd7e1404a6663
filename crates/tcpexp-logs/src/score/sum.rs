//! All scores of one sender.

use tcpexp_measure::sender::SenderSample;
use tcpexp_units::TimeDelta;

use super::causes::CauseScore;
use super::clocks::Clocks;
use super::cwnd::{CwndScore, Pair, median_srtt};
use super::epochs::EpochScore;
use super::errors::{ErrorSum, Errors};
use super::record::{SenderRecord, Totals};
use super::same_state::{BySeq, following, lag, wire};

/// Least tolerance between the start times of the same epoch on both sides. It applies where a
/// quarter of the round-trip time is shorter.
const EPOCH_TOLERANCE: TimeDelta = TimeDelta::from_millis(20);

/// Options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Added to a time of the truth to get the reconstruction's time: zero where one clock stamped
    /// both. A lag found from sequence numbers is added on top.
    pub clock_offset: TimeDelta,
    /// Greatest time difference between two rows of the same state; 50 ms by default. A host may
    /// process an ACK that late after its capture.
    pub tolerance: TimeDelta,
    /// Greatest time difference between the start times of the same epoch. If `None`: a quarter of
    /// the truth's median smoothed round-trip time, but at least 20 ms.
    pub epoch_tolerance: Option<TimeDelta>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock_offset: TimeDelta::ZERO,
            tolerance: TimeDelta::from_millis(50),
            epoch_tolerance: None,
        }
    }
}

/// Errors of the reconstruction of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The relation between the clocks of both sides.
    pub clocks: Clocks,
    /// Errors of the congestion window.
    pub cwnd: CwndScore,
    /// Errors of recovery epochs and of the threshold after them.
    pub epochs: EpochScore,
    /// Errors of the smoothed round-trip time: at each ACK of the truth, or at each poll if no ACK
    /// has it.
    pub srtt: Errors,
    /// Errors of the retransmission timeout, at each poll that reports it.
    pub rto: Errors,
    /// Number of retransmitted segments up to the truth's last totals.
    pub retransmitted_segments: Counts,
    /// Causes of the retransmissions.
    pub causes: CauseScore,
    /// Number of segments lost on the path.
    pub lost_segments: Counts,
    /// Time during which data was outstanding or waiting to be sent.
    pub busy: Share,
    /// Time during which the receiver's window stopped the sender.
    pub receiver_limited: Share,
}

/// A count on both sides; `None` where a side does not have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Count in the reconstruction.
    pub estimate: Option<u64>,
    /// True count.
    pub truth: Option<u64>,
}

/// A time on both sides, as a share of the time from the truth's first row to its last totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Share in the reconstruction.
    pub estimate: Option<f64>,
    /// True share.
    pub truth: Option<f64>,
}

impl Counts {
    /// Estimate minus truth; negative if the reconstruction has too few.
    pub fn excess(&self) -> Option<i64> {
        let count = |count: Option<u64>| i64::try_from(count?).ok();
        Some(count(self.estimate)? - count(self.truth)?)
    }
}

impl Share {
    /// Absolute difference of the two shares.
    pub fn error(&self) -> Option<f64> {
        Some((self.estimate? - self.truth?).abs())
    }

    fn of(estimate: Option<TimeDelta>, truth: Option<TimeDelta>, whole: Option<TimeDelta>) -> Self {
        let share = |part: TimeDelta| {
            let whole = whole.filter(|whole| *whole > TimeDelta::ZERO)?;
            Some(part.as_seconds_f64() / whole.as_seconds_f64())
        };
        Self {
            estimate: estimate.and_then(share),
            truth: truth.and_then(share),
        }
    }
}

impl Score {
    /// Compares the reconstruction of a sender with its kernel's log.
    pub fn of(reconstructed: &SenderRecord, truth: &SenderRecord, options: Options) -> Self {
        // Rows without sequence numbers come from polls, and are compared by time.
        let (acks, polls): (Vec<_>, Vec<_>) =
            truth.samples.iter().partition(|row| wire(row).is_some());
        let lag = lag(&reconstructed.samples, &acks, options.clock_offset);
        let assumed = (options.clock_offset, options.tolerance);
        let clocks = Clocks::of(&reconstructed.samples, &truth.samples, lag, assumed);
        let nothing = SenderRecord::default();
        let is_apart = clocks == Clocks::Apart;
        let reconstructed = if is_apart { &nothing } else { reconstructed };
        let options = Options {
            clock_offset: options.clock_offset + lag.unwrap_or_default(),
            ..options
        };
        let by_ack = by_ack(reconstructed, &acks, options);
        let by_poll = by_poll(reconstructed, &polls, options);
        let by_srtt = if by_ack.iter().any(|pair| pair.truth.srtt.is_some()) {
            &by_ack
        } else {
            &by_poll
        };
        let epoch_tolerance = options.epoch_tolerance.unwrap_or_else(|| {
            let srtt = median_srtt(by_srtt).unwrap_or(TimeDelta::ZERO);
            TimeDelta::from_nanos(srtt.as_nanos() / 4).max(EPOCH_TOLERANCE)
        });
        let theirs = truth.totals.last();
        // The capture may continue after the log, so its totals are read where the log ends.
        let ours = theirs.and_then(|theirs| {
            let until = theirs.at + options.clock_offset;
            Totals::at(&reconstructed.totals, until)
        });
        let whole = whole(truth, theirs);
        let times = |of: fn(&Totals) -> Option<TimeDelta>| {
            Share::of(ours.as_ref().and_then(of), theirs.and_then(of), whole)
        };
        let epochs = if is_apart {
            EpochScore::default()
        } else {
            EpochScore::of(reconstructed, truth, options.clock_offset, epoch_tolerance)
        };
        Self {
            clocks,
            cwnd: CwndScore::of(&by_ack),
            epochs,
            srtt: spans(by_srtt, |row| row.srtt),
            rto: spans(&by_poll, |row| row.rto),
            retransmitted_segments: Counts {
                estimate: ours.and_then(|ours| ours.retransmitted_segments),
                truth: theirs.and_then(|theirs| theirs.retransmitted_segments),
            },
            causes: CauseScore::of(
                reconstructed,
                truth,
                options.clock_offset,
                options.tolerance,
            ),
            lost_segments: Counts {
                estimate: reconstructed.lost_segments,
                truth: truth.lost_segments,
            },
            busy: times(|totals| totals.busy),
            receiver_limited: times(|totals| totals.receiver_limited),
        }
    }
}

fn by_ack<'a>(
    reconstructed: &'a SenderRecord,
    acks: &[&'a SenderSample],
    options: Options,
) -> Vec<Pair<'a>> {
    let places = BySeq::of(&reconstructed.samples);
    let pair = |truth: &&'a SenderSample| Pair {
        truth,
        estimate: places.find(truth, truth.at + options.clock_offset, options.tolerance),
    };
    acks.iter().map(pair).collect()
}

fn by_poll<'a>(
    reconstructed: &'a SenderRecord,
    polls: &[&'a SenderSample],
    options: Options,
) -> Vec<Pair<'a>> {
    let pair = |truth: &&'a SenderSample| {
        let at = truth.at + options.clock_offset;
        Pair {
            truth,
            estimate: following(&reconstructed.samples, at, options.tolerance),
        }
    };
    polls.iter().map(pair).collect()
}

fn spans(pairs: &[Pair<'_>], of: impl Fn(&SenderSample) -> Option<TimeDelta>) -> Errors {
    let mut sum = ErrorSum::default();
    for pair in pairs {
        if let Some(truth) = of(pair.truth) {
            let estimate = pair.estimate.and_then(&of);
            sum.add(
                estimate.map(TimeDelta::as_seconds_f64),
                truth.as_seconds_f64(),
            );
        }
    }
    sum.finish()
}

/// Returns the time from the truth's first row to its last totals.
fn whole(truth: &SenderRecord, last: Option<&Totals>) -> Option<TimeDelta> {
    Some(last?.at - truth.samples.first()?.at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tcpexp_units::Timestamp;

    use super::super::script::{Row, record};
    use super::*;
    use tcpexp_measure::sender::CwndSource::{Filled, Measured};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(0) + TimeDelta::from_millis(millis)
    }

    fn totals(millis: i64, segments: u64, busy: i64) -> Totals {
        Totals {
            at: at(millis),
            retransmitted_segments: Some(segments),
            busy: Some(TimeDelta::from_millis(busy)),
            receiver_limited: None,
        }
    }

    #[test]
    fn a_poll_is_compared_to_the_state_before_the_next_ack() {
        let ours = record(&[
            Row::at(10).seq(1, 9).srtt(40).rto(240),
            Row::at(20).seq(2, 9).srtt(50).rto(300),
        ]);
        let truth = record(&[
            Row::at(9).srtt(40).rto(240),
            Row::at(11).srtt(50).rto(240),
            Row::at(21).srtt(50).rto(240),
        ]);
        let score = Score::of(&ours, &truth, Options::default());
        assert_eq!((score.rto.matched, score.rto.truth), (2, 3));
        assert_eq!(score.rto.mean, Some(0.125));
        assert_eq!(score.srtt.mean, Some(0.0));
    }

    #[test]
    fn totals_are_compared_at_the_last_logged_totals() {
        let ours = SenderRecord {
            totals: vec![totals(0, 0, 0), totals(900, 3, 800), totals(1100, 9, 1000)],
            ..SenderRecord::default()
        };
        let truth = SenderRecord {
            totals: vec![totals(500, 1, 500), totals(1000, 4, 850)],
            ..record(&[Row::at(0).seq(1, 2), Row::at(2000).seq(1, 2)])
        };
        let score = Score::of(&ours, &truth, Options::default());
        assert_eq!(score.retransmitted_segments.excess(), Some(-1));
        assert!((score.busy.error().unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(score.receiver_limited.error(), None);
    }

    #[test]
    fn clock_offset_is_added_to_the_truth() {
        let ours = record(&[Row::at(1000).seq(1, 9).cwnd(10, Filled)]);
        let truth = record(&[Row::at(0).seq(1, 9).cwnd(10, Measured)]);
        let matched = |millis| {
            let options = Options {
                clock_offset: TimeDelta::from_millis(millis),
                ..Options::default()
            };
            Score::of(&ours, &truth, options).cwnd.all.estimate.matched
        };
        assert_eq!([0, 949, 950, 1000, 1051].map(matched), [0, 0, 1, 1, 0]);
    }

    fn any_rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (
            0..200_i64,
            0..4_u32,
            0..4_u32,
            0..5_u32,
            0..90_i64,
            any::<bool>(),
        );
        let rows = row.prop_map(|(at, una, nxt, cwnd, srtt, polled)| {
            let row = Row::at(at).cwnd(cwnd, Filled).srtt(srtt);
            if polled { row } else { row.seq(una, nxt) }
        });
        prop::collection::vec(rows, 0..30)
    }

    proptest! {
        #[test]
        fn no_score_matches_more_than_the_truth(mut ours in any_rows(), mut truth in any_rows()) {
            ours.sort_by_key(|row| row.sample().at);
            truth.sort_by_key(|row| row.sample().at);
            let score = Score::of(&record(&ours), &record(&truth), Options::default());
            for row in score.rows() {
                prop_assert!(row.matched <= row.truth, "{row:?}");
                prop_assert_eq!(row.value.is_none(), row.matched == 0, "{:?}", row);
                prop_assert!(row.value.is_none_or(|value| value >= 0.0 && value.is_finite()));
            }
            let by_source: u64 =
                score.cwnd.by_source.iter().map(|of| of.errors.estimate.matched).sum();
            prop_assert_eq!(by_source, score.cwnd.all.estimate.matched);
        }
    }
}
