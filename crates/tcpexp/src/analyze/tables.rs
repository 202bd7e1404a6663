//! Writers of the tables of one dataset.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use tcpexp_table::dataset::{
    DatasetTable, EventRow, FlowRow, Layout, LogRow, LossRow, OwdRow, QueueRow, RttRow,
    SenderStateRow, SortedWriter, ThroughputBinRow,
};
use tcpexp_table::{self as table, Columns};
use tcpexp_units::Timestamp;

use super::dataset_dir::DatasetDir;
use crate::Error;

/// All tables of a dataset.
pub(super) struct Tables {
    pub(super) flows: Table<FlowRow>,
    pub(super) rtt: Table<RttRow>,
    pub(super) owd: Table<OwdRow>,
    pub(super) loss: Table<LossRow>,
    pub(super) throughput: Table<ThroughputBinRow>,
    pub(super) sender: Table<SenderStateRow>,
    pub(super) events: Table<EventRow>,
    pub(super) queue: Table<QueueRow>,
    pub(super) logs: Table<LogRow>,
}

/// Writer of one table.
pub(super) struct Table<R> {
    which: DatasetTable,
    /// Final path of its file.
    path: PathBuf,
    rows: SortedWriter<R, BufWriter<File>>,
}

/// A complete table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTable {
    /// The table.
    pub table: DatasetTable,
    /// Number of rows.
    pub rows: u64,
    /// Length of its file in bytes.
    pub bytes: u64,
}

impl Tables {
    /// Creates all tables. A table without rows still has its columns.
    pub(super) fn create(dir: &DatasetDir, layout: &Layout) -> Result<Self, Error> {
        Ok(Self {
            flows: Table::new(dir, DatasetTable::Flows, layout.flows(), |row| row.at)?,
            rtt: Table::new(dir, DatasetTable::Rtt, layout.rtt(), |row| row.at)?,
            owd: Table::new(dir, DatasetTable::Owd, layout.owd(), |row| row.at)?,
            loss: Table::new(dir, DatasetTable::Loss, layout.loss(), |row| row.at)?,
            throughput: Table::new(dir, DatasetTable::Throughput, layout.throughput(), |row| {
                row.at
            })?,
            sender: Table::new(dir, DatasetTable::Sender, layout.sender(), |row| {
                row.sample.at
            })?,
            events: Table::new(dir, DatasetTable::Events, layout.events(), EventRow::at)?,
            queue: Table::new(dir, DatasetTable::Queue, layout.queue(), |row| row.at)?,
            logs: Table::new(dir, DatasetTable::Logs, layout.logs(), LogRow::at)?,
        })
    }

    /// Completes all tables.
    pub(super) fn finish(self) -> Result<Vec<WrittenTable>, Error> {
        Ok(vec![
            self.flows.finish()?,
            self.rtt.finish()?,
            self.owd.finish()?,
            self.loss.finish()?,
            self.throughput.finish()?,
            self.sender.finish()?,
            self.events.finish()?,
            self.queue.finish()?,
            self.logs.finish()?,
        ])
    }
}

impl<R> Table<R> {
    fn new(
        dir: &DatasetDir,
        which: DatasetTable,
        columns: Columns<R>,
        at: fn(&R) -> Timestamp,
    ) -> Result<Self, Error> {
        let name = format!("{}.parquet", which.name());
        let path = dir.path().join(&name);
        let file = BufWriter::with_capacity(1 << 16, dir.file(&name)?);
        let rows = SortedWriter::new(columns, at, file);
        Ok(Self {
            which,
            rows: rows.map_err(|error| unwritten(path.clone(), error))?,
            path,
        })
    }

    /// Adds a row.
    pub(super) fn add(&mut self, row: R) -> Result<(), Error> {
        let added = self.rows.add(row);
        added.map_err(|error| unwritten(self.path.clone(), error))
    }

    /// Ends a part: the rows that follow are sorted separately.
    pub(super) fn end_part(&mut self) -> Result<(), Error> {
        let ended = self.rows.end_part();
        ended.map_err(|error| unwritten(self.path.clone(), error))
    }

    /// Number of rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows.rows()
    }

    fn finish(self) -> Result<WrittenTable, Error> {
        let Self { which, path, rows } = self;
        let count = rows.rows();
        let file = rows
            .finish()
            .map_err(|error| unwritten(path.clone(), error))?;
        // Dropping the buffered writer would hide an error of its last write.
        let length = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|mut file| {
                file.flush()?;
                file.metadata()
            });
        match length {
            Ok(metadata) => Ok(WrittenTable {
                table: which,
                rows: count,
                bytes: metadata.len(),
            }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}

/// Returns the I/O error itself if the table's error only wraps it.
fn unwritten(path: PathBuf, error: table::Error) -> Error {
    match error {
        table::Error::Write(source) => Error::Write { path, source },
        source => Error::Encode { path, source },
    }
}
