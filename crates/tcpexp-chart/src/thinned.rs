//! Millions of samples over time in little memory, without losing a spike.

use tcpexp_units::{TimeDelta, Timestamp};

/// Most bins that are kept: several per printed dot of a chart.
const MOST_BINS: usize = 4096;
/// Width of the first bins as a power of two of nanoseconds: about a microsecond.
const FIRST_SHIFT: u32 = 10;

/// Samples over time, thinned so that a drawn line looks the same.
///
/// Time is cut into bins, and each keeps its first, smallest, largest and last sample. When there
/// are more than 4096 bins with samples, bins become twice as wide. So every spike survives,
/// memory is bounded, and up to 4096 samples more than a microsecond apart are all kept. The order
/// of adding does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinned {
    /// A bin is the `time >> shift` of its samples.
    shift: u32,
    /// In order of time; none is empty.
    bins: Vec<Bin>,
}

type Point = (Timestamp, TimeDelta);
/// A point that compares by its value.
type Peak = (TimeDelta, Timestamp);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    first: Point,
    smallest: Peak,
    largest: Peak,
    last: Point,
}

impl Default for Thinned {
    fn default() -> Self {
        Self {
            shift: FIRST_SHIFT,
            bins: Vec::new(),
        }
    }
}

impl Thinned {
    /// Adds one sample.
    pub fn add(&mut self, time: Timestamp, value: TimeDelta) {
        self.absorb(Bin::of((time, value)));
        self.widen(MOST_BINS);
    }

    /// Adds all that `other` kept.
    pub fn merge(&mut self, other: &Self) {
        if other.shift > self.shift {
            self.widen_to(other.shift);
        }
        for &bin in &other.bins {
            self.absorb(bin);
        }
        self.widen(MOST_BINS);
    }

    /// The kept samples in order of time, from at most `most_bins` bins of four.
    pub fn points(&self, most_bins: usize) -> Vec<(Timestamp, TimeDelta)> {
        let mut thinner = self.clone();
        thinner.widen(most_bins);
        let mut points: Vec<Point> = thinner.bins.iter().flat_map(Bin::points).collect();
        points.dedup();
        points
    }

    /// Times of the first and the last sample.
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.bins.first()?.first.0, self.bins.last()?.last.0))
    }

    /// The smallest and the largest sample.
    pub fn extremes(&self) -> Option<(TimeDelta, TimeDelta)> {
        let smallest = self.bins.iter().map(|bin| bin.smallest.0).min()?;
        let largest = self.bins.iter().map(|bin| bin.largest.0).max()?;
        Some((smallest, largest))
    }

    /// Samples come nearly in order of time, so their bin is the last one or a new one after it.
    fn absorb(&mut self, bin: Bin) {
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
        // Two bins remain when all times of one sign are one bin.
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

impl Bin {
    const fn of((time, value): Point) -> Self {
        let (point, peak) = ((time, value), (value, time));
        Self {
            first: point,
            smallest: peak,
            largest: peak,
            last: point,
        }
    }

    const fn key(&self, shift: u32) -> i64 {
        self.first.0.as_nanos() >> shift
    }

    fn absorb(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.last = self.last.max(other.last);
    }

    fn points(&self) -> [Point; 4] {
        let [a, b] = [self.smallest, self.largest].map(|(value, time)| (time, value));
        [self.first, a.min(b), a.max(b), self.last]
    }
}
