//! Writes record batches in any format.

use std::fmt;
use std::io::Write;

use arrow::csv;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::ipc::writer::FileWriter;
use arrow::json;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::Error;

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

enum Sink<W: Write + Send> {
    Text {
        format: TextFormat,
        buffer: Vec<u8>,
        out: W,
    },
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<FileWriter<W>>),
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
                let properties = parquet_properties(schema);
                let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
                Sink::Parquet(Box::new(writer))
            }
            Format::Arrow => Sink::Arrow(Box::new(FileWriter::try_new(out, schema)?)),
        };
        Ok(Self { sink })
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
            Sink::Parquet(writer) => Ok(writer.write(batch)?),
            Sink::Arrow(writer) => Ok(writer.write(batch)?),
        }
    }

    /// Completes the table, flushes it and returns the output.
    pub fn finish(self) -> Result<W, Error> {
        let mut out = match self.sink {
            Sink::Text { out, .. } => out,
            Sink::Parquet(mut writer) => {
                // `into_inner` converts an I/O error of the output to text, so only the footer may
                // remain to be written by it.
                writer.flush()?;
                writer.sync().map_err(Error::Write)?;
                writer.into_inner()?
            }
            Sink::Arrow(mut writer) => {
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
    /// Encodes into memory first: arrow's CSV writer converts an I/O error of the output to text,
    /// and a caller could not distinguish a closed pipe from a full disk.
    fn encode(self, batch: &RecordBatch, into: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Csv => {
                csv::WriterBuilder::new()
                    .with_header(false)
                    .build(into)
                    .write(batch)?;
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

/// Encodes times and counters as deltas, which take half the size of a dictionary and are faster;
/// repeating names and flow numbers use dictionaries.
fn parquet_properties(schema: &Schema) -> WriterProperties {
    let metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()))
        .collect();
    let level = ZstdLevel::try_new(1).expect("1 is a zstd level");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields() {
        if matches!(field.data_type(), DataType::Int64 | DataType::UInt64) {
            let column = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}
