//! The columns of a table, each defined once: name, meaning, and value of a row.

mod builder;

pub(crate) use builder::Builder;

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::Error;
use crate::parallel::each_column;
use crate::run_columns::RunColumns;
use crate::writer::BATCH_ROWS;

/// The columns of a table with rows of type `R`.
///
/// The description of a nullable column states the meaning of null.
pub struct Columns<R> {
    schema: SchemaRef,
    arrays: Vec<Make<R>>,
}

type Make<R> = Box<dyn Fn(&[&R]) -> ArrayRef + Send + Sync>;

impl<R> Columns<R> {
    /// Starts a table with this name.
    pub(crate) fn named(name: &'static str) -> Builder<R> {
        Builder::new(name)
    }

    /// Schema with the columns' names, types and definitions.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Puts the columns of the run before these columns.
    #[must_use]
    pub fn of_run(self, run: &RunColumns) -> Self
    where
        R: 'static,
    {
        let mut fields = run.fields();
        fields.extend(
            self.schema
                .fields()
                .iter()
                .map(|field| field.as_ref().clone()),
        );
        let metadata = self.schema.metadata().clone();
        // A column of the run has one value, so its array is built once and sliced for each batch.
        let constant = run
            .arrays(BATCH_ROWS)
            .into_iter()
            .map(|array| -> Make<R> { Box::new(move |rows| repeated(&array, rows.len())) });
        Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            arrays: constant.chain(self.arrays).collect(),
        }
    }

    /// Keeps the columns whose names are `wanted`; the others are not computed.
    #[must_use]
    pub fn only(self, wanted: impl Fn(&str) -> bool) -> Self {
        let (metadata, fields) = (self.schema.metadata().clone(), self.schema.fields().iter());
        let all = fields.map(Arc::clone).zip(self.arrays);
        let (fields, arrays): (Vec<FieldRef>, Vec<_>) =
            all.filter(|(field, _)| wanted(field.name())).unzip();
        Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            arrays,
        }
    }

    /// Converts the rows to a record batch.
    pub fn batch(&self, rows: &[R]) -> Result<RecordBatch, Error>
    where
        R: Sync,
    {
        self.batch_of(&rows.iter().collect::<Vec<_>>())
    }

    /// Converts rows that lie apart to a record batch.
    pub(crate) fn batch_of(&self, rows: &[&R]) -> Result<RecordBatch, Error>
    where
        R: Sync,
    {
        let arrays = self.arrays.iter().collect();
        let arrays = each_column(rows.len(), arrays, |make: &Make<R>| make(rows));
        Ok(RecordBatch::try_new(self.schema(), arrays)?)
    }
}

/// Resizes an array of equal values to `rows`.
fn repeated(array: &ArrayRef, rows: usize) -> ArrayRef {
    if rows <= array.len() {
        return array.slice(0, rows);
    }
    // `batch` is public and takes more rows than the prepared array has.
    let first = UInt64Array::from_value(0, rows);
    take(array, &first, None).expect("an array with rows has a first one")
}
