//! Writes record batches in any format.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder, TimestampNanosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::json;
use arrow::record_batch::RecordBatch;
use tcpexp_units::Timestamp;

use crate::Error;
use crate::csv_rows;
use crate::parquet_file::ParquetFile;
use crate::schema::with_types;
use crate::validity::with_needed_nulls;

/// Rows per record batch. Batch borders affect the bytes of Arrow and Parquet files, so callers
/// that need the same bytes for the same rows split the rows at this size.
pub const BATCH_ROWS: usize = 1 << 16;

/// Rows per Parquet row group: large enough to compress well and to read at full speed, small
/// enough to hold in memory and to let a reader of a few seconds skip most of the file.
const ROW_GROUP_ROWS: usize = 2 * BATCH_ROWS;

/// File format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line; null is an empty field.
    Csv,
    /// One JSON object per line, nulls written out.
    Json,
    /// Apache Parquet, compressed with zstd; the footer includes the schema's metadata.
    Parquet,
    /// Arrow IPC file (Feather version 2).
    Arrow,
}

impl Format {
    /// All formats, in the order of the help texts.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Json, Self::Parquet, Self::Arrow];

    /// The name on the command line, which is also the usual file name extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Writes record batches of one schema to one output.
///
/// Memory is bounded by one batch, or by one row group of encoded columns for Parquet. Without
/// [`finish`](Self::finish) an Arrow or Parquet file lacks its footer and is unreadable.
pub struct TableWriter<W: Write + Send> {
    sink: Sink<W>,
}

/// Takes the record batches of a table. An error ends the writing.
pub type BatchSink = Box<dyn FnMut(RecordBatch) -> io::Result<()> + Send>;

enum Sink<W: Write + Send> {
    Text {
        format: TextFormat,
        buffer: Vec<u8>,
        out: W,
    },
    Parquet(Box<ParquetFile<W>>),
    Arrow(Box<FileWriter<W>>),
    ArrowStream(Box<StreamWriter<W>>),
    Batches {
        each: BatchSink,
        out: W,
    },
}

#[derive(Clone, Copy)]
enum TextFormat {
    Csv,
    Json,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table of `schema` in `out`. Writes are large; `out` needs no buffer.
    pub fn new(format: Format, schema: &SchemaRef, out: W) -> Result<Self, Error> {
        let sink = match format {
            Format::Csv => {
                let mut out = out;
                out.write_all(csv_header(schema).as_bytes())
                    .map_err(Error::Write)?;
                Sink::text(TextFormat::Csv, out)
            }
            Format::Json => Sink::text(TextFormat::Json, out),
            Format::Parquet => {
                Sink::Parquet(Box::new(ParquetFile::new(schema, ROW_GROUP_ROWS, out)?))
            }
            Format::Arrow => Sink::Arrow(Box::new(FileWriter::try_new(out, &plain_text(schema))?)),
        };
        Ok(Self { sink })
    }

    /// Starts a stream of Arrow IPC in `out`, which a reader can follow.
    pub fn arrow_stream(schema: &SchemaRef, out: W) -> Result<Self, Error> {
        let writer = StreamWriter::try_new(out, &plain_text(schema))?;
        let sink = Sink::ArrowStream(Box::new(writer));
        Ok(Self { sink })
    }

    /// Hands the batches to `each` as they are, and writes nothing to `out`.
    pub fn handing(each: BatchSink, out: W) -> Self {
        let sink = Sink::Batches { each, out };
        Self { sink }
    }

    /// Appends the rows of `batch`.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Text {
                format,
                buffer,
                out,
            } => {
                buffer.clear();
                format.encode(batch, buffer)?;
                out.write_all(buffer).map_err(Error::Write)
            }
            Sink::Parquet(file) => Ok(file.write(&with_needed_nulls(batch)?)?),
            Sink::Arrow(writer) => Ok(writer.write(&with_plain_text(batch)?)?),
            Sink::ArrowStream(writer) => Ok(writer.write(&with_plain_text(batch)?)?),
            Sink::Batches { each, .. } => each(batch.clone()).map_err(Error::Write),
        }
    }

    /// Flushes the output. A Parquet file keeps the rows of an unfinished row group in memory.
    pub fn flush(&mut self) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Text { out, .. } | Sink::Batches { out, .. } => out.flush().map_err(Error::Write),
            Sink::Parquet(file) => file.flush().map_err(Error::Write),
            Sink::Arrow(writer) => Ok(writer.flush()?),
            Sink::ArrowStream(writer) => Ok(writer.flush()?),
        }
    }

    /// Completes the table, flushes it and returns the output.
    pub fn finish(self) -> Result<W, Error> {
        let mut out = match self.sink {
            Sink::Text { out, .. } | Sink::Batches { out, .. } => out,
            Sink::Parquet(mut file) => {
                // `into_inner` converts an I/O error of the output to text, so only the footer may
                // remain to be written by it.
                file.end()?;
                file.flush().map_err(Error::Write)?;
                file.into_inner()?
            }
            Sink::Arrow(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
            Sink::ArrowStream(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
        };
        out.flush().map_err(Error::Write)?;
        Ok(out)
    }
}

impl<W: Write + Send> Sink<W> {
    const fn text(format: TextFormat, out: W) -> Self {
        Self::Text {
            format,
            buffer: Vec::new(),
            out,
        }
    }
}

impl TextFormat {
    /// Encodes into memory first: the encoders convert an I/O error of the output to text, and a
    /// caller could not distinguish a closed pipe from a full disk.
    fn encode(self, batch: &RecordBatch, into: &mut Vec<u8>) -> Result<(), Error> {
        let batch = &with_written_times(batch)?;
        match self {
            Self::Csv => {
                csv_rows::encode(batch, into)?;
            }
            Self::Json => {
                let lines = json::WriterBuilder::new().with_explicit_nulls(true);
                lines
                    .build::<_, json::writer::LineDelimited>(into)
                    .write(batch)?;
            }
        }
        Ok(())
    }
}

/// The schema of an Arrow file, whose text is not in dictionaries: a file has one dictionary for each
/// column, which would have to wait for the last row. Polars 2 does not read dictionaries in parts.
pub(crate) fn plain_text(schema: &Schema) -> Schema {
    with_types(schema, |data_type| {
        matches!(data_type, DataType::Dictionary(..)).then_some(DataType::Utf8)
    })
}

pub(crate) fn with_plain_text(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = plain_text(&batch.schema());
    let columns = batch.columns().iter().zip(schema.fields());
    let columns: Result<_, _> = columns
        .map(|(column, field)| match field.data_type() {
            data_type if data_type == column.data_type() => Ok(Arc::clone(column)),
            data_type => cast(column, data_type),
        })
        .collect();
    RecordBatch::try_new(Arc::new(schema), columns?)
}

/// Writes out the times of a batch as RFC 3339 has them, with nine decimals in each row. Arrow would
/// omit zeros, and has no time zones by name.
fn with_written_times(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let is_time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(..));
    let schema = with_types(&batch.schema(), |data_type| {
        is_time(data_type).then_some(DataType::Utf8)
    });
    let columns = batch.columns().iter().map(|column| {
        if is_time(column.data_type()) {
            written_times(column.as_primitive())
        } else {
            Arc::clone(column)
        }
    });
    RecordBatch::try_new(Arc::new(schema), columns.collect())
}

fn written_times(times: &TimestampNanosecondArray) -> ArrayRef {
    let mut text = String::new();
    let mut written = StringBuilder::new();
    for time in times {
        text.clear();
        if let Some(nanos) = time {
            Timestamp::from_nanos(nanos).push_rfc3339(&mut text);
        }
        written.append_option(time.map(|_| &text));
    }
    Arc::new(written.finish())
}

/// The header is written separately so that a table without rows has one. Column names need no
/// quotes.
fn csv_header(schema: &Schema) -> String {
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    names.join(",") + "\n"
}
