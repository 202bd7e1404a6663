//! Pairs of rows that describe the same state, one from each side.

use std::collections::HashMap;

use tcpexp_measure::sender::SenderSample;
use tcpexp_metrics::quantile::whole_median;
use tcpexp_units::{TimeDelta, Timestamp};

/// Rows of one sender, indexed by their sequence numbers on the wire.
///
/// Rows are not paired by their order: where a host processes ACKs late, the kernel's rows are
/// shifted against the capture's. The two sides may count stream offsets from different origins, so
/// only the 32-bit part on the wire is compared.
///
/// `snd_nxt` at the arrival of an ACK is not always known: a capture at the receiver does not
/// contain packets that were lost before it. Rows without an exact match are therefore paired by
/// `snd_una` alone. Without these rows, the score of a receiver-side reconstruction would cover
/// only the states in which the window is easy to determine.
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

    /// Returns the row with the sequence numbers of `other` that is nearest to `at` and within
    /// `tolerance`; without such a row, the nearest row with the same `snd_una`. If two rows are
    /// equally near, the earlier one.
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
    // The candidates are the last row before `at` and the first row from `at` on. `min_by_key`
    // returns the first minimum, here the earlier row.
    let later = rows.partition_point(|row| row.at < at);
    let nearest = rows[later.saturating_sub(1)..]
        .iter()
        .take(2)
        .min_by_key(|row| (row.at - at).abs())?;
    ((nearest.at - at).abs() <= tolerance).then_some(nearest)
}

/// Least number of rows with unique sequence numbers for a lag; fewer may agree by chance.
const MIN_IDENTIFIED: usize = 8;
/// Least lag: a kernel's jiffy at 250 Hz. A smaller lag does not keep rows from being paired.
const MIN_LAG: TimeDelta = TimeDelta::from_millis(4);

/// Returns the delay of the reconstruction's rows after the truth's rows, beyond `clock_offset`.
///
/// A reconstruction at the receiver uses an ACK's departure time, half a round-trip time or more
/// before the sender's kernel logs the ACK. The lag is the median time difference of the rows whose
/// sequence numbers occur exactly once on each side. It is zero if the median is less than a jiffy, and
/// unknown (`None`) if there are too few of these rows.
pub(super) fn lag(
    reconstructed: &[SenderSample],
    truth: &[&SenderSample],
    clock_offset: TimeDelta,
) -> Option<TimeDelta> {
    let mut ours: HashMap<(u32, u32), Option<Timestamp>> = HashMap::new();
    for (place, at) in reconstructed
        .iter()
        .filter_map(|row| Some((wire(row)?, row.at)))
    {
        // Sequence numbers that occur twice do not identify a row.
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
        let lag = ours.get(place).copied().flatten()? - ((*at)? + clock_offset);
        Some(lag.as_nanos())
    };
    let differences: Vec<i64> = theirs.iter().filter_map(difference).collect();
    if differences.len() < MIN_IDENTIFIED {
        return None;
    }
    let median = whole_median(differences).map(TimeDelta::from_nanos)?;
    Some(if median.abs() >= MIN_LAG {
        median
    } else {
        TimeDelta::ZERO
    })
}

/// Returns the row with the state at `at`: the next row, which records the state before its ACK was
/// processed. `None` if that row is more than `tolerance` away, because timers change the state
/// too.
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
    fn without_an_equal_snd_nxt_the_row_with_the_same_ack_matches() {
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
    fn uniquely_numbered_rows_reveal_the_lag_of_a_receiver_capture() {
        let rows = |lag: i64, count: u32| {
            let row = |seq: u32| Row::at(10 * i64::from(seq) + lag).seq(seq, seq + 9);
            record(&(0..count).map(row).collect::<Vec<_>>()).samples
        };
        let lag_of = |millis, count| {
            let (ours, truth) = (rows(millis, count), rows(0, count));
            lag(&ours, &truth.iter().collect::<Vec<_>>(), TimeDelta::ZERO)
        };
        assert_eq!(lag_of(-100, 20), Some(TimeDelta::from_millis(-100)));
        assert_eq!(lag_of(2, 20), Some(TimeDelta::ZERO));
        assert_eq!(lag_of(-100, 7), None);
    }

    #[test]
    fn among_rows_with_equal_numbers_the_nearest_in_time_matches() {
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
