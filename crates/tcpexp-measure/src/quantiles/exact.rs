//! Few time spans as they are.

use smallvec::SmallVec;
use tcpexp_flow::prefetch;
use tcpexp_units::TimeDelta;

/// Time spans, each to the nanosecond.
///
/// There may be two lists for each of a million connections, so they take half the memory as long as
/// none is negative or longer than four seconds.
#[derive(Clone, Debug)]
pub(super) enum Exact {
    /// All fit into 32 bits; the first few are kept in here.
    Short(SmallVec<[u32; 4]>),
    Long(Vec<TimeDelta>),
}

impl Default for Exact {
    fn default() -> Self {
        Self::Short(SmallVec::new())
    }
}

impl Exact {
    #[inline]
    pub(super) fn push(&mut self, value: TimeDelta) {
        match self {
            Self::Short(short) => match u32::try_from(value.as_nanos()) {
                Ok(nanos) => {
                    if short.len() == short.capacity() {
                        make_room(short);
                    }
                    short.push(nanos);
                }
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
            Self::Short(short) => short.len(),
            Self::Long(long) => long.len(),
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<TimeDelta> {
        match self {
            Self::Short(short) => short.get(place).copied().map(span),
            Self::Long(long) => long.get(place).copied(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TimeDelta> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    pub(super) fn sort(&mut self) {
        match self {
            Self::Short(short) => short.sort_unstable(),
            Self::Long(long) => long.sort_unstable(),
        }
    }

    /// Asks for the place of the next value.
    #[inline]
    pub(super) fn expect(&self) {
        match self {
            Self::Short(short) => short.last().map(prefetch),
            Self::Long(long) => long.last().map(prefetch),
        };
    }
}

fn span(nanos: u32) -> TimeDelta {
    TimeDelta::from_nanos(nanos.into())
}

/// Makes room for four times as many values.
///
/// In a new place: allocators keep some at hand for each thread, but make one larger only under a
/// lock. Where connections are many, all are small.
#[cold]
fn make_room(short: &mut SmallVec<[u32; 4]>) {
    let mut larger = SmallVec::with_capacity(4 * short.len());
    larger.extend_from_slice(short);
    *short = larger;
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
