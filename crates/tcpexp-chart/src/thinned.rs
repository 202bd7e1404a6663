//! Thinning of millions of samples over time to bounded memory, with every spike preserved.

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of bins: several per printed dot of a chart.
const MAX_BINS: usize = 4096;
/// Width of the initial bins as a power of two of nanoseconds: about a microsecond.
const FIRST_SHIFT: u32 = 10;

/// Samples over time, thinned so that a drawn line looks the same.
///
/// Time is divided into bins, and each bin keeps its first, smallest, largest and last sample. When
/// more than 4096 bins contain samples, the bins double in width. Every spike survives, and memory
/// is bounded. Up to 4096 samples more than a microsecond apart are all kept. The order of
/// insertion does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinned<V = TimeDelta> {
    /// Binary logarithm of the bin width: the bin of a sample is `time >> shift`.
    shift: u32,
    /// Non-empty bins in order of time.
    bins: Vec<Bin<V>>,
}

type Point<V> = (Timestamp, V);
/// A sample that compares by value.
type Peak<V> = (V, Timestamp);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin<V> {
    first: Point<V>,
    smallest: Peak<V>,
    largest: Peak<V>,
    last: Point<V>,
}

impl<V> Default for Thinned<V> {
    fn default() -> Self {
        Self {
            shift: FIRST_SHIFT,
            bins: Vec::new(),
        }
    }
}

impl<V: Copy + Ord> Thinned<V> {
    /// Adds one sample.
    pub fn add(&mut self, time: Timestamp, value: V) {
        self.absorb(Bin::of((time, value)));
        self.widen(MAX_BINS);
    }

    /// Adds all samples that `other` kept.
    pub fn merge(&mut self, other: &Self) {
        // Narrow bins fit whole into wide ones, but a wide bin cannot be divided.
        if other.shift > self.shift {
            self.widen_to(other.shift);
        }
        for &bin in &other.bins {
            self.absorb(bin);
        }
        self.widen(MAX_BINS);
    }

    /// The kept samples in order of time, thinned to at most `most_bins` bins of up to four
    /// samples.
    pub fn points(&self, most_bins: usize) -> Vec<(Timestamp, V)> {
        let mut thinner = self.clone();
        thinner.widen(most_bins);
        let mut points: Vec<Point<V>> = thinner.bins.iter().flat_map(Bin::points).collect();
        // In a bin of one sample, all four kept samples are the same.
        points.dedup();
        points
    }

    /// Times of the first and the last sample.
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.bins.first()?.first.0, self.bins.last()?.last.0))
    }

    /// The smallest and the largest sample.
    pub fn extremes(&self) -> Option<(V, V)> {
        let smallest = self.bins.iter().map(|bin| bin.smallest.0).min()?;
        let largest = self.bins.iter().map(|bin| bin.largest.0).max()?;
        Some((smallest, largest))
    }

    /// Adds a bin. Samples arrive nearly in order of time, so the bin is usually the last or a new
    /// one after it.
    fn absorb(&mut self, bin: Bin<V>) {
        let key = bin.key(self.shift);
        match self.bins.last_mut() {
            Some(last) if last.key(self.shift) == key => last.absorb(bin),
            Some(last) if last.key(self.shift) > key => {
                match self
                    .bins
                    .binary_search_by_key(&key, |bin| bin.key(self.shift))
                {
                    Ok(at) => self.bins[at].absorb(bin),
                    Err(at) => self.bins.insert(at, bin),
                }
            }
            _ => self.bins.push(bin),
        }
    }

    fn widen(&mut self, most_bins: usize) {
        // With the widest bins two remain: one for negative times and one for the others.
        while self.bins.len() > most_bins.max(2) {
            self.widen_to(self.shift + 1);
        }
    }

    fn widen_to(&mut self, shift: u32) {
        self.shift = shift;
        self.bins.dedup_by(|later, kept| {
            let same = later.key(shift) == kept.key(shift);
            if same {
                kept.absorb(*later);
            }
            same
        });
    }
}

impl<V: Copy + Ord> Bin<V> {
    fn of((time, value): Point<V>) -> Self {
        let (point, peak) = ((time, value), (value, time));
        Self {
            first: point,
            smallest: peak,
            largest: peak,
            last: point,
        }
    }

    fn key(&self, shift: u32) -> i64 {
        // An arithmetic shift rounds down, so times before 1970 have bins of the same width.
        self.first.0.as_nanos() >> shift
    }

    fn absorb(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.last = self.last.max(other.last);
    }

    fn points(&self) -> [Point<V>; 4] {
        let [a, b] = [self.smallest, self.largest].map(|(value, time)| (time, value));
        [self.first, a.min(b), a.max(b), self.last]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thinned(samples: impl IntoIterator<Item = (i64, i64)>) -> Thinned {
        let mut thinned = Thinned::default();
        for (time, value) in samples {
            thinned.add(Timestamp::from_nanos(time), TimeDelta::from_nanos(value));
        }
        thinned
    }

    /// Runs of nearly regular samples, and samples at arbitrary times.
    fn any_samples() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let run =
            (any::<i64>(), 1_i64..1_000_000_000, 0_i64..3000).prop_map(|(start, gap, count)| {
                (0..count)
                    .map(|n| (start.wrapping_add(n * gap), n * 7919 % 1009))
                    .collect()
            });
        let scattered = prop::collection::vec(any::<(i64, i64)>(), 0..3000);
        prop::collection::vec(prop_oneof![run, scattered], 1..4).prop_map(|parts| parts.concat())
    }

    #[test]
    fn a_small_series_keeps_all_samples() {
        let samples: Vec<_> = (0..4000).map(|n| (n * 2_000, n * n % 97)).collect();
        let kept = thinned(samples.iter().copied()).points(MAX_BINS);
        let kept: Vec<_> = kept
            .iter()
            .map(|(t, v)| (t.as_nanos(), v.as_nanos()))
            .collect();
        assert_eq!(kept, samples);
    }

    #[test]
    fn an_empty_series_has_no_times_and_no_extremes() {
        let nothing: Thinned = Thinned::default();
        assert_eq!((nothing.times(), nothing.extremes()), (None, None));
        assert_eq!(nothing.points(10), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn extremes_survive_in_bounded_memory(samples in any_samples(), most_bins in 2_usize..100) {
            let thinned = thinned(samples.iter().copied());
            prop_assert!(thinned.bins.len() <= MAX_BINS);
            let points = thinned.points(most_bins);
            prop_assert!(points.len() <= 4 * most_bins);
            prop_assert!(points.is_sorted_by_key(|point| point.0));
            let least = samples.iter().map(|sample| sample.1).min();
            let most = samples.iter().map(|sample| sample.1).max();
            prop_assert_eq!(points.iter().map(|point| point.1.as_nanos()).min(), least);
            prop_assert_eq!(points.iter().map(|point| point.1.as_nanos()).max(), most);
            prop_assert_eq!(thinned.extremes().map(|(least, _)| least.as_nanos()), least);
        }

        #[test]
        fn the_order_of_adding_does_not_matter(samples in any_samples(), cut in any::<prop::sample::Index>()) {
            let in_order = thinned(samples.iter().copied());
            prop_assert_eq!(&thinned(samples.iter().rev().copied()), &in_order);
            let (start, end) = samples.split_at(cut.index(samples.len() + 1));
            let mut merged = thinned(end.iter().copied());
            merged.merge(&thinned(start.iter().copied()));
            prop_assert_eq!(merged, in_order);
        }
    }
}
