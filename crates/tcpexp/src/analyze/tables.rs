//! Writers of the tables of one dataset.

use std::fs::File;
use std::path::PathBuf;

use tcpexp_flow::FlowShard;
use tcpexp_table::dataset::{
    DatasetRow, DatasetTable, EventRow, FlowRow, Layout, LogRow, LossRow, OwdRow, QueueRow,
    ReadingRow, RttRow, SenderStateRow, SortedWriter, TableEntry, TableOutput, ThroughputBinRow,
    merge_tables,
};
use tcpexp_table::{self as table, Background, Columns};

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
    pub(super) readings: Table<ReadingRow>,
}

/// Number of rows that go to the thread of a table together: passing them on takes little time
/// compared to encoding them, and they take little memory.
const ROWS_TOGETHER: usize = 512;

/// Writer of one table. A thread of its own encodes the rows while the next ones are measured.
pub(super) struct Table<R> {
    /// Final path of its file.
    path: PathBuf,
    pending: Vec<R>,
    writer: Background<Vec<R>, SortedWriter<R, TableOutput<File>>>,
    /// True if the rows that belong to no flow are written.
    has_rest: bool,
    /// Number of rows so far, with those of other parts.
    seen: u64,
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
            flows: place.table(layout.flows())?,
            rtt: place.table(layout.rtt())?,
            owd: place.table(layout.owd())?,
            loss: place.table(layout.loss())?,
            throughput: place.table(layout.throughput())?,
            sender: place.table(layout.sender())?,
            events: place.table(layout.events())?,
            queue: place.table(layout.queue())?,
            logs: place.table(layout.logs())?,
            readings: place.table(layout.readings())?,
        })
    }

    /// Completes all tables in `dir`, where they were created.
    pub(super) fn finish(self, dir: &DatasetDir) -> Result<Vec<TableEntry>, Error> {
        Ok(vec![
            self.flows.finish(dir)?,
            self.rtt.finish(dir)?,
            self.owd.finish(dir)?,
            self.loss.finish(dir)?,
            self.throughput.finish(dir)?,
            self.sender.finish(dir)?,
            self.events.finish(dir)?,
            self.queue.finish(dir)?,
            self.logs.finish(dir)?,
            self.readings.finish(dir)?,
        ])
    }
}

/// Where tables are created.
struct Place<'a> {
    dir: &'a DatasetDir,
    has_rest: bool,
}

impl Place<'_> {
    fn table<R: DatasetRow + Send + 'static>(
        &self,
        columns: Columns<R>,
    ) -> Result<Table<R>, Error> {
        let name = file_name(R::TABLE);
        let path = self.dir.path().join(&name);
        let file = TableOutput::new(self.dir.file(&name)?);
        let folder = self.dir.temporary().to_owned();
        let new_run = Box::new(move || tempfile::tempfile_in(&folder).map(TableOutput::new));
        let writer = SortedWriter::new(columns, file, new_run);
        let writer = writer.map_err(|error| unwritten(path.clone(), error))?;
        let writer = Background::new(writer, SortedWriter::add);
        let writer = writer.map_err(|error| unwritten(path.clone(), error))?;
        Ok(Table {
            path,
            pending: Vec::new(),
            writer,
            has_rest: self.has_rest,
            seen: 0,
        })
    }
}

/// Name of a table's file.
pub(crate) fn file_name(table: DatasetTable) -> String {
    format!("{}.parquet", table.name())
}

/// Completes the file of a table and describes it. `path` is its final path.
pub(crate) fn written(
    name: &str,
    rows: u64,
    file: TableOutput<File>,
    path: PathBuf,
) -> Result<TableEntry, Error> {
    match TableEntry::written(name, rows, file) {
        Ok((entry, _)) => Ok(entry),
        Err(source) => Err(Error::Write { path, source }),
    }
}

impl<R: DatasetRow + Send + 'static> Table<R> {
    /// Adds a row, unless another part of the analysis has it. The error may be that of an earlier
    /// row.
    pub(super) fn add(&mut self, row: R) -> Result<(), Error> {
        self.seen += 1;
        let flow = row.flow();
        if !flow.map_or(self.has_rest, |flow| flow.is_own) {
            return Ok(());
        }
        if self.pending.capacity() == 0 {
            self.pending.reserve_exact(ROWS_TOGETHER);
        }
        self.pending.push(row);
        if self.pending.len() < ROWS_TOGETHER {
            return Ok(());
        }
        self.pass_on()
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        let sent = self.writer.send(std::mem::take(&mut self.pending));
        sent.map_err(|error| unwritten(self.path.clone(), error))
    }

    /// Number of rows so far, with those of other parts of the analysis.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    fn finish(mut self, dir: &DatasetDir) -> Result<TableEntry, Error> {
        self.pass_on()?;
        let Self { path, writer, .. } = self;
        let unmerged = |error| unwritten(path.clone(), error);
        let rows = writer.finish().map_err(unmerged)?;
        let count = rows.rows();
        let (file, late) = rows.finish().map_err(unmerged)?;
        if late.is_empty() {
            return written(R::TABLE.name(), count, file, path);
        }
        let name = file_name(R::TABLE);
        let late = late.into_iter().map(TableOutput::into_inner);
        let late = late.collect::<Result<Vec<File>, _>>();
        let late = late.map_err(|error| unmerged(table::Error::Write(error)))?;
        let runs = [dir.take(&name)?].into_iter().chain(late).collect();
        let out = TableOutput::new(dir.file(&name)?);
        let (file, count) = merge_tables(R::TABLE, runs, out).map_err(unmerged)?;
        written(R::TABLE.name(), count, file, path)
    }
}

/// Returns the I/O error itself if the table's error only wraps it.
pub(crate) fn unwritten(path: PathBuf, error: table::Error) -> Error {
    match error {
        table::Error::Write(source) => Error::Write { path, source },
        source => Error::Encode { path, source },
    }
}
