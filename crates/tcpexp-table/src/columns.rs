//! The columns of a table, each defined once: name, meaning, and how it follows from a row.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::Error;
use crate::run_columns::RunColumns;
use crate::schema::{named, optional, required};
use crate::writer::BATCH_ROWS;

/// The columns of a table whose rows are `R`s.
///
/// A column's description says what null means; a column that has none says so by itself.
pub struct Columns<R> {
    schema: SchemaRef,
    arrays: Vec<Make<R>>,
}

type Make<R> = Box<dyn Fn(&[R]) -> ArrayRef + Send + Sync>;

/// Builds [`Columns`] from left to right.
pub(crate) struct Builder<R> {
    name: &'static str,
    fields: Vec<Field>,
    arrays: Vec<Make<R>>,
}

impl<R> Columns<R> {
    /// Starts a table of this name.
    pub(crate) fn named(name: &'static str) -> Builder<R> {
        Builder {
            name,
            fields: Vec::new(),
            arrays: Vec::new(),
        }
    }

    /// Names, types and definitions.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The same columns behind those that tell the run apart from others.
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
        let constant = run
            .arrays(BATCH_ROWS)
            .into_iter()
            .map(|array| -> Make<R> { Box::new(move |rows| repeated(&array, rows.len())) });
        Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            arrays: constant.chain(self.arrays).collect(),
        }
    }

    /// The rows as a record batch.
    pub fn batch(&self, rows: &[R]) -> Result<RecordBatch, Error> {
        let arrays = self.arrays.iter().map(|make| make(rows)).collect();
        Ok(RecordBatch::try_new(self.schema(), arrays)?)
    }
}

/// So many rows of an array all of whose values are the same.
fn repeated(array: &ArrayRef, rows: usize) -> ArrayRef {
    if rows <= array.len() {
        return array.slice(0, rows);
    }
    let first = UInt64Array::from_value(0, rows);
    take(array, &first, None).expect("an array with rows has a first one")
}

impl<R: 'static> Builder<R> {
    pub(crate) fn done(self) -> Columns<R> {
        Columns {
            schema: named(self.name, self.fields),
            arrays: self.arrays,
        }
    }

    /// Text that is always there.
    pub(crate) fn text<T: AsRef<str>>(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> T + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(&value)))
        };
        self.required(name, DataType::Utf8, description, array)
    }

    /// Text that is always there and that the row has.
    pub(crate) fn name(
        self,
        name: &str,
        description: &str,
        value: impl for<'a> Fn(&'a R) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(&value)))
        };
        self.required(name, DataType::Utf8, description, array)
    }

    /// Text that the row has, or has not.
    pub(crate) fn maybe_name(
        self,
        name: &str,
        description: &str,
        value: impl for<'a> Fn(&'a R) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<StringArray>())
        };
        self.optional(name, DataType::Utf8, description, array)
    }

    /// Text that may be missing.
    pub(crate) fn maybe_text<T: AsRef<str>>(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<StringArray>())
        };
        self.optional(name, DataType::Utf8, description, array)
    }

    /// A number that names something.
    pub(crate) fn id(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(&value)))
        };
        self.required(name, DataType::UInt32, description, array)
    }

    /// A number that names something, or nothing.
    pub(crate) fn maybe_id(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<u32> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<UInt32Array>())
        };
        self.optional(name, DataType::UInt32, description, array)
    }

    /// A count or a size.
    pub(crate) fn count(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(&value)))
        };
        self.required(name, DataType::UInt64, description, array)
    }

    /// A count or a size that may not be known.
    pub(crate) fn maybe_count(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<UInt64Array>())
        };
        self.optional(name, DataType::UInt64, description, array)
    }

    /// A difference of sizes that may not be known.
    pub(crate) fn maybe_signed(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<i64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<Int64Array>())
        };
        self.optional(name, DataType::Int64, description, array)
    }

    /// A quantity in a unit that people read, beside the column that has it exactly.
    pub(crate) fn float(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(&value)))
        };
        self.required(name, DataType::Float64, description, array)
    }

    /// A score, or a quantity beside the column that has it exactly; it may not be known.
    pub(crate) fn maybe_float(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<Float64Array>())
        };
        self.optional(name, DataType::Float64, description, array)
    }

    /// A point in time; the column is in nanoseconds since 1970.
    pub(crate) fn time(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            let nanos = rows.iter().map(|row| value(row).as_nanos());
            Arc::new(Int64Array::from_iter_values(nanos))
        };
        self.required(name, DataType::Int64, description, array)
    }

    /// A span of time; the column is in nanoseconds.
    pub(crate) fn span(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> TimeDelta + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            let nanos = rows.iter().map(|row| value(row).as_nanos());
            Arc::new(Int64Array::from_iter_values(nanos))
        };
        self.required(name, DataType::Int64, description, array)
    }

    /// A span of time that may not be known.
    pub(crate) fn maybe_span(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<TimeDelta> + Send + Sync + 'static,
    ) -> Self {
        self.maybe_signed(name, description, move |row| {
            value(row).map(TimeDelta::as_nanos)
        })
    }

    /// Yes or no.
    pub(crate) fn flag(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> bool + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| Some(value(row)))
                    .collect::<BooleanArray>(),
            )
        };
        self.required(name, DataType::Boolean, description, array)
    }

    /// Yes, no, or not known.
    pub(crate) fn maybe_flag(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[R]| -> ArrayRef {
            Arc::new(rows.iter().map(&value).collect::<BooleanArray>())
        };
        self.optional(name, DataType::Boolean, description, array)
    }

    fn required(
        mut self,
        name: &str,
        data_type: DataType,
        description: &str,
        array: impl Fn(&[R]) -> ArrayRef + Send + Sync + 'static,
    ) -> Self {
        let description = format!("{description} Never null.");
        self.fields.push(required(name, data_type, &description));
        self.arrays.push(Box::new(array));
        self
    }

    fn optional(
        mut self,
        name: &str,
        data_type: DataType,
        description: &str,
        array: impl Fn(&[R]) -> ArrayRef + Send + Sync + 'static,
    ) -> Self {
        self.fields.push(optional(name, data_type, description));
        self.arrays.push(Box::new(array));
        self
    }
}
