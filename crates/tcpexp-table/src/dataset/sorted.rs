//! Rows in order of time.

use std::io::Write;

use tcpexp_units::Timestamp;

use crate::writer::{BATCH_ROWS, Format, TableWriter};
use crate::{Columns, Error};

/// Writes rows that come nearly in order of time as a Parquet table in order of time.
///
/// So many rows are held back that each may come [`BATCH_ROWS`] rows too late; what comes later
/// still stands where it comes. In order, the statistics of each part of the file tell which times it
/// has, and a reader passes over the others. Rows of the same time keep their order, so that the
/// same rows give the same bytes.
pub struct SortedWriter<R, W: Write + Send> {
    table: TableWriter<W>,
    columns: Columns<R>,
    at: fn(&R) -> Timestamp,
    pending: Vec<R>,
    rows: u64,
}

impl<R, W: Write + Send> SortedWriter<R, W> {
    /// Starts a table in `out`; `at` is what the rows are put in order of.
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

    /// How many rows there are so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.len() as u64
    }

    /// Writes all rows: those that come from here on are in an order of their own.
    pub fn end_part(&mut self) -> Result<(), Error> {
        while !self.pending.is_empty() {
            self.write(self.pending.len().min(BATCH_ROWS))?;
        }
        Ok(())
    }

    /// Completes the table and gives back where it went.
    pub fn finish(mut self) -> Result<W, Error> {
        self.end_part()?;
        self.table.finish()
    }

    /// Writes the earliest rows of those held back.
    fn write(&mut self, rows: usize) -> Result<(), Error> {
        let at = self.at;
        // Nearly in order already, which this sort makes use of.
        self.pending.sort_by_key(at);
        let batch = self.columns.batch(&self.pending[..rows])?;
        self.pending.drain(..rows);
        self.rows += rows as u64;
        self.table.write(&batch)
    }
}
