//! Writes nearly sorted rows in the order of their table.

use std::io::{self, Write};

use arrow::ipc::writer::StreamWriter;

use super::DatasetRow;
use super::held::HeldRows;
use super::order::{RowKey, compare};
use crate::writer::{BATCH_ROWS, Format, TableWriter};
use crate::{Columns, Error};

/// Writes rows to a Parquet table in its order, from rows that arrive nearly in this order.
///
/// The writer holds back up to 2 × [`BATCH_ROWS`] rows, so a row may arrive [`BATCH_ROWS`] rows late.
/// After a later row, all rows go to further sorted tables in Arrow's stream format, which is cheap to
/// write and to read, and [`merge_tables`](super::merge_tables) joins them to the first. In a sorted
/// file the statistics of each row group give its time range, and a reader skips the row groups it
/// does not need.
///
/// The order has no exceptions, so the rows of a part of the flows are in the order of the whole.
pub struct SortedWriter<R, W: Write + Send> {
    columns: Columns<R>,
    table: TableWriter<W>,
    pending: HeldRows<R>,
    /// The last written row.
    last: Option<RowKey>,
    /// The rows after those of `table`, once a row was late.
    rest: Option<StreamWriter<W>>,
    /// Rows whose place in the table has been passed.
    late: Vec<R>,
    /// Complete tables of late rows.
    runs: Vec<W>,
    new_run: NewRun<W>,
    rows: u64,
}

/// Rows in a batch of late rows. All tables of late rows are read at the same time.
const LATE_ROWS: usize = 8_192;

/// Opens an output for late rows.
pub type NewRun<W> = Box<dyn FnMut() -> io::Result<W> + Send>;

impl<R: DatasetRow, W: Write + Send> SortedWriter<R, W> {
    /// Starts a table in `out`. Tables of late rows go to outputs of `new_run`.
    pub fn new(columns: Columns<R>, out: W, new_run: NewRun<W>) -> Result<Self, Error> {
        Ok(Self {
            table: TableWriter::new(Format::Parquet, &columns.schema(), out)?,
            columns,
            pending: HeldRows::default(),
            last: None,
            rest: None,
            late: Vec::new(),
            runs: Vec::new(),
            new_run,
            rows: 0,
        })
    }

    /// Adds rows. They stay in the memory of `rows` until they are written.
    pub fn add(&mut self, rows: Vec<R>) -> Result<(), Error> {
        self.rows += rows.len() as u64;
        self.pending.push(rows);
        while self.pending.len() >= 2 * BATCH_ROWS {
            self.write()?;
        }
        Ok(())
    }

    /// Number of rows added so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Completes the table and returns its output, and the outputs of the further tables.
    pub fn finish(mut self) -> Result<(W, Vec<W>), Error> {
        while self.pending.len() > 0 {
            self.write()?;
        }
        if !self.late.is_empty() {
            self.write_late()?;
        }
        let mut runs = Vec::new();
        if let Some(rest) = self.rest {
            runs.push(rest.into_inner()?);
        }
        runs.append(&mut self.runs);
        Ok((self.table.finish()?, runs))
    }

    /// Writes the first of the pending rows.
    fn write(&mut self) -> Result<(), Error> {
        self.pending.sort();
        let is_late = |row: &R| self.last.is_some_and(|last| RowKey::of(row) < last);
        let late = self.pending.partition_point(is_late);
        self.pending.take_first(late, &mut self.late);
        if late > 0 && self.rest.is_none() {
            self.rest = Some(self.new_run()?);
        }
        if self.late.len() >= BATCH_ROWS {
            self.write_late()?;
        }
        let rows = self.pending.first(BATCH_ROWS);
        let Some(last) = rows.last() else {
            return Ok(());
        };
        self.last = Some(RowKey::of(*last));
        let batch = self.columns.batch_of(&rows)?;
        let written = rows.len();
        self.pending.drop_first(written);
        match &mut self.rest {
            Some(rest) => Ok(rest.write(&batch)?),
            None => self.table.write(&batch),
        }
    }

    /// Writes the late rows as a table of their own.
    fn write_late(&mut self) -> Result<(), Error> {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by(compare);
        let mut run = self.new_run()?;
        for rows in late.chunks(LATE_ROWS) {
            run.write(&self.columns.batch(rows)?)?;
        }
        self.runs.push(run.into_inner()?);
        Ok(())
    }

    /// Starts a further table.
    fn new_run(&mut self) -> Result<StreamWriter<W>, Error> {
        let out = (self.new_run)().map_err(Error::Write)?;
        Ok(StreamWriter::try_new(out, &self.columns.schema())?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tcpexp_pair::spp::PathDirection;
    use tcpexp_units::{TimeDelta, Timestamp};

    use super::*;
    use crate::dataset::{DatasetTable, Layout, QueueRow, QueueSource, merge_tables};

    const ROWS: i64 = 300_000;

    fn row(at: i64, packets: u64) -> QueueRow {
        QueueRow {
            at: Timestamp::from_nanos(at),
            source: QueueSource::Packets {
                path_direction: PathDirection::Out,
                width: TimeDelta::from_nanos(1),
                packets,
                min: TimeDelta::ZERO,
                mean: TimeDelta::ZERO,
                max: TimeDelta::ZERO,
            },
        }
    }

    /// The bytes of the table, and the number of tables of late rows.
    fn written(rows: impl Iterator<Item = QueueRow>) -> (Vec<u8>, usize) {
        let new_run = Box::new(tempfile::tempfile);
        let out = tempfile::NamedTempFile::new().unwrap();
        let columns = Layout::default().queue();
        let mut table =
            SortedWriter::new(columns, out.reopen().unwrap(), new_run as NewRun<File>).unwrap();
        let rows: Vec<QueueRow> = rows.collect();
        for rows in rows.chunks(100) {
            table.add(rows.to_vec()).unwrap();
        }
        assert_eq!(table.rows(), ROWS.unsigned_abs());
        let (_, late) = table.finish().unwrap();
        let count = late.len();
        if count == 0 {
            return (std::fs::read(out.path()).unwrap(), count);
        }
        let first = out.reopen().unwrap();
        let runs = std::iter::once(first).chain(late).collect();
        let (bytes, rows) = merge_tables(DatasetTable::Queue, runs, Vec::new()).unwrap();
        assert_eq!(rows, ROWS.unsigned_abs());
        (bytes, count)
    }

    #[test]
    fn order_of_arrival_does_not_change_the_bytes() {
        // Three rows of each time, in order of their arrival.
        let in_order = (0..ROWS).map(|n| row(n / 3, n.unsigned_abs() % 3));
        let (expected, late) = written(in_order);
        assert_eq!(late, 0);
        // The earliest rows arrive last.
        let turned = (0..ROWS).map(|n| (n + 30_000) % ROWS);
        let (bytes, late) = written(turned.map(|n| row(n / 3, n.unsigned_abs() % 3)));
        assert!(late > 0);
        assert!(bytes == expected);
        // Multiples of a prime number reach each time once.
        let times = (0..ROWS / 3).map(|n| n * 7_919 % (ROWS / 3));
        let mixed = times.flat_map(|at| (0..3).map(move |packets| row(at, packets)));
        let (bytes, late) = written(mixed);
        assert!(late > 1);
        assert!(bytes == expected);
    }
}
