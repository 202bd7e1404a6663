//! One table from the parts of a divided analysis.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{cast, interleave_record_batch};
use arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt32Type};
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::DatasetTable;
use crate::Error;
use crate::schema::check_version;
use crate::writer::{BATCH_ROWS, Format, TableWriter};

/// Rows read from a part at once. A small number bounds the memory of many parts.
const READ_ROWS: usize = 8_192;

/// Writes the rows of a table's parts to one Parquet table, in the order of the undivided table,
/// and returns the output and the number of rows.
///
/// Rows of equal time are in order of their flows' numbers. The rows of one flow keep their order.
/// `parts` are Parquet tables with the same columns. Memory grows with the number of parts, but not
/// with their length.
pub fn merge_tables<W: Write + Send>(
    table: DatasetTable,
    parts: Vec<File>,
    out: W,
) -> Result<(W, u64), Error> {
    let mut parts: Vec<Part> = parts
        .into_iter()
        .map(|file| Part::open(table, file))
        .collect::<Result<_, Error>>()?;
    let schema = match parts.first() {
        Some(first) => first.schema.clone(),
        None => table.schema(),
    };
    if parts.iter().any(|part| part.schema != schema) {
        return Err(Error::OtherColumns {
            table: table.name(),
        });
    }
    let mut merged = Merged {
        out: TableWriter::new(Format::Parquet, &schema, out)?,
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
    let mut section = None;
    while let Some(Reverse((key, number))) = heads.pop() {
        // The undivided table begins a new batch where a new section begins.
        let is_new = section.replace(key.section) != Some(key.section);
        if is_new || merged.rows.len() == BATCH_ROWS {
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
    let Merged { out, written, .. } = merged;
    Ok((out.finish()?, written))
}

/// Position of a row in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The rows of the source's capture come first, then those of the destination's, then those of
    /// neither.
    section: u8,
    time: i64,
    /// A total over all flows comes after the flows.
    flow: u32,
}

impl Key {
    fn of(keys: &Keys, row: usize) -> Self {
        Self {
            section: keys.sections.as_ref().map_or(0, |sections| sections[row]),
            time: keys.times[row],
            flow: keys.flows.as_ref().map_or(u32::MAX, |flows| flows[row]),
        }
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
    fn of(table: DatasetTable, batch: &RecordBatch) -> Result<Self, Error> {
        let column = |name: &str, to: &DataType| {
            let array = batch.column_by_name(name);
            array.map(|array| cast(array, to)).transpose()
        };
        let times = column("time", &DataType::Int64).map_err(Error::Read)?;
        let times = times.ok_or(Error::NoTime {
            table: table.name(),
        })?;
        let flows = column("flow_id", &DataType::UInt32).map_err(Error::Read)?;
        let flow = |flow: Option<u32>| flow.unwrap_or(u32::MAX);
        let sections = if table.is_by_capture() {
            column("capture", &DataType::Utf8).map_err(Error::Read)?
        } else {
            None
        };
        let section = |capture: Option<&str>| match capture {
            Some("src") => 0,
            Some(_) => 1,
            None => 2,
        };
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

/// A part that is being read.
struct Part {
    table: DatasetTable,
    schema: SchemaRef,
    reader: ParquetRecordBatchReader,
    batch: RecordBatch,
    /// Index of `batch` among the batches in use.
    place: usize,
    keys: Keys,
    /// The next row of `batch`.
    row: usize,
}

impl Part {
    fn open(table: DatasetTable, file: File) -> Result<Self, Error> {
        let unread = |source: parquet::errors::ParquetError| Error::Read(source.into());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(unread)?;
        let schema = SchemaRef::clone(builder.schema());
        check_version(&schema)?;
        let reader = builder.with_batch_size(READ_ROWS).build().map_err(unread)?;
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
    fn next(&mut self, batches: &mut Vec<RecordBatch>) -> Result<Option<Key>, Error> {
        while self.row == self.batch.num_rows() {
            let Some(batch) = self.reader.next() else {
                return Ok(None);
            };
            self.batch = batch.map_err(Error::Read)?;
            self.keys = Keys::of(self.table, &self.batch)?;
            self.row = 0;
            self.place = batches.len();
            batches.push(self.batch.clone());
        }
        Ok(Some(Key::of(&self.keys, self.row)))
    }
}

/// The table that is being written.
struct Merged<W: Write + Send> {
    out: TableWriter<W>,
    batches: Vec<RecordBatch>,
    /// The next rows: index of the batch, and row of it.
    rows: Vec<(usize, usize)>,
    written: u64,
}

impl<W: Write + Send> Merged<W> {
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
