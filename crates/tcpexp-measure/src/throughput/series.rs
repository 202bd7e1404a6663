//! Open bins of one flow, or of all flows together.

use std::collections::VecDeque;

use tcpexp_flow::Direction;

use super::Volume;
use super::grid::Index;

/// The volumes of one bin by direction.
pub(super) type Both = [Volume; 2];

/// Open bins. Empty bins are not stored, but reported between two non-empty bins.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// The latest bin, stored inline: with many flows, a bin elsewhere is in no cache.
    latest: Option<(Index, Both)>,
    /// The bins before it, sorted by index.
    earlier: VecDeque<(Index, Both)>,
    closed: Option<Index>,
}

impl Series {
    /// Adds a packet to a bin; returns whether the bin was empty.
    #[inline]
    pub(super) fn add(&mut self, index: Index, direction: Direction, volume: Volume) -> bool {
        match &mut self.latest {
            Some((latest, both)) if *latest == index => {
                both[direction.index()] += volume;
                false
            }
            _ => self.add_elsewhere(index, direction, volume),
        }
    }

    #[cold]
    fn add_elsewhere(&mut self, index: Index, direction: Direction, volume: Volume) -> bool {
        match self.latest {
            Some((latest, _)) if latest > index => self.add_earlier(index, direction, volume),
            before => {
                self.earlier.extend(before);
                self.latest = Some((index, both_of(direction, volume)));
                true
            }
        }
    }

    fn add_earlier(&mut self, index: Index, direction: Direction, volume: Volume) -> bool {
        let place = self.earlier.partition_point(|(other, _)| *other < index);
        match self.earlier.get_mut(place) {
            Some((other, both)) if *other == index => {
                both[direction.index()] += volume;
                false
            }
            _ => {
                self.earlier
                    .insert(place, (index, both_of(direction, volume)));
                true
            }
        }
    }

    /// Reports the bins before `end` in order, with the empty bins between them unless more than
    /// `most_empty` follow each other.
    pub(super) fn close<E>(
        &mut self,
        end: Index,
        most_empty: Index,
        mut each: impl FnMut(Index, &Both) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((index, both)) = self.take_before(end) {
            let next = self.closed.map_or(index, |closed| closed + 1);
            // A clock step or two joined captures would report millions of empty bins.
            if index - next <= most_empty {
                for empty in next..index {
                    each(empty, &Both::default())?;
                }
            }
            each(index, &both)?;
            self.closed = Some(index);
        }
        Ok(())
    }

    /// Takes out the first bin if it is before `end`.
    fn take_before(&mut self, end: Index) -> Option<(Index, Both)> {
        match self.earlier.front() {
            Some((index, _)) if *index < end => {
                let first = self.earlier.pop_front();
                if self.earlier.is_empty() {
                    // Most of a hundred thousand flows have only one open bin, if any.
                    self.earlier = VecDeque::new();
                }
                first
            }
            Some(_) => None,
            None => self.latest.take_if(|(index, _)| *index < end),
        }
    }
}

#[cfg(test)]
impl Series {
    /// Number of open bins.
    pub(super) fn open(&self) -> usize {
        self.earlier.len() + usize::from(self.latest.is_some())
    }
}

fn both_of(direction: Direction, volume: Volume) -> Both {
    let mut both = Both::default();
    both[direction.index()] = volume;
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_with_one_open_bin_has_no_memory_for_others() {
        let mut series = Series::default();
        for index in 0..10 {
            series.add(index, Direction::Forward, Volume::default());
        }
        assert!(series.earlier.capacity() >= 9);
        let Ok(()) = series.close(9, Index::MAX, |_, _| Ok::<_, std::convert::Infallible>(()));
        assert_eq!((series.open(), series.earlier.capacity()), (1, 0));
    }
}
