//! Few time spans as they are.

use tcpexp_units::TimeDelta;

/// Time spans, each to the nanosecond.
///
/// There may be two lists for each of a million connections, so they take half the memory as long as
/// none is negative or longer than four seconds.
#[derive(Clone, Debug)]
pub(super) enum Exact {
    /// All fit into 32 bits.
    Short(Short),
    Long(Vec<TimeDelta>),
}

/// This number of spans is moved to other memory at once.
const LATEST: usize = 5;

/// Spans in nanoseconds, each of less than 2^32.
#[derive(Clone, Debug, Default)]
pub(super) struct Short {
    older: Vec<u32>,
    /// The latest spans, stored inline: with many connections, a write to another place in memory
    /// takes as long as all other work on a packet.
    latest: [u32; LATEST],
    latest_count: u32,
}

impl Default for Exact {
    fn default() -> Self {
        Self::Short(Short::default())
    }
}

impl Exact {
    #[inline]
    pub(super) fn push(&mut self, value: TimeDelta) {
        match self {
            Self::Short(short) => match u32::try_from(value.as_nanos()) {
                Ok(nanos) => short.push(nanos),
                Err(_) => self.lengthen(value),
            },
            Self::Long(long) => long.push(value),
        }
    }

    /// Adds the first value that needs more than 32 bits.
    #[cold]
    fn lengthen(&mut self, value: TimeDelta) {
        let mut long: Vec<TimeDelta> = self.iter().collect();
        long.push(value);
        *self = Self::Long(long);
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(short) => short.older.len() + short.latest().len(),
            Self::Long(long) => long.len(),
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<TimeDelta> {
        match self {
            Self::Short(short) => short.get(place),
            Self::Long(long) => long.get(place).copied(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TimeDelta> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// All values in nanoseconds, once sorted; `None` if one needs more than 32 bits.
    pub(super) fn short(&self) -> Option<&[u32]> {
        match self {
            Self::Short(short) if short.older.is_empty() => Some(short.latest()),
            Self::Short(short) if short.latest_count == 0 => Some(&short.older),
            Self::Short(_) | Self::Long(_) => None,
        }
    }

    pub(super) fn sort(&mut self) {
        match self {
            Self::Short(short) => short.sort(),
            Self::Long(long) => long.sort_unstable(),
        }
    }

    /// The value beside which the next one is written, if that is in `older`.
    #[inline]
    pub(super) fn last_stored(&self) -> Option<&u32> {
        match self {
            Self::Short(short) if short.latest().len() == LATEST => short.older.last(),
            Self::Short(_) | Self::Long(_) => None,
        }
    }
}

impl Short {
    #[inline]
    fn latest(&self) -> &[u32] {
        &self.latest[..self.latest_count as usize]
    }

    #[inline]
    fn push(&mut self, nanos: u32) {
        if self.latest().len() == LATEST {
            self.put_by();
        }
        self.latest[self.latest_count as usize] = nanos;
        self.latest_count += 1;
    }

    /// Moves the latest to the older ones.
    ///
    /// Room is made for four times as many, and in a new place: allocators have free memory ready
    /// for each thread, but enlarge an allocation only under a lock.
    #[cold]
    fn put_by(&mut self) {
        let Self {
            older,
            latest,
            latest_count,
        } = self;
        let count = std::mem::take(latest_count) as usize;
        if older.len() + count > older.capacity() {
            let mut larger = Vec::with_capacity((4 * older.len()).max(2 * LATEST));
            larger.extend_from_slice(older);
            *older = larger;
        }
        older.extend_from_slice(&latest[..count]);
    }

    fn sort(&mut self) {
        // Few values stay in place, so that the summary of a short connection allocates nothing.
        if self.older.is_empty() {
            self.latest[..self.latest_count as usize].sort_unstable();
        } else {
            self.put_by();
            self.older.sort_unstable();
        }
    }

    fn get(&self, place: usize) -> Option<TimeDelta> {
        let nanos = match place.checked_sub(self.older.len()) {
            None => self.older.get(place),
            Some(place) => self.latest().get(place),
        };
        nanos.map(|nanos| TimeDelta::from_nanos((*nanos).into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spans of a usual round trip, and now and then any.
    fn spans() -> impl Strategy<Value = i64> {
        prop_oneof![20 => 0..100_000_000_i64, 1 => any::<i64>()]
    }

    proptest! {
        #[test]
        fn each_span_is_kept_to_the_nanosecond(mut nanos in prop::collection::vec(spans(), 0..60)) {
            let mut exact = Exact::default();
            for value in &nanos {
                exact.push(TimeDelta::from_nanos(*value));
            }
            exact.sort();
            nanos.sort_unstable();
            prop_assert_eq!(exact.len(), nanos.len());
            let kept: Vec<i64> = exact.iter().map(TimeDelta::as_nanos).collect();
            prop_assert_eq!(kept, nanos);
        }
    }
}
