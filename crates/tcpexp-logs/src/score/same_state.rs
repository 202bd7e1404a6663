//! Rows of two sides that speak of the same state.

use std::collections::HashMap;

use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_measure::sender::SenderSample;

/// Rows of one sender, found by the sequence numbers on the wire.
///
/// By these and not by their order: where a host handles ACKs late, the kernel's rows shift
/// against the capture's. Offsets may start from elsewhere, so only their wire part counts.
///
/// What was sent when an ACK arrived is not always known: a receiver's capture does not tell what
/// was lost on its way. There the row of the ACK with the same number is meant. To leave it out
/// would count the windows of a receiver's capture only where they are easy to know.
pub(super) struct BySeq<'a> {
    places: HashMap<(u32, u32), Vec<&'a SenderSample>>,
    by_una: HashMap<u32, Vec<&'a SenderSample>>,
}

impl<'a> BySeq<'a> {
    pub(super) fn of(samples: &'a [SenderSample]) -> Self {
        let mut places: HashMap<_, Vec<&SenderSample>> = HashMap::new();
        let mut by_una: HashMap<_, Vec<&SenderSample>> = HashMap::new();
        for sample in samples {
            if let Some((una, nxt)) = wire(sample) {
                places.entry((una, nxt)).or_default().push(sample);
                by_una.entry(una).or_default().push(sample);
            }
        }
        for rows in places.values_mut().chain(by_una.values_mut()) {
            rows.sort_by_key(|row| row.at);
        }
        Self { places, by_una }
    }

    /// The row with the sequence numbers of `other` that is nearest to `at`, if it is within
    /// `tolerance`; without such a row, the nearest with the same `snd_una`. Of two as near, the
    /// earlier.
    pub(super) fn find(
        &self,
        other: &SenderSample,
        at: Timestamp,
        tolerance: TimeDelta,
    ) -> Option<&'a SenderSample> {
        let (una, nxt) = wire(other)?;
        let near = |rows: &Vec<&'a SenderSample>| nearest(rows, at, tolerance);
        let same = self.places.get(&(una, nxt)).and_then(near);
        same.or_else(|| self.by_una.get(&una).and_then(near))
    }
}

fn nearest<'a>(
    rows: &[&'a SenderSample],
    at: Timestamp,
    tolerance: TimeDelta,
) -> Option<&'a SenderSample> {
    let later = rows.partition_point(|row| row.at < at);
    let nearest = rows[later.saturating_sub(1)..]
        .iter()
        .take(2)
        .min_by_key(|row| (row.at - at).abs())?;
    ((nearest.at - at).abs() <= tolerance).then_some(nearest)
}

/// Rows from which a lag is read; fewer may agree by chance.
const LEAST_IDENTIFIED: usize = 8;
/// A kernel's jiffy. A lag below it does not keep any rows apart.
const LEAST_LAG: TimeDelta = TimeDelta::from_millis(4);

/// How much later the reconstruction's rows are than those of the truth, beyond `clock_offset`.
///
/// A reconstruction at the receiver has an ACK's time of departure, half a round trip or more before
/// the sender's kernel logs it. So the lag is read from rows that their sequence numbers identify:
/// those that occur once on either side. It is the median of their differences, and zero if it is
/// less than a jiffy or such rows are few.
pub(super) fn lag(
    reconstructed: &[SenderSample],
    truth: &[&SenderSample],
    clock_offset: TimeDelta,
) -> TimeDelta {
    let mut ours: HashMap<(u32, u32), Option<Timestamp>> = HashMap::new();
    for (place, at) in reconstructed
        .iter()
        .filter_map(|row| Some((wire(row)?, row.at)))
    {
        ours.entry(place)
            .and_modify(|only| *only = None)
            .or_insert(Some(at));
    }
    let mut theirs: HashMap<(u32, u32), Option<Timestamp>> = HashMap::new();
    for (place, at) in truth.iter().filter_map(|row| Some((wire(row)?, row.at))) {
        theirs
            .entry(place)
            .and_modify(|only| *only = None)
            .or_insert(Some(at));
    }
    let difference = |(place, at): (&(u32, u32), &Option<Timestamp>)| {
        Some(ours.get(place).copied().flatten()? - ((*at)? + clock_offset))
    };
    let mut differences: Vec<TimeDelta> = theirs.iter().filter_map(difference).collect();
    differences.sort_unstable();
    let median = differences.get(differences.len() / 2).copied();
    median
        .filter(|lag| differences.len() >= LEAST_IDENTIFIED && lag.abs() >= LEAST_LAG)
        .unwrap_or_default()
}

/// The row that tells the state at `at`, between two ACKs: the next one, as it is from before its
/// ACK was processed. None if that is further away than `tolerance`, for timers change states too.
pub(super) fn following(
    samples: &[SenderSample],
    at: Timestamp,
    tolerance: TimeDelta,
) -> Option<&SenderSample> {
    let next = samples.partition_point(|row| row.at < at);
    samples.get(next).filter(|row| row.at - at <= tolerance)
}

/// `snd_una` and `snd_nxt` on the wire.
pub(super) fn wire(sample: &SenderSample) -> Option<(u32, u32)> {
    Some((sample.snd_una?.seq().0, sample.snd_nxt?.seq().0))
}

#[cfg(test)]
mod tests {
    use super::super::script::{Row, record};
    use super::*;
    use tcpexp_measure::sender::CwndSource::Filled;

    fn cwnd(places: &BySeq<'_>, millis: i64, nxt: u32) -> Option<u32> {
        let probe = Row::at(millis).seq(1, nxt).sample();
        let found = places.find(&probe, probe.at, TimeDelta::from_millis(50));
        found.and_then(|row| row.cwnd_segments)
    }

    #[test]
    fn where_no_row_has_the_same_snd_nxt_that_of_the_same_ack_is_meant() {
        let rows = record(&[
            Row::at(0).seq(1, 8).cwnd(1, Filled),
            Row::at(30).seq(1, 9).cwnd(2, Filled),
            Row::at(40).seq(2, 10).cwnd(3, Filled),
        ]);
        let places = BySeq::of(&rows.samples);
        let found = [(0, 9), (0, 10), (40, 10), (40, 8)].map(|(at, nxt)| cwnd(&places, at, nxt));
        assert_eq!(found, [Some(2), Some(1), Some(2), Some(1)]);
        assert_eq!(cwnd(&places, 81, 10), None);
    }

    #[test]
    fn rows_that_their_numbers_identify_show_the_lag_of_a_receivers_capture() {
        let rows = |lag: i64, count: u32| {
            let row = |seq: u32| Row::at(10 * i64::from(seq) + lag).seq(seq, seq + 9);
            record(&(0..count).map(row).collect::<Vec<_>>()).samples
        };
        let lag_of = |millis, count| {
            let (ours, truth) = (rows(millis, count), rows(0, count));
            lag(&ours, &truth.iter().collect::<Vec<_>>(), TimeDelta::ZERO)
        };
        assert_eq!(lag_of(-100, 20), TimeDelta::from_millis(-100));
        assert_eq!([lag_of(-100, 7), lag_of(2, 20)], [TimeDelta::ZERO; 2]);
    }

    #[test]
    fn of_rows_with_the_same_numbers_the_nearest_in_time_is_meant() {
        let rows = record(&[
            Row::at(0).seq(1, 9).cwnd(1, Filled),
            Row::at(30).seq(1, 9).cwnd(2, Filled),
            Row::at(90).seq(1, 9).cwnd(3, Filled),
        ]);
        let places = BySeq::of(&rows.samples);
        let found = [-60, -10, 14, 16, 59, 61, 140, 141].map(|millis| cwnd(&places, millis, 9));
        assert_eq!(
            found,
            [
                None,
                Some(1),
                Some(1),
                Some(2),
                Some(2),
                Some(3),
                Some(3),
                None
            ]
        );
    }
}
