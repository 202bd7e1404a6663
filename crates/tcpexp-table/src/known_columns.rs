//! Reading of tables with known columns from any of the formats.

use std::fs::File;
use std::io::{BufReader, Seek};
use std::net::SocketAddr;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::csv::ReaderBuilder as CsvReader;
use arrow::csv::reader::Format as CsvFormat;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Int64Type, Schema, TimestampNanosecondType, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;
use arrow::ipc::reader::FileReader;
use arrow::json::ReaderBuilder as JsonReader;
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_units::Timestamp;

use crate::known_types::{self, ROWS_OF_CSV, plain_type};
use crate::schema::{check_schema, with_types};
use crate::table_file::require_line_end;
use crate::{Error, Format};

/// Passes each row of a table to `each`. `known` gives the types of CSV and JSON columns; further
/// columns are ignored.
pub(crate) fn each_row(
    format: Format,
    file: File,
    known: &Schema,
    mut each: impl FnMut(&Cells<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows = 0;
    for batch in batches(format, file, known)? {
        let batch = plain(known, &batch.map_err(Error::unread)?)?;
        for row in 0..batch.num_rows() {
            let number = rows + row;
            each(&Cells {
                batch: &batch,
                row,
                number,
            })?;
        }
        rows += batch.num_rows();
    }
    Ok(())
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

fn batches(format: Format, mut file: File, known: &Schema) -> Result<Batches, Error> {
    let schema = plain_schema(known);
    Ok(match format {
        Format::Parquet => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file);
            let reader = reader.map_err(Error::unread)?;
            check_schema(reader.schema())?;
            let reader = reader.build();
            Box::new(reader.map_err(Error::unread)?)
        }
        Format::Arrow => {
            let reader = FileReader::try_new(file, None).map_err(Error::unread)?;
            check_schema(&reader.schema())?;
            Box::new(reader)
        }
        // CSV and JSON do not state types, and inference would give an empty column another one.
        Format::Csv => {
            require_line_end(&mut file)?;
            let schema = Arc::new(csv_schema(&file, &schema).map_err(Error::unread)?);
            let reader = CsvReader::new(schema).with_header(true).build(file);
            Box::new(reader.map_err(Error::unread)?)
        }
        Format::Json => {
            let reader = JsonReader::new(Arc::new(schema)).build(BufReader::new(file));
            Box::new(reader.map_err(Error::unread)?)
        }
    })
}

fn plain_schema(schema: &Schema) -> Schema {
    with_types(schema, |data_type| Some(plain_type(data_type)))
}

/// The columns of a CSV file: those of `known` with their types, or as floats if whole numbers are written
/// as `4.0`, and any others as text.
fn csv_schema(mut file: &File, known: &Schema) -> Result<Schema, ArrowError> {
    let header = CsvFormat::default().with_header(true);
    let (found, _) = header.infer_schema(&mut file, Some(ROWS_OF_CSV))?;
    file.rewind()?;
    let field = |found: &Arc<Field>| match known.field_with_name(found.name()) {
        Ok(field) if field.data_type().is_integer() && found.data_type().is_floating() => {
            Field::new(found.name(), found.data_type().clone(), true)
        }
        Ok(field) => field.clone(),
        Err(_) => Field::new(found.name(), DataType::Utf8, true),
    };
    let fields: Vec<Field> = found.fields().iter().map(field).collect();
    Ok(Schema::new(fields))
}

/// The batch with the types of `known`, without dictionaries and time zones.
fn plain(known: &Schema, batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let arrays = schema.fields().iter().zip(batch.columns());
    let columns: Result<Vec<_>, _> = arrays
        .map(|(field, array)| known_types::column(known, field.name(), array))
        .collect();
    let columns = columns.map_err(Error::unread)?;
    let fields = schema.fields().iter().zip(&columns);
    let fields: Vec<Field> = fields
        .map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::unread)
}

/// One row of a batch.
pub(crate) struct Cells<'a> {
    batch: &'a RecordBatch,
    row: usize,
    /// Row number in the whole table.
    number: usize,
}

impl<'a> Cells<'a> {
    fn array(&self, column: &'static str) -> Result<&'a dyn Array, Error> {
        let found = self.batch.column_by_name(column);
        let array = found.ok_or(Error::NoColumn { column })?;
        Ok(array.as_ref())
    }

    fn number<T: ArrowPrimitiveType>(
        &self,
        column: &'static str,
    ) -> Result<Option<T::Native>, Error> {
        let array = self.array(column)?.as_primitive_opt::<T>();
        let array = array.ok_or(Error::NoColumn { column })?;
        Ok(array.is_valid(self.row).then(|| array.value(self.row)))
    }

    pub(crate) fn id(&self, column: &'static str) -> Result<Option<u32>, Error> {
        self.number::<UInt32Type>(column)
    }

    pub(crate) fn count(&self, column: &'static str) -> Result<Option<u64>, Error> {
        self.number::<UInt64Type>(column)
    }

    pub(crate) fn signed(&self, column: &'static str) -> Result<Option<i64>, Error> {
        self.number::<Int64Type>(column)
    }

    pub(crate) fn time(&self, column: &'static str) -> Result<Option<Timestamp>, Error> {
        let nanos = self.number::<TimestampNanosecondType>(column)?;
        Ok(nanos.map(Timestamp::from_nanos))
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<Option<&'a str>, Error> {
        let array = self.array(column)?.as_string_opt::<i32>();
        let array = array.ok_or(Error::NoColumn { column })?;
        Ok(array.is_valid(self.row).then(|| array.value(self.row)))
    }

    pub(crate) fn end(&self, column: &'static str) -> Result<Option<SocketAddr>, Error> {
        let text = self.text(column)?;
        text.map(|text| text.parse().map_err(|_| self.wrong(column, text)))
            .transpose()
    }

    /// The value in `all` whose name is in the cell; `None` for null.
    pub(crate) fn may_be<T: Copy>(
        &self,
        column: &'static str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text(column)? else {
            return Ok(None);
        };
        let named = all.iter().copied().find(|one| name(*one) == text);
        named.map(Some).ok_or_else(|| self.wrong(column, text))
    }

    pub(crate) fn must_be<T: Copy>(
        &self,
        column: &'static str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, Error> {
        let found = self.may_be(column, all, name)?;
        found.ok_or_else(|| self.wrong(column, "nothing"))
    }

    pub(crate) fn must<T>(
        &self,
        column: &'static str,
        read: impl Fn(&Self, &'static str) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        read(self, column)?.ok_or_else(|| self.wrong(column, "nothing"))
    }

    fn wrong(&self, column: &'static str, value: &str) -> Error {
        Error::Cell {
            row: self.number,
            column,
            value: value.to_owned(),
        }
    }
}
