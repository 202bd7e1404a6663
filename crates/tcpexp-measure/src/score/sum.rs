//! All scores of one sender.

use tcpexp_units::TimeDelta;

use super::cwnd::{CwndScore, Pair, median_srtt};
use super::epochs::EpochScore;
use super::errors::{ErrorSum, Errors};
use super::record::{SenderRecord, Totals};
use super::same_state::{BySeq, following, wire};
use crate::sender::SenderSample;

/// Beginnings of one epoch are this near, or within a quarter of the round-trip time if that is
/// more.
const EPOCH_TOLERANCE: TimeDelta = TimeDelta::from_millis(20);

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What to add to a time of the truth to get the reconstruction's: zero where one clock stamped
    /// both.
    pub clock_offset: TimeDelta,
    /// How far apart two rows of the same state may be: 50 ms unless said otherwise. A host may
    /// handle an ACK that late after it was captured.
    pub tolerance: TimeDelta,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock_offset: TimeDelta::ZERO,
            tolerance: TimeDelta::from_millis(50),
        }
    }
}

/// How far the reconstruction of one sender is from the truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Of the congestion window.
    pub cwnd: CwndScore,
    /// Of recovery epochs and the threshold after them.
    pub epochs: EpochScore,
    /// Of the smoothed round-trip time, at each ACK of the truth, or each poll if it only polls.
    pub srtt: Errors,
    /// Of the retransmission timeout, at each poll that tells it.
    pub rto: Errors,
    /// Segments sent again, until the truth's last totals.
    pub retransmitted_segments: Counts,
    /// Segments lost on the way.
    pub lost_segments: Counts,
    /// Time with data outstanding.
    pub busy: Share,
    /// Time in which the receiver's window kept the sender from sending.
    pub receiver_limited: Share,
}

/// One count of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What the reconstruction counts.
    pub estimate: Option<u64>,
    /// What there was.
    pub truth: Option<u64>,
}

/// A time of both sides as a share of how long the truth lasts, until its last totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// What the reconstruction says.
    pub estimate: Option<f64>,
    /// What it was.
    pub truth: Option<f64>,
}

impl Counts {
    /// How many the reconstruction has too many; negative if it has too few.
    pub fn excess(&self) -> Option<i64> {
        let count = |count: Option<u64>| i64::try_from(count?).ok();
        Some(count(self.estimate)? - count(self.truth)?)
    }
}

impl Share {
    /// How far apart the two are.
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
    /// Compares what a reconstruction tells of a sender with what its kernel told.
    pub fn of(reconstructed: &SenderRecord, truth: &SenderRecord, options: Options) -> Self {
        let (acks, polls): (Vec<_>, Vec<_>) =
            truth.samples.iter().partition(|row| wire(row).is_some());
        let by_ack = by_ack(reconstructed, &acks, options);
        let by_poll = by_poll(reconstructed, &polls, options);
        let by_srtt = if by_ack.iter().any(|pair| pair.truth.srtt.is_some()) {
            &by_ack
        } else {
            &by_poll
        };
        let quarter = median_srtt(by_srtt).map(|srtt| TimeDelta::from_nanos(srtt.as_nanos() / 4));
        let (ours, theirs) = totals(reconstructed, truth, options);
        let whole = whole(truth, theirs);
        let times = |of: fn(&Totals) -> Option<TimeDelta>| {
            Share::of(ours.and_then(of), theirs.and_then(of), whole)
        };
        Self {
            cwnd: CwndScore::of(&by_ack),
            epochs: EpochScore::of(
                reconstructed,
                truth,
                options.clock_offset,
                quarter.map_or(EPOCH_TOLERANCE, |quarter| quarter.max(EPOCH_TOLERANCE)),
            ),
            srtt: spans(by_srtt, |row| row.srtt),
            rto: spans(&by_poll, |row| row.rto),
            retransmitted_segments: Counts {
                estimate: ours.and_then(|ours| ours.retransmitted_segments),
                truth: theirs.and_then(|theirs| theirs.retransmitted_segments),
            },
            lost_segments: Counts {
                estimate: reconstructed.lost_segments,
                truth: truth.lost_segments,
            },
            busy: times(|totals| totals.busy),
            receiver_limited: times(|totals| totals.receiver_limited),
        }
    }
}

/// The truth's last totals, and those of the reconstruction at that time: a log that polls ends
/// before the connection does.
fn totals<'a>(
    reconstructed: &'a SenderRecord,
    truth: &'a SenderRecord,
    options: Options,
) -> (Option<&'a Totals>, Option<&'a Totals>) {
    let Some(theirs) = truth.totals.last() else {
        return (None, None);
    };
    let until = theirs.at + options.clock_offset;
    let reached = reconstructed
        .totals
        .partition_point(|ours| ours.at <= until);
    (reconstructed.totals[..reached].last(), Some(theirs))
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

/// How long the truth lasts until its last totals.
fn whole(truth: &SenderRecord, last: Option<&Totals>) -> Option<TimeDelta> {
    Some(last?.at - truth.samples.first()?.at)
}
