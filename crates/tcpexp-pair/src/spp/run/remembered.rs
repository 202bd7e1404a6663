//! Arrivals up to some time ago, to recognise late duplicates.

use tcpexp_units::Timestamp;

use super::recent::Arrived;

/// Number of buckets. With four arrivals each, nearly all of the latest 8,000 arrivals of a direction are
/// remembered, which is 0.1 s of 1 Gbit/s. All shards together take 8 MB, of which flows that are few
/// or short touch only a part.
const BUCKETS: usize = 4_096;

/// An arrival's identity and time. As integers, since memory for zeros is not touched before its use.
type Entry = [i64; 2];

/// Arrivals of one direction, by their identity. A bucket is as large as a line of the cache and keeps
/// its latest arrivals, so an addition touches one line.
#[derive(Debug, Default)]
pub(super) struct Remembered(Vec<[Entry; 4]>);

impl Remembered {
    #[inline]
    pub(super) fn add(&mut self, arrived: Arrived, at: Timestamp) {
        if self.0.is_empty() {
            self.0 = vec![[[0; 2]; 4]; BUCKETS];
        }
        let (bucket, identity) = place(arrived);
        let [first, second, third, _] = self.0[bucket];
        self.0[bucket] = [[identity, at.as_nanos()], first, second, third];
    }

    /// Time of the latest equal arrival; `None` if none is remembered.
    pub(super) fn time_of(&self, arrived: Arrived) -> Option<Timestamp> {
        let (bucket, identity) = place(arrived);
        let mut entries = self.0.get(bucket)?.iter();
        let [_, at_ns] = entries.find(|[one, _]| *one == identity)?;
        Some(Timestamp::from_nanos(*at_ns))
    }
}

/// The bucket of an arrival, and its identity there. The digest is a hash already.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number of a bucket needs few bits"
)]
fn place((flow, [low, high]): Arrived) -> (usize, i64) {
    let flow = u64::from(flow.0);
    let bucket = (low ^ flow) as usize % BUCKETS;
    (bucket, (high ^ flow << 32).cast_signed())
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::FlowId;

    use super::*;

    #[test]
    fn latest_four_arrivals_of_a_bucket_are_remembered() {
        let mut remembered = Remembered::default();
        let arrived = |number: u64| (FlowId(3), [7, number]);
        let at = |number: u64| Timestamp::from_nanos(number.cast_signed());
        assert_eq!(remembered.time_of(arrived(1)), None);
        for number in 1..=6 {
            remembered.add(arrived(number), at(number));
        }
        let times = [1, 2, 3, 4, 5, 6].map(|number| remembered.time_of(arrived(number)));
        let expected = [
            None,
            None,
            Some(at(3)),
            Some(at(4)),
            Some(at(5)),
            Some(at(6)),
        ];
        assert_eq!(times, expected);
        assert_eq!(remembered.time_of((FlowId(4), [7, 6])), None);
    }
}
