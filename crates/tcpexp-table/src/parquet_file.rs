//! Writes record batches to Parquet, several columns at the same time.

use std::io::{self, Write};

use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::parallel::each_column;
use crate::schema::SCHEMA_NAME;

/// Writes one table. The number of threads does not change the bytes.
///
/// Memory is bounded by one row group of encoded columns.
pub(crate) struct ParquetFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Writers of the current row group; empty between two groups.
    columns: Vec<ArrowColumnWriter>,
    /// Number of rows in the current row group.
    rows: usize,
    /// Number of rows in a complete row group.
    group_rows: usize,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a table of flat columns, with at most `group_rows` rows in a row group.
    pub(crate) fn new(schema: &SchemaRef, group_rows: usize, out: W) -> Result<Self, ParquetError> {
        let properties = properties(schema, group_rows);
        // It adds Arrow's schema to the properties.
        let writer = ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(Self {
            file,
            factory,
            schema: SchemaRef::clone(schema),
            columns: Vec::new(),
            rows: 0,
            group_rows,
        })
    }

    /// Appends the rows of `batch`, which has the columns of the table.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let mut first = 0;
        while first < batch.num_rows() {
            let rows = (batch.num_rows() - first).min(self.group_rows - self.rows);
            self.append(&batch.slice(first, rows))?;
            first += rows;
            if self.rows == self.group_rows {
                self.end_row_group()?;
            }
        }
        Ok(())
    }

    /// Appends rows that the current row group has room for.
    fn append(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            let number = self.file.flushed_row_groups().len();
            self.columns = self.factory.create_column_writers(number)?;
        }
        let schema = SchemaRef::clone(&self.schema);
        let cells = schema.fields().iter().zip(batch.columns());
        let columns = self.columns.iter_mut().zip(cells).collect();
        let written = each_column(batch.num_rows(), columns, |(column, (field, cells))| {
            // A flat column has one leaf.
            let mut leaves = compute_leaves(field, cells)?.into_iter();
            leaves.try_for_each(|leaf| column.write(&leaf))
        });
        self.rows += batch.num_rows();
        written.into_iter().collect()
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let (rows, columns) = (
            std::mem::take(&mut self.rows),
            std::mem::take(&mut self.columns),
        );
        // The last pages and the dictionaries are compressed here.
        let chunks = each_column(rows, columns, ArrowColumnWriter::close);
        let chunks: Vec<ArrowColumnChunk> = chunks.into_iter().collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes out all complete row groups.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Ends the last row group. Only the footer remains to be written.
    pub(crate) fn end(&mut self) -> Result<(), ParquetError> {
        self.end_row_group()
    }

    /// Writes the footer and returns the output. An I/O error here becomes a text.
    pub(crate) fn into_inner(self) -> Result<W, ParquetError> {
        self.file.into_inner()
    }
}

/// Encodes times, counters and sequence numbers as deltas, which take half the size of a dictionary or less
/// and are faster, and floating-point numbers by the place of their bytes, because a dictionary of
/// different numbers is larger than the numbers; repeating names and flow numbers use dictionaries.
fn properties(schema: &Schema, group_rows: usize) -> WriterProperties {
    let metadata: Vec<KeyValue> = schema
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()))
        .collect();
    let level = ZstdLevel::try_new(1).expect("1 is a zstd level");
    // A query on many runs skips datasets by the smallest and largest value of a parameter. In a
    // single table these values of text skip nothing and take a sixth of the writer's instructions.
    let name = schema.metadata().get(SCHEMA_NAME);
    let is_of_dataset = name.is_some_and(|name| name.starts_with("dataset_"));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(group_rows))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        let encoding = match field.data_type() {
            DataType::Int64 | DataType::UInt64 | DataType::Timestamp(..) => {
                Encoding::DELTA_BINARY_PACKED
            }
            // Most rows have a sequence number of their own. Other numbers of 32 bits repeat.
            DataType::UInt32 if field.name().ends_with("_seq") => Encoding::DELTA_BINARY_PACKED,
            DataType::Float64 => Encoding::BYTE_STREAM_SPLIT,
            DataType::Dictionary(..) if !is_of_dataset => {
                properties =
                    properties.set_column_statistics_enabled(column, EnabledStatistics::None);
                continue;
            }
            _ => continue,
        };
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, encoding);
    }
    properties.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::sender_columns;

    #[test]
    fn sequence_numbers_are_stored_as_deltas_and_flow_numbers_in_a_dictionary() {
        let properties = properties(&sender_columns().schema(), 1_000);
        for name in ["snd_una_seq", "snd_nxt_seq"] {
            let column = ColumnPath::from(name);
            let encoding = properties.encoding(&column);
            assert_eq!(encoding, Some(Encoding::DELTA_BINARY_PACKED), "{name}");
            assert!(!properties.dictionary_enabled(&column), "{name}");
        }
        assert!(properties.dictionary_enabled(&ColumnPath::from("flow_id")));
    }
}
