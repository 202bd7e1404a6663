//! One side's record of one sender.

use tcpexp_measure::sender::{Limit, Phase, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};

use super::cause_class::CauseClass;

/// The record of one sender, from a reconstruction or from a kernel's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderRecord {
    /// State at each ACK, in order of time. May include rows without sequence numbers, as from
    /// polling; these are compared by time.
    pub samples: Vec<SenderSample>,
    /// Reductions of the window, in order of time.
    pub epochs: Vec<Epoch>,
    /// True if `epochs` has every reduction. False for a log without congestion states, for polls, and for a table.
    pub epochs_complete: bool,
    /// True if `epochs` come from polls, which miss the reductions between two of them.
    pub epochs_polled: bool,
    /// True if `epochs` come from the rows of a table, which lack the reductions between two rows.
    pub epochs_tabled: bool,
    /// Running totals, in order of time.
    pub totals: Vec<Totals>,
    /// Retransmissions and their causes, in order of time. Empty for a kernel: its epochs show the
    /// causes.
    pub retransmitted: Vec<RetransmittedAs>,
    /// Number of segments lost on the path, including lost retransmissions.
    pub lost_segments: Option<u64>,
}

/// A retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmittedAs {
    /// Time of the retransmission.
    pub at: Timestamp,
    /// Class of its cause.
    pub class: CauseClass,
    /// Number of segments.
    pub segments: u64,
}

/// Totals since a sender's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Time at which the totals are taken.
    pub at: Timestamp,
    /// Number of retransmitted segments; a segment that is retransmitted several times counts each
    /// time.
    pub retransmitted_segments: Option<u64>,
    /// Time during which data was outstanding or waiting to be sent.
    pub busy: Option<TimeDelta>,
    /// Time during which the receiver's window stopped the sender.
    pub receiver_limited: Option<TimeDelta>,
}

/// A reduction of the window, with the loss recovery that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Start time.
    pub began: Timestamp,
    /// End time; `None` if unknown.
    pub ended: Option<Timestamp>,
    /// Kind: one of the phases that reduce the window. `None` if unknown.
    pub kind: Option<Phase>,
    /// Slow start threshold after the epoch, in segments.
    pub ssthresh_segments: Option<u32>,
}

impl Totals {
    /// Computes the totals at each ACK of a reconstruction.
    ///
    /// `retransmitted` has the time and the number of segments of each retransmission, in order of
    /// time. A sender is busy for the whole interval between two ACKs if data was outstanding after
    /// the first. Otherwise it is busy from the time it sent the data that the second ACK
    /// acknowledges, one round-trip time before that ACK. The interval counts as limited by the
    /// receiver if the row of the second ACK has that limit.
    pub fn at_acks(samples: &[SenderSample], retransmitted: &[(Timestamp, u64)]) -> Vec<Self> {
        let mut retransmitted = retransmitted.iter().copied().peekable();
        let mut segments = 0;
        let (mut busy, mut receiver_limited) = (TimeDelta::ZERO, TimeDelta::ZERO);
        let mut before: Option<&SenderSample> = None;
        let mut totals = Vec::with_capacity(samples.len());
        for (number, row) in samples.iter().enumerate() {
            while let Some((_, more)) = retransmitted.next_if(|(at, _)| *at <= row.at) {
                segments += more;
            }
            if let Some(before) = before {
                let interval = row.at - before.at;
                // A row precedes the processing of its ACK, so its `snd_una` is the state after the
                // ACK before.
                let was_outstanding = before.snd_nxt > row.snd_una;
                let rtt = || measured_rtt(row, samples.get(number + 1)?);
                busy += if was_outstanding {
                    interval
                } else {
                    let since_sent = rtt().or(row.srtt).unwrap_or(interval);
                    interval.min(since_sent)
                };
                if row.limit == Some(Limit::ReceiverWindow) {
                    receiver_limited += interval;
                }
            }
            before = Some(row);
            totals.push(Self {
                at: row.at,
                retransmitted_segments: Some(segments),
                busy: Some(busy),
                receiver_limited: Some(receiver_limited),
            });
        }
        totals
    }

    /// Returns the totals at `at`, with the times interpolated linearly between two of `totals`;
    /// `None` before the first.
    pub(super) fn at(totals: &[Self], at: Timestamp) -> Option<Self> {
        let next = totals.partition_point(|totals| totals.at <= at);
        let last = totals[..next].last()?;
        let Some(next) = totals.get(next) else {
            return Some(*last);
        };
        // In 64 bits, the product of two spans in nanoseconds overflows from 3 s each.
        let nanos = |span: TimeDelta| i128::from(span.as_nanos());
        // `whole` is not zero: `partition_point` puts the next totals after `at`, the last at or
        // before it.
        let (part, whole) = (nanos(at - last.at), nanos(next.at - last.at));
        let run_on = |of: fn(&Self) -> Option<TimeDelta>| {
            let (from, to) = (of(last)?, of(next)?);
            let more = i64::try_from(nanos(to - from) * part / whole).ok()?;
            Some(from + TimeDelta::from_nanos(more))
        };
        Some(Self {
            at,
            // A count is not interpolated: it changes only at a retransmission.
            retransmitted_segments: last.retransmitted_segments,
            busy: run_on(|totals| totals.busy),
            receiver_limited: run_on(|totals| totals.receiver_limited),
        })
    }
}

/// Returns the round-trip time that the ACK of `row` measured, from the change in the smoothed one:
/// an eighth of the difference is added to it (RFC 6298, section 2.3). If the ACK measured none,
/// this is the smoothed round-trip time itself.
fn measured_rtt(row: &SenderSample, next: &SenderSample) -> Option<TimeDelta> {
    let (srtt, smoothed) = (row.srtt?, next.srtt?);
    let gain = (smoothed - srtt).as_nanos().checked_mul(8)?;
    Some(srtt + TimeDelta::from_nanos(gain))
}

#[cfg(test)]
mod tests {
    use super::super::script::Row;
    use super::*;

    #[test]
    fn a_sender_is_busy_while_data_is_outstanding() {
        let samples = [
            Row::at(0).seq(0, 1000).srtt(40).sample(),
            Row::at(40).seq(500, 1500).srtt(40).sample(), // Acknowledges all data.
            Row::at(900).seq(1500, 2500).srtt(40).sample(),
        ];
        let at = |millis| Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        let totals = Totals::at_acks(&samples, &[(at(-1), 1), (at(40), 2), (at(899), 4)]);
        let busy: Vec<_> = totals.iter().map(|totals| totals.busy.unwrap()).collect();
        assert_eq!(busy, [0, 40, 80].map(TimeDelta::from_millis));
        let segments: Vec<_> = totals
            .iter()
            .map(|row| row.retransmitted_segments)
            .collect();
        assert_eq!(segments, [Some(1), Some(3), Some(7)]);
    }

    #[test]
    fn after_a_silence_a_sender_is_busy_from_the_data_that_the_ack_measured() {
        let samples = [
            Row::at(0).seq(0, 1000).srtt(40).sample(),
            Row::at(900).seq(1000, 2000).srtt(40).sample(), // Took 80 ms.
            Row::at(930).seq(1500, 2000).srtt(45).sample(),
        ];
        let last = Totals::at_acks(&samples, &[])[2];
        assert_eq!(last.busy, Some(TimeDelta::from_millis(80 + 30)));
    }

    #[test]
    fn times_are_interpolated_between_two_totals() {
        let at = |millis| Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        let totals =
            [(0, 1, 0), (100, 2, 40), (200, 9, 140)].map(|(millis, segments, busy)| Totals {
                at: at(millis),
                retransmitted_segments: Some(segments),
                busy: Some(TimeDelta::from_millis(busy)),
                receiver_limited: None,
            });
        let totals_then = [-1, 0, 50, 100, 150, 300].map(|millis| {
            let then = Totals::at(&totals, at(millis))?;
            assert_eq!(then.receiver_limited, None);
            Some((
                then.retransmitted_segments?,
                then.busy?.as_nanos() / 1_000_000,
            ))
        });
        assert_eq!(
            totals_then,
            [
                None,
                Some((1, 0)),
                Some((1, 20)),
                Some((2, 40)),
                Some((2, 90)),
                Some((9, 140))
            ]
        );
    }

    #[test]
    fn an_ack_shows_that_the_receiver_limits_the_sender() {
        let mut samples = [0, 10, 30].map(|millis| Row::at(millis).seq(0, 9).sample());
        samples[1].limit = Some(Limit::CongestionWindow);
        samples[2].limit = Some(Limit::ReceiverWindow);
        let last = Totals::at_acks(&samples, &[])[2];
        assert_eq!(last.receiver_limited, Some(TimeDelta::from_millis(20)));
        assert_eq!(last.busy, Some(TimeDelta::from_millis(30)));
    }
}
