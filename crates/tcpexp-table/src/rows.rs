//! Writes rows of any type in any format.

use std::io::Write;

use crate::Error;
use crate::columns::Columns;
use crate::writer::{BATCH_ROWS, BatchSink, Format, TableWriter};

/// Writes rows as a table, in memory that does not grow with the number of rows.
///
/// The same rows give the same bytes, regardless of their division into calls.
pub struct RowsWriter<R, W: Write + Send> {
    table: TableWriter<W>,
    columns: Columns<R>,
    pending: Vec<R>,
}

impl<R: Sync, W: Write + Send> RowsWriter<R, W> {
    /// Starts a table in `out`.
    pub fn new(format: Format, columns: Columns<R>, out: W) -> Result<Self, Error> {
        Ok(Self {
            table: TableWriter::new(format, &columns.schema(), out)?,
            columns,
            pending: Vec::new(),
        })
    }

    /// Starts a stream of Arrow IPC in `out`, which a reader can follow.
    pub fn arrow_stream(columns: Columns<R>, out: W) -> Result<Self, Error> {
        Ok(Self {
            table: TableWriter::arrow_stream(&columns.schema(), out)?,
            columns,
            pending: Vec::new(),
        })
    }

    /// Starts a table whose batches `each` takes; nothing is written to `out`.
    pub fn handing(columns: Columns<R>, each: BatchSink, out: W) -> Self {
        Self {
            table: TableWriter::handing(each, out),
            columns,
            pending: Vec::new(),
        }
    }

    /// Appends rows.
    pub fn write(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Error> {
        for row in rows {
            self.pending.push(row);
            if self.pending.len() == BATCH_ROWS {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    /// Writes out the rows so far, for a reader that follows them. In Arrow's formats the borders of
    /// batches then depend on the calls.
    pub fn flush(&mut self) -> Result<(), Error> {
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        self.table.flush()
    }

    /// Completes the table and returns its output.
    pub fn finish(mut self) -> Result<W, Error> {
        if !self.pending.is_empty() {
            self.write_pending()?;
        }
        self.table.finish()
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        let batch = self.columns.batch(&self.pending)?;
        self.pending.clear();
        self.table.write(&batch)
    }
}
