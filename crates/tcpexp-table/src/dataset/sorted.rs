//! Sorting of nearly sorted rows by time.

use std::io::Write;

use tcpexp_units::Timestamp;

use crate::writer::{BATCH_ROWS, Format, TableWriter};
use crate::{Columns, Error};

/// Writes rows in order of time to a Parquet table, from rows that arrive nearly in that order.
///
/// The writer holds back up to 2 × [`BATCH_ROWS`] rows, so a row may arrive [`BATCH_ROWS`] rows
/// late. A later row is written out of order. In a sorted file the statistics of each row group
/// give its time range, and a reader skips the row groups it does not need. Rows with the same time
/// keep their order, so that the same rows give the same bytes.
pub struct SortedWriter<R, W: Write + Send> {
    table: TableWriter<W>,
    columns: Columns<R>,
    at: fn(&R) -> Timestamp,
    pending: Vec<R>,
    rows: u64,
}

impl<R, W: Write + Send> SortedWriter<R, W> {
    /// Starts a table in `out`; rows are sorted by `at`.
    pub fn new(columns: Columns<R>, at: fn(&R) -> Timestamp, out: W) -> Result<Self, Error> {
        Ok(Self {
            table: TableWriter::new(Format::Parquet, &columns.schema(), out)?,
            columns,
            at,
            pending: Vec::new(),
            rows: 0,
        })
    }

    /// Adds a row.
    pub fn add(&mut self, row: R) -> Result<(), Error> {
        self.pending.push(row);
        if self.pending.len() < 2 * BATCH_ROWS {
            return Ok(());
        }
        self.write(BATCH_ROWS)
    }

    /// Adds rows.
    pub fn add_all(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Error> {
        rows.into_iter().try_for_each(|row| self.add(row))
    }

    /// Number of rows added so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.len() as u64
    }

    /// Writes all pending rows. Later rows are sorted among themselves only.
    pub fn end_part(&mut self) -> Result<(), Error> {
        while !self.pending.is_empty() {
            self.write(self.pending.len().min(BATCH_ROWS))?;
        }
        Ok(())
    }

    /// Completes the table and returns its output.
    pub fn finish(mut self) -> Result<W, Error> {
        self.end_part()?;
        self.table.finish()
    }

    /// Writes the earliest `rows` of the pending rows.
    fn write(&mut self, rows: usize) -> Result<(), Error> {
        let at = self.at;
        // The rows are nearly sorted, which the stable sort exploits.
        self.pending.sort_by_key(at);
        let batch = self.columns.batch(&self.pending[..rows])?;
        self.pending.drain(..rows);
        self.rows += rows as u64;
        self.table.write(&batch)
    }
}
