//! What one side tells of one sender.

use tcpexp_measure::sender::{Limit, Phase, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};

use super::cause_class::CauseClass;

/// What a reconstruction, or a kernel, tells of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderRecord {
    /// Its state at each ACK, in order of time. Rows without sequence numbers, as from polling, may
    /// be among them; they are compared by time.
    pub samples: Vec<SenderSample>,
    /// Its reductions of the window, in order of time.
    pub epochs: Vec<Epoch>,
    /// Whether these are all. A log without states shows none of them.
    pub epochs_complete: bool,
    /// What came together until then, in order of time.
    pub totals: Vec<Totals>,
    /// What it sent again and why, in order of time; of a kernel nothing, its epochs tell.
    pub retransmitted: Vec<RetransmittedAs>,
    /// Segments lost on the way, retransmissions among them.
    pub lost_segments: Option<u64>,
}

/// Data sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmittedAs {
    /// When.
    pub at: Timestamp,
    /// Why, as far as can be told.
    pub class: CauseClass,
    /// How many segments.
    pub segments: u64,
}

/// What came together since a sender's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Until when.
    pub at: Timestamp,
    /// Segments sent again, repeatedly lost ones counted each time.
    pub retransmitted_segments: Option<u64>,
    /// Time with data outstanding or waiting to be sent.
    pub busy: Option<TimeDelta>,
    /// Time in which the receiver's window kept it from sending.
    pub receiver_limited: Option<TimeDelta>,
}

/// One reduction of the window, and the repair of losses that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// When it began.
    pub began: Timestamp,
    /// When it was over; `None` if that is not known.
    pub ended: Option<Timestamp>,
    /// What kind it is: one of the phases that reduce. `None` if that is not known.
    pub kind: Option<Phase>,
    /// The slow start threshold after it, in segments.
    pub ssthresh_segments: Option<u32>,
}

impl Totals {
    /// Totals at each ACK of a reconstruction.
    ///
    /// `retransmitted` is when data was sent again and in how many segments, in order of time. A sender is
    /// busy between two ACKs if data was outstanding behind the first one; if none was, it is since
    /// it sent what the second one acknowledges, a round-trip time before. It is limited by the
    /// receiver between two ACKs if the second one found it so.
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

    /// What came together until `at`: between two of `totals` the times run on evenly. None before
    /// the first.
    pub(super) fn at(totals: &[Self], at: Timestamp) -> Option<Self> {
        let next = totals.partition_point(|totals| totals.at <= at);
        let last = totals[..next].last()?;
        let Some(next) = totals.get(next) else {
            return Some(*last);
        };
        let nanos = |span: TimeDelta| i128::from(span.as_nanos());
        // Not zero, as the next one is later.
        let (part, whole) = (nanos(at - last.at), nanos(next.at - last.at));
        let run_on = |of: fn(&Self) -> Option<TimeDelta>| {
            let (from, to) = (of(last)?, of(next)?);
            let more = i64::try_from(nanos(to - from) * part / whole).ok()?;
            Some(from + TimeDelta::from_nanos(more))
        };
        Some(Self {
            at,
            retransmitted_segments: last.retransmitted_segments,
            busy: run_on(|totals| totals.busy),
            receiver_limited: run_on(|totals| totals.receiver_limited),
        })
    }
}

/// The round-trip time that the ACK of `row` measured, by what it did to the smoothed one: an
/// eighth of the difference is added to it (RFC 6298, section 2.3). That itself, if it measured
/// none.
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
            Row::at(40).seq(500, 1500).srtt(40).sample(), // Acknowledges all.
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
    fn after_a_silence_a_sender_is_busy_since_it_sent_what_the_ack_measured() {
        let samples = [
            Row::at(0).seq(0, 1000).srtt(40).sample(),
            Row::at(900).seq(1000, 2000).srtt(40).sample(), // Took 80 ms.
            Row::at(930).seq(1500, 2000).srtt(45).sample(),
        ];
        let last = Totals::at_acks(&samples, &[])[2];
        assert_eq!(last.busy, Some(TimeDelta::from_millis(80 + 30)));
    }

    #[test]
    fn times_run_on_evenly_between_two_totals() {
        let at = |millis| Timestamp::from_nanos(0) + TimeDelta::from_millis(millis);
        let totals =
            [(0, 1, 0), (100, 2, 40), (200, 9, 140)].map(|(millis, segments, busy)| Totals {
                at: at(millis),
                retransmitted_segments: Some(segments),
                busy: Some(TimeDelta::from_millis(busy)),
                receiver_limited: None,
            });
        let told = [-1, 0, 50, 100, 150, 300].map(|millis| {
            let told = Totals::at(&totals, at(millis))?;
            assert_eq!(told.receiver_limited, None);
            Some((
                told.retransmitted_segments?,
                told.busy?.as_nanos() / 1_000_000,
            ))
        });
        assert_eq!(
            told,
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
    fn the_receiver_limits_where_an_ack_finds_it_so() {
        let mut samples = [0, 10, 30].map(|millis| Row::at(millis).seq(0, 9).sample());
        samples[1].limit = Some(Limit::CongestionWindow);
        samples[2].limit = Some(Limit::ReceiverWindow);
        let last = Totals::at_acks(&samples, &[])[2];
        assert_eq!(last.receiver_limited, Some(TimeDelta::from_millis(20)));
        assert_eq!(last.busy, Some(TimeDelta::from_millis(30)));
    }
}
