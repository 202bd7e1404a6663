//! Writers of the tables of one dataset.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use tcpexp_flow::FlowShard;
use tcpexp_table::dataset::{
    DatasetFlow, DatasetTable, EventRow, FlowRow, Layout, LogRow, LossRow, OwdRow, QueueRow,
    RttRow, SenderStateRow, SortedWriter, ThroughputBinRow,
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
    flow: fn(&R) -> Option<&DatasetFlow>,
    /// True if the rows that belong to no flow are written.
    has_rest: bool,
    /// Number of rows so far, with those of other parts.
    seen: u64,
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
    /// Creates all tables, for the rows of one part of the flows if `shard` is set. A table without
    /// rows still has its columns.
    pub(super) fn create(
        dir: &DatasetDir,
        layout: &Layout,
        shard: Option<FlowShard>,
    ) -> Result<Self, Error> {
        let place = Place {
            dir,
            has_rest: shard.is_none_or(FlowShard::is_first),
        };
        Ok(Self {
            flows: place.table(
                DatasetTable::Flows,
                layout.flows(),
                |row| row.at,
                |row| Some(&row.flow),
            )?,
            rtt: place.table(
                DatasetTable::Rtt,
                layout.rtt(),
                |row| row.at,
                |row| Some(&row.flow),
            )?,
            owd: place.table(
                DatasetTable::Owd,
                layout.owd(),
                |row| row.at,
                |row| Some(&row.flow),
            )?,
            loss: place.table(
                DatasetTable::Loss,
                layout.loss(),
                |row| row.at,
                |row| Some(&row.flow),
            )?,
            throughput: place.table(
                DatasetTable::Throughput,
                layout.throughput(),
                |row| row.at,
                |row| row.flow.as_deref(),
            )?,
            sender: place.table(
                DatasetTable::Sender,
                layout.sender(),
                |row| row.sample.at,
                |row| Some(&row.flow),
            )?,
            events: place.table(DatasetTable::Events, layout.events(), EventRow::at, |row| {
                row.flow.as_deref()
            })?,
            queue: place.table(DatasetTable::Queue, layout.queue(), |row| row.at, |_| None)?,
            logs: place.table(DatasetTable::Logs, layout.logs(), LogRow::at, |row| {
                row.flow.as_deref()
            })?,
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

/// Where tables are created.
struct Place<'a> {
    dir: &'a DatasetDir,
    has_rest: bool,
}

impl Place<'_> {
    fn table<R>(
        &self,
        which: DatasetTable,
        columns: Columns<R>,
        at: fn(&R) -> Timestamp,
        flow: fn(&R) -> Option<&DatasetFlow>,
    ) -> Result<Table<R>, Error> {
        let name = format!("{}.parquet", which.name());
        let path = self.dir.path().join(&name);
        let file = BufWriter::with_capacity(1 << 16, self.dir.file(&name)?);
        let rows = SortedWriter::new(columns, at, file);
        Ok(Table {
            which,
            rows: rows.map_err(|error| unwritten(path.clone(), error))?,
            path,
            flow,
            has_rest: self.has_rest,
            seen: 0,
        })
    }
}

impl<R> Table<R> {
    /// Adds a row, unless another part of the analysis has it.
    pub(super) fn add(&mut self, row: R) -> Result<(), Error> {
        self.seen += 1;
        let flow = (self.flow)(&row);
        if !flow.map_or(self.has_rest, |flow| flow.is_own) {
            return Ok(());
        }
        let added = self.rows.add(row);
        added.map_err(|error| unwritten(self.path.clone(), error))
    }

    /// Ends a part: the rows that follow are sorted separately.
    pub(super) fn end_part(&mut self) -> Result<(), Error> {
        let ended = self.rows.end_part();
        ended.map_err(|error| unwritten(self.path.clone(), error))
    }

    /// Number of rows so far, with those of other parts of the analysis.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    fn finish(self) -> Result<WrittenTable, Error> {
        let Self {
            which, path, rows, ..
        } = self;
        let count = rows.rows();
        let file = rows
            .finish()
            .map_err(|error| unwritten(path.clone(), error))?;
        WrittenTable::of(which, count, file, path)
    }
}

impl WrittenTable {
    /// Writes what is left in `file`. `path` is its final path.
    pub(super) fn of(
        table: DatasetTable,
        rows: u64,
        file: BufWriter<File>,
        path: PathBuf,
    ) -> Result<Self, Error> {
        // Dropping the buffered writer would hide an error of its last write.
        let length = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|mut file| {
                file.flush()?;
                file.metadata()
            });
        match length {
            Ok(metadata) => Ok(Self {
                table,
                rows,
                bytes: metadata.len(),
            }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }
}

/// Returns the I/O error itself if the table's error only wraps it.
pub(super) fn unwritten(path: PathBuf, error: table::Error) -> Error {
    match error {
        table::Error::Write(source) => Error::Write { path, source },
        source => Error::Encode { path, source },
    }
}
