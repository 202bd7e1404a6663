//! One table from the parts of a divided analysis, or from sorted runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Seek, Write};

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{cast, interleave_record_batch};
use arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt32Type};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_pair::spp::Point;

use super::DatasetTable;
use super::order::{NO_FLOW, RowKey, section};
use crate::Error;
use crate::schema::check_schema;
use crate::writer::{BATCH_ROWS, Format, TableWriter};

/// Rows read from a part at once. A small number bounds the memory of many parts.
const READ_ROWS: usize = 8_192;

/// Writes the rows of a table's parts to one Parquet table, in the order of the undivided table,
/// and returns the output and the number of rows.
///
/// `parts` are tables with the same columns, each in this order. If rows have equal positions, those
/// of the earlier part come first. The bytes are those of the undivided table. Memory grows with the
/// number of parts, but not with their length.
pub fn merge_tables<W: Write + Send>(
    table: DatasetTable,
    parts: Vec<File>,
    out: W,
) -> Result<(W, u64), Error> {
    let mut merged = MergedTable::new(table, parts.first(), out)?;
    merged.append(parts)?;
    merged.finish()
}

/// A table of one run after the other, each merged from parts.
pub struct MergedTable<W: Write + Send> {
    table: DatasetTable,
    schema: SchemaRef,
    out: TableWriter<W>,
    rows: u64,
}

impl<W: Write + Send> MergedTable<W> {
    /// Starts a table in `out`, with the columns of `first`; without a part, those of a run without
    /// parameters.
    pub fn new(table: DatasetTable, first: Option<&File>, out: W) -> Result<Self, Error> {
        let schema = match first {
            Some(file) => Part::open(table, file.try_clone().map_err(Error::unread)?)?.schema,
            None => table.schema(),
        };
        Ok(Self {
            table,
            out: TableWriter::new(Format::Parquet, &schema, out)?,
            schema,
            rows: 0,
        })
    }

    /// Adds the rows of the parts of a run, as [`merge_tables`].
    pub fn append(&mut self, parts: Vec<File>) -> Result<(), Error> {
        let mut parts: Vec<Part> = parts
            .into_iter()
            .map(|file| Part::open(self.table, file))
            .collect::<Result<_, Error>>()?;
        if parts.iter().any(|part| part.schema != self.schema) {
            return Err(Error::OtherColumns {
                table: self.table.name(),
            });
        }
        let mut merged = Merged {
            out: &mut self.out,
            batches: Vec::new(),
            rows: Vec::new(),
            written: 0,
        };
        let mut heads = BinaryHeap::new();
        for (number, part) in parts.iter_mut().enumerate() {
            if let Some(key) = part.next(&mut merged.batches)? {
                heads.push(Reverse((key, number)));
            }
        }
        while let Some(Reverse((_, number))) = heads.pop() {
            if merged.rows.len() == BATCH_ROWS {
                merged.flush(&mut parts)?;
            }
            let part = &mut parts[number];
            merged.rows.push((part.place, part.row));
            part.row += 1;
            if let Some(key) = part.next(&mut merged.batches)? {
                heads.push(Reverse((key, number)));
            }
        }
        merged.flush(&mut parts)?;
        let written = merged.written;
        self.rows += written;
        Ok(())
    }

    /// Completes the table and returns its output and the number of rows.
    pub fn finish(self) -> Result<(W, u64), Error> {
        Ok((self.out.finish()?, self.rows))
    }
}

/// The keys of the rows of one batch.
#[derive(Default)]
struct Keys {
    /// `None` if the table is not divided into sections.
    sections: Option<Vec<u8>>,
    times: Vec<i64>,
    /// `None` if the table has no flows.
    flows: Option<Vec<u32>>,
}

impl Keys {
    fn key(&self, row: usize) -> RowKey {
        RowKey {
            section: self.sections.as_ref().map_or(0, |sections| sections[row]),
            time: self.times[row],
            flow: self.flows.as_ref().map_or(NO_FLOW, |flows| flows[row]),
        }
    }

    fn of(table: DatasetTable, batch: &RecordBatch) -> Result<Self, Error> {
        let column = |name: &str, to: &DataType| {
            let array = batch.column_by_name(name);
            array.map(|array| cast(array, to)).transpose()
        };
        let times = column("time", &DataType::Int64).map_err(Error::unread)?;
        let times = times.ok_or(Error::NoTime {
            table: table.name(),
        })?;
        let flows = column("flow_id", &DataType::UInt32).map_err(Error::unread)?;
        let flow = |flow: Option<u32>| flow.unwrap_or(NO_FLOW);
        let sections = if table.is_by_capture() {
            column("capture", &DataType::Utf8).map_err(Error::unread)?
        } else {
            None
        };
        let point = |name: &str| Point::BOTH.into_iter().find(|point| point.name() == name);
        let section = |capture: Option<&str>| section(capture.and_then(point));
        Ok(Self {
            sections: sections.map(|names| names.as_string::<i32>().iter().map(section).collect()),
            times: times.as_primitive::<Int64Type>().values().to_vec(),
            flows: flows.map(|flows| {
                let flows = flows.as_primitive::<UInt32Type>().iter();
                flows.map(flow).collect()
            }),
        })
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// A part that is being read.
struct Part {
    table: DatasetTable,
    schema: SchemaRef,
    reader: Batches,
    batch: RecordBatch,
    /// Index of `batch` among the batches in use.
    place: usize,
    keys: Keys,
    /// The next row of `batch`.
    row: usize,
}

impl Part {
    /// Opens a table in Parquet, or in the stream format of a [`SortedWriter`](super::SortedWriter).
    fn open(table: DatasetTable, mut file: File) -> Result<Self, Error> {
        let mut magic = [0; 4];
        file.rewind().map_err(Error::unread)?;
        file.read_exact(&mut magic).map_err(Error::unread)?;
        file.rewind().map_err(Error::unread)?;
        let (schema, reader): (SchemaRef, Batches) = if &magic == b"PAR1" {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::unread)?;
            let schema = SchemaRef::clone(builder.schema());
            let reader = builder.with_batch_size(READ_ROWS).build();
            (schema, Box::new(reader.map_err(Error::unread)?))
        } else {
            let reader = StreamReader::try_new_buffered(file, None).map_err(Error::unread)?;
            (reader.schema(), Box::new(reader))
        };
        check_schema(&schema)?;
        Ok(Self {
            table,
            batch: RecordBatch::new_empty(SchemaRef::clone(&schema)),
            schema,
            reader,
            place: 0,
            keys: Keys::default(),
            row: 0,
        })
    }

    /// The key of the next row; `None` after the last. Adds a batch that is read to `batches`.
    fn next(&mut self, batches: &mut Vec<RecordBatch>) -> Result<Option<RowKey>, Error> {
        while self.row == self.batch.num_rows() {
            let Some(batch) = self.reader.next() else {
                return Ok(None);
            };
            self.batch = batch.map_err(Error::unread)?;
            self.keys = Keys::of(self.table, &self.batch)?;
            self.row = 0;
            self.place = batches.len();
            batches.push(self.batch.clone());
        }
        Ok(Some(self.keys.key(self.row)))
    }
}

/// The table that is being written.
struct Merged<'a, W: Write + Send> {
    out: &'a mut TableWriter<W>,
    batches: Vec<RecordBatch>,
    /// The next rows: index of the batch, and row of it.
    rows: Vec<(usize, usize)>,
    written: u64,
}

impl<W: Write + Send> Merged<'_, W> {
    /// Writes the collected rows, and forgets the batches that have been read to their ends.
    fn flush(&mut self, parts: &mut [Part]) -> Result<(), Error> {
        if !self.rows.is_empty() {
            let batches: Vec<&RecordBatch> = self.batches.iter().collect();
            let unmerged = |source: ArrowError| Error::Encode(source);
            let batch = interleave_record_batch(&batches, &self.rows).map_err(unmerged)?;
            self.written += self.rows.len() as u64;
            self.rows.clear();
            self.out.write(&batch)?;
        }
        self.batches.clear();
        for part in parts {
            part.place = self.batches.len();
            self.batches.push(part.batch.clone());
        }
        Ok(())
    }
}
