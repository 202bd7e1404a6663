//! A table with other columns for its run.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::Error;
use crate::run_columns::RunColumns;
use crate::schema::check_schema;
use crate::writer::{BATCH_ROWS, Format, TableWriter};

/// Writes the rows of a Parquet table to `out`, and returns `out` and the number of rows.
///
/// The columns `replaced` go, and those of `run` come first.
pub fn with_run_columns<W: Write + Send>(
    file: File,
    replaced: impl Fn(&str) -> bool,
    run: &RunColumns,
    out: W,
) -> Result<(W, u64), Error> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::unread)?;
    let schema = SchemaRef::clone(builder.schema());
    check_schema(&schema)?;
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|place| !replaced(schema.field(*place).name()))
        .collect();
    let measured = kept.iter().map(|place| schema.field(*place).clone());
    let fields: Vec<_> = run.fields().into_iter().chain(measured).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let mut table = TableWriter::new(Format::Parquet, &schema, out)?;
    let mut rows = 0;
    let reader = builder.with_batch_size(BATCH_ROWS).build();
    for batch in reader.map_err(Error::unread)? {
        let batch = batch.map_err(Error::unread)?;
        let measured = kept
            .iter()
            .map(|place| ArrayRef::clone(batch.column(*place)));
        let columns = run.arrays(batch.num_rows()).into_iter().chain(measured);
        rows += batch.num_rows() as u64;
        let batch = RecordBatch::try_new(SchemaRef::clone(&schema), columns.collect());
        table.write(&batch.map_err(Error::Encode)?)?;
    }
    Ok((table.finish()?, rows))
}
