//! Boundaries of bins.

use tcpexp_units::{TimeDelta, Timestamp};

/// Width of a bin; positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinWidth(TimeDelta);

/// Start time of a bin; the other bins follow on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The first packet of the capture.
    #[default]
    FirstPacket,
    /// This time on the capture's clock; captures on the same clock get the same bins.
    At(Timestamp),
}

impl BinWidth {
    /// `None` unless `width` is positive.
    pub fn new(width: TimeDelta) -> Option<Self> {
        (width > TimeDelta::ZERO).then_some(Self(width))
    }

    /// The width.
    pub const fn get(self) -> TimeDelta {
        self.0
    }
}

/// Index of a bin from the origin. Wide enough for any time in bins of a nanosecond.
pub(super) type Index = i128;

/// The bins of one capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    origin: Timestamp,
    width: BinWidth,
}

impl Grid {
    pub(super) fn new(width: BinWidth, origin: Timestamp) -> Self {
        Self { origin, width }
    }

    pub(super) fn width(&self) -> TimeDelta {
        self.width.0
    }

    /// Index of the bin that contains `at`.
    #[inline]
    pub(super) fn index(&self, at: Timestamp) -> Index {
        let width = self.width.0.as_nanos();
        // Nearly all differences fit 64 bits, whose division is faster.
        if let Some(nanos) = at.as_nanos().checked_sub(self.origin.as_nanos()) {
            return nanos.div_euclid(width).into();
        }
        let nanos = Index::from(at.as_nanos()) - Index::from(self.origin.as_nanos());
        nanos.div_euclid(width.into())
    }

    /// Start time of a bin.
    pub(super) fn start(&self, index: Index) -> Timestamp {
        let nanos = index * Index::from(self.width.0.as_nanos());
        let nanos = nanos + Index::from(self.origin.as_nanos());
        // The bin of the earliest representable time may start before it.
        Timestamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MIN))
    }

    /// Number of bins within `span`.
    pub(super) fn count(&self, span: TimeDelta) -> Index {
        Index::from(span.as_nanos() / self.width.0.as_nanos())
    }
}

/// Looks up bins for times that follow each other closely.
///
/// Most packets are in the bin of the packet before, and two comparisons take less time than a division.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lookup {
    /// Start and index of the last bin found.
    last: Option<(Timestamp, Index)>,
}

impl Lookup {
    /// [`Grid::index`], always of the same `grid`.
    #[inline]
    pub(super) fn index(&mut self, grid: &Grid, at: Timestamp) -> Index {
        if let Some((start, index)) = self.last {
            let into = at - start;
            if TimeDelta::ZERO <= into && into < grid.width() {
                return index;
            }
        }
        self.find(grid, at)
    }

    #[cold]
    fn find(&mut self, grid: &Grid, at: Timestamp) -> Index {
        let index = grid.index(at);
        let start = grid.start(index);
        // The earliest representable time may stand for an earlier start.
        self.last = (start > Timestamp::MIN).then_some((start, index));
        index
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bin_has_a_width() {
        assert_eq!(BinWidth::new(TimeDelta::ZERO), None);
        assert_eq!(BinWidth::new(TimeDelta::from_nanos(-1)), None);
        assert!(BinWidth::new(TimeDelta::from_nanos(1)).is_some());
    }

    proptest! {
        #[test]
        fn a_bin_contains_its_times(at in any::<i64>(), origin in any::<i64>(), width in 1..i64::MAX) {
            let width = BinWidth::new(TimeDelta::from_nanos(width)).unwrap();
            let grid = Grid::new(width, Timestamp::from_nanos(origin));
            let index = grid.index(Timestamp::from_nanos(at));
            let since_origin = Index::from(at) - Index::from(origin);
            let width = Index::from(width.get().as_nanos());
            prop_assert!(index * width <= since_origin && since_origin < (index + 1) * width);
            prop_assert!(grid.start(index) <= Timestamp::from_nanos(at));
        }

        #[test]
        fn a_lookup_finds_the_bin_of_each_time(
            first in any::<i64>(),
            steps in prop::collection::vec(-300..300_i64, 1..20),
            origin in any::<i64>(),
            width in prop_oneof![1..200_i64, 1..i64::MAX],
        ) {
            let width = BinWidth::new(TimeDelta::from_nanos(width)).unwrap();
            let grid = Grid::new(width, Timestamp::from_nanos(origin));
            let mut lookup = Lookup::default();
            let ends = [i64::MIN, first, i64::MAX, i64::MIN];
            for from in ends {
                for at in steps.iter().map(|step| from.saturating_add(*step)) {
                    let at = Timestamp::from_nanos(at);
                    prop_assert_eq!(lookup.index(&grid, at), grid.index(at));
                }
            }
        }
    }
}
