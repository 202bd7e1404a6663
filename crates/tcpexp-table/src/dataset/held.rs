//! Rows that wait for their place in a sorted table.

use std::cmp::Ordering;
use std::collections::VecDeque;

use tcpexp_units::Timestamp;

use super::DatasetRow;
use super::order::{compare_flows, start_of};

/// Rows that stay where they arrived: sorting moves their places only, which are a tenth of their
/// size.
pub(super) struct HeldRows<R> {
    chunks: VecDeque<Chunk<R>>,
    /// Number of the first chunk.
    first: usize,
    /// Size of all chunks in rows.
    held: usize,
    /// The rows that wait, in the order of their table after [`sort`](Self::sort).
    order: VecDeque<Place>,
}

/// Rows that arrived together.
struct Chunk<R> {
    /// `None` once taken out.
    rows: Vec<Option<R>>,
    /// Number of rows that still wait.
    waiting: usize,
}

/// A row's place in memory, and the start of its place in the table.
#[derive(Clone, Copy)]
struct Place {
    start: (u8, Timestamp),
    chunk: usize,
    row: u32,
}

/// Chunks of many rows of which few wait are rebuilt: the chunks may hold this many times the rows
/// that wait, and [`FEW`].
const SPARSE: usize = 4;
/// Number of rows of which the memory does not matter.
const FEW: usize = 1 << 16;

impl<R> Default for HeldRows<R> {
    fn default() -> Self {
        Self {
            chunks: VecDeque::new(),
            first: 0,
            held: 0,
            order: VecDeque::new(),
        }
    }
}

impl<R: DatasetRow> HeldRows<R> {
    /// Number of rows that wait.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Adds rows.
    pub(super) fn push(&mut self, rows: Vec<R>) {
        if rows.is_empty() {
            return;
        }
        let chunk = self.first + self.chunks.len();
        let places = rows.iter().zip(0..).map(|(row, place)| Place {
            start: start_of(row),
            chunk,
            row: place,
        });
        self.order.extend(places);
        self.held += rows.len();
        self.chunks.push_back(Chunk {
            waiting: rows.len(),
            rows: rows.into_iter().map(Some).collect(),
        });
    }

    /// Sorts the rows. Equal rows stay in the order of their arrival.
    pub(super) fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        // The rows are nearly sorted, which the stable sort exploits.
        order.make_contiguous().sort_by(|a, b| self.compare(a, b));
        self.order = order;
    }

    fn compare(&self, a: &Place, b: &Place) -> Ordering {
        let by_start = a.start.cmp(&b.start);
        by_start.then_with(|| compare_flows(self.row(a), self.row(b)))
    }

    /// The number of sorted rows for which `is_before` is true; these precede all others.
    pub(super) fn partition_point(&self, is_before: impl Fn(&R) -> bool) -> usize {
        self.order
            .partition_point(|place| is_before(self.row(place)))
    }

    /// The first rows, at most `most`.
    pub(super) fn first(&self, most: usize) -> Vec<&R> {
        let first = self.order.iter().take(most);
        first.map(|place| self.row(place)).collect()
    }

    /// Moves the first rows to `into`.
    pub(super) fn take_first(&mut self, rows: usize, into: &mut Vec<R>) {
        for _ in 0..rows {
            into.extend(self.take());
        }
        self.pack();
    }

    /// Drops the first rows.
    pub(super) fn drop_first(&mut self, rows: usize) {
        for _ in 0..rows {
            self.take();
        }
        self.pack();
    }

    fn row(&self, place: &Place) -> &R {
        let row = &self.chunks[place.chunk - self.first].rows[place.row as usize];
        row.as_ref().expect("a row waits until it is taken")
    }

    /// Takes the first row out.
    fn take(&mut self) -> Option<R> {
        let place = self.order.pop_front()?;
        let chunk = &mut self.chunks[place.chunk - self.first];
        let row = chunk.rows[place.row as usize].take();
        chunk.waiting -= 1;
        if chunk.waiting == 0 {
            self.held -= chunk.rows.len();
            chunk.rows = Vec::new();
        }
        row
    }

    /// Frees the memory of rows that were taken out.
    fn pack(&mut self) {
        while let Some(chunk) = self.chunks.front()
            && chunk.waiting == 0
        {
            self.chunks.pop_front();
            self.first += 1;
        }
        if self.held > SPARSE * self.len() + FEW {
            let rows: Vec<R> = std::iter::from_fn(|| self.take()).collect();
            *self = Self::default();
            self.push(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_pair::spp::PathDirection;
    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::dataset::{QueueRow, QueueSource};

    fn row(at: i64) -> QueueRow {
        QueueRow {
            at: Timestamp::from_nanos(at),
            source: QueueSource::Packets {
                path_direction: PathDirection::Out,
                width: TimeDelta::from_nanos(1),
                packets: 1,
                min: TimeDelta::ZERO,
                mean: TimeDelta::ZERO,
                max: TimeDelta::ZERO,
            },
        }
    }

    #[test]
    fn rows_that_wait_for_long_do_not_keep_the_memory_of_rows_that_arrived_with_them() {
        let mut rows = HeldRows::default();
        for chunk in 0..1_000 {
            // The last row of each chunk is from a later time than all chunks.
            let now = (0..499).map(|place| row(chunk * 499 + place));
            rows.push(now.chain([row(i64::MAX - 1_000 + chunk)]).collect());
            rows.sort();
            rows.drop_first(499);
            assert!(rows.held <= SPARSE * rows.len() + FEW);
        }
        let left: Vec<i64> = rows
            .first(2_000)
            .iter()
            .map(|row| row.at.as_nanos())
            .collect();
        let expected: Vec<i64> = (0..1_000).map(|chunk| i64::MAX - 1_000 + chunk).collect();
        assert_eq!(left, expected);
    }
}
