//! Arrivals up to some time ago, to recognise late duplicates.

use tcpexp_units::Timestamp;

use super::recent::Arrived;

/// Number of buckets at most. With four arrivals each, nearly all of the latest 8,000 arrivals of a
/// direction are remembered, which is 0.1 s of 1 Gbit/s. All shards together take 8 MB.
const MOST_BUCKETS: usize = 4_096;

/// Number of buckets of the first arrivals; captures are often short.
const FIRST_BUCKETS: usize = 16;

/// An arrival's identity and time in nanoseconds. Zeros stand for none.
type Entry = [i64; 2];

/// Arrivals of one direction, by their identity. A bucket is as large as a line of the cache and keeps
/// its latest arrivals, so an addition touches one line.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// A power of two of them.
    buckets: Vec<[Entry; 4]>,
    /// Number of arrivals until there are more buckets.
    room: usize,
}

impl Remembered {
    #[inline]
    pub(super) fn add(&mut self, arrived: Arrived, at: Timestamp) {
        if self.room == 0 {
            self.grow();
        }
        self.room -= 1;
        self.put([identity(arrived), at.as_nanos()]);
    }

    fn put(&mut self, entry: Entry) {
        let bucket = self.bucket(entry[0]);
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            let [first, second, third, _] = *bucket;
            *bucket = [entry, first, second, third];
        }
    }

    #[cold]
    fn grow(&mut self) {
        let buckets = self.buckets.len();
        if buckets == MOST_BUCKETS {
            self.room = usize::MAX;
            return;
        }
        let more = (2 * buckets).max(FIRST_BUCKETS);
        self.room = more;
        let before = std::mem::replace(&mut self.buckets, vec![[[0; 2]; 4]; more]);
        // The latest arrival of a bucket is the first, and is added last.
        let entries = before.iter().flat_map(|bucket| bucket.iter().rev());
        for entry in entries.filter(|entry| **entry != [0; 2]) {
            self.put(*entry);
        }
    }

    /// Time of the latest equal arrival; `None` if none is remembered.
    pub(super) fn time_of(&self, arrived: Arrived) -> Option<Timestamp> {
        let identity = identity(arrived);
        let mut entries = self.buckets.get(self.bucket(identity))?.iter();
        let [_, at_ns] = entries.find(|[one, _]| *one == identity)?;
        Some(Timestamp::from_nanos(*at_ns))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number of a bucket is its lower bits"
    )]
    fn bucket(&self, identity: i64) -> usize {
        identity as usize & self.buckets.len().wrapping_sub(1)
    }
}

/// The digest is a hash already.
#[inline]
fn identity((flow, [low, high]): Arrived) -> i64 {
    (low ^ high.rotate_left(32) ^ u64::from(flow.0)).cast_signed()
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::FlowId;

    use super::*;

    #[test]
    fn latest_arrivals_are_remembered_in_bounded_memory() {
        let mut remembered = Remembered::default();
        let arrived = |number: u64| {
            let digest = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (FlowId(3), [digest ^ digest >> 32, number])
        };
        let at = |number: u64| Timestamp::from_nanos(number.cast_signed());
        assert_eq!(remembered.time_of(arrived(1)), None);
        for number in 1..=100_000 {
            remembered.add(arrived(number), at(number));
            let earlier = number - number.min(7);
            let expected = Some(at(earlier)).filter(|_| earlier > 0);
            assert_eq!(remembered.time_of(arrived(earlier)), expected, "{number}");
        }
        assert_eq!(remembered.buckets.len(), MOST_BUCKETS);
        let is_known = |number: &u64| remembered.time_of(arrived(*number)) == Some(at(*number));
        assert!((92_001..=100_000).filter(is_known).count() > 7_500);
    }

    #[test]
    fn latest_time_of_an_arrival_counts() {
        let mut remembered = Remembered::default();
        for number in 0..40 {
            let at = Timestamp::from_nanos(number);
            remembered.add((FlowId(3), [5, 6]), at);
            assert_eq!(remembered.time_of((FlowId(3), [5, 6])), Some(at));
            assert_eq!(remembered.time_of((FlowId(4), [5, 6])), None);
        }
    }
}
