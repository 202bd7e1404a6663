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
    /// Sorted by index.
    open: VecDeque<(Index, Both)>,
    closed: Option<Index>,
}

impl Series {
    /// Adds a packet to a bin; returns whether the bin was empty.
    #[inline]
    pub(super) fn add(&mut self, index: Index, direction: Direction, volume: Volume) -> bool {
        match self.open.back_mut() {
            Some((latest, both)) if *latest == index => {
                both[direction.index()] += volume;
                false
            }
            Some((latest, _)) if *latest > index => self.add_earlier(index, direction, volume),
            _ => {
                self.open.push_back((index, both_of(direction, volume)));
                true
            }
        }
    }

    #[cold]
    fn add_earlier(&mut self, index: Index, direction: Direction, volume: Volume) -> bool {
        // The latest bin is later than `index`, so `place` is never past the end.
        let place = self.open.partition_point(|(other, _)| *other < index);
        if self.open[place].0 == index {
            self.open[place].1[direction.index()] += volume;
            return false;
        }
        self.open.insert(place, (index, both_of(direction, volume)));
        true
    }

    /// Reports the bins before `end` in order, with the empty bins between them unless more than
    /// `most_empty` follow each other.
    pub(super) fn close<E>(
        &mut self,
        end: Index,
        most_empty: Index,
        mut each: impl FnMut(Index, &Both) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(&(index, both)) = self.open.front().filter(|(index, _)| *index < end) {
            self.open.pop_front();
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
}

#[cfg(test)]
impl Series {
    /// Number of open bins.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }
}

fn both_of(direction: Direction, volume: Volume) -> Both {
    let mut both = Both::default();
    both[direction.index()] = volume;
    both
}
