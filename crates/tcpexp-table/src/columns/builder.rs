//! Adds columns to a table, one method for each type of value.

use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, TimestampNanosecondArray, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{DataType, Field};
use tcpexp_units::{TimeDelta, Timestamp};

use super::{Columns, Make};
use crate::schema::{UTC, named, optional, required, text_type, time_type};
use crate::texts::{displayed, texts};

/// Builds [`Columns`] from left to right.
pub(crate) struct Builder<R> {
    name: &'static str,
    fields: Vec<Field>,
    arrays: Vec<Make<R>>,
}

impl<R> Builder<R> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            fields: Vec::new(),
            arrays: Vec::new(),
        }
    }
}

impl<R: 'static> Builder<R> {
    pub(crate) fn done(self) -> Columns<R> {
        Columns {
            schema: named(self.name, self.fields),
            arrays: self.arrays,
        }
    }

    /// Adds a text column that is never null.
    pub(crate) fn text<T: AsRef<str>>(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> T + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| {
            let cells: Vec<T> = rows.iter().copied().map(&value).collect();
            texts(cells.iter().map(|cell| Some(cell.as_ref())))
        };
        self.required(name, text_type(), description, array)
    }

    /// Adds a text column that is never null and that borrows its value from the row.
    pub(crate) fn name(
        self,
        name: &str,
        description: &str,
        value: impl for<'a> Fn(&'a R) -> &'a str + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| texts(rows.iter().map(|row| Some(value(row))));
        self.required(name, text_type(), description, array)
    }

    /// Adds a nullable text column that borrows its value from the row.
    pub(crate) fn maybe_name(
        self,
        name: &str,
        description: &str,
        value: impl for<'a> Fn(&'a R) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| texts(rows.iter().copied().map(&value));
        self.optional(name, text_type(), description, array)
    }

    /// Adds a nullable text column.
    pub(crate) fn maybe_text<T: AsRef<str>>(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| {
            let cells: Vec<Option<T>> = rows.iter().copied().map(&value).collect();
            texts(cells.iter().map(|cell| cell.as_ref().map(AsRef::as_ref)))
        };
        self.optional(name, text_type(), description, array)
    }

    /// Adds a nullable text column. Formats each different value of a batch once.
    pub(crate) fn maybe_displayed<T: Copy + Eq + Hash + Display>(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| displayed(rows.iter().copied().map(&value));
        self.optional(name, text_type(), description, array)
    }

    /// Adds a column of identifiers.
    pub(crate) fn id(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(
                rows.iter().copied().map(&value),
            ))
        };
        self.required(name, DataType::UInt32, description, array)
    }

    /// Adds a nullable column of identifiers.
    pub(crate) fn maybe_id(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<u32> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(rows.iter().copied().map(&value).collect::<UInt32Array>())
        };
        self.optional(name, DataType::UInt32, description, array)
    }

    /// Adds a column of counts or sizes.
    pub(crate) fn count(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().copied().map(&value),
            ))
        };
        self.required(name, DataType::UInt64, description, array)
    }

    /// Adds a nullable column of counts or sizes.
    pub(crate) fn maybe_count(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(rows.iter().copied().map(&value).collect::<UInt64Array>())
        };
        self.optional(name, DataType::UInt64, description, array)
    }

    /// Adds a nullable column of differences between sizes.
    pub(crate) fn maybe_signed(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<i64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(rows.iter().copied().map(&value).collect::<Int64Array>())
        };
        self.optional(name, DataType::Int64, description, array)
    }

    /// Adds a column in a human-readable unit; another column has the exact value.
    pub(crate) fn float(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(
                rows.iter().copied().map(&value),
            ))
        };
        self.required(name, DataType::Float64, description, array)
    }

    /// Adds a nullable column of scores, or of values in a human-readable unit whose exact value is
    /// in another column.
    pub(crate) fn maybe_float(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(rows.iter().copied().map(&value).collect::<Float64Array>())
        };
        self.optional(name, DataType::Float64, description, array)
    }

    /// Adds a column of points in time.
    pub(crate) fn time(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            let nanos = rows.iter().map(|row| value(row).as_nanos());
            Arc::new(TimestampNanosecondArray::from_iter_values(nanos).with_timezone(UTC))
        };
        self.required(name, time_type(), description, array)
    }

    /// Adds a nullable column of points in time.
    pub(crate) fn maybe_time(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<Timestamp> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            let nanos = rows.iter().map(|row| value(row).map(Timestamp::as_nanos));
            let times: TimestampNanosecondArray = nanos.collect();
            Arc::new(times.with_timezone(UTC))
        };
        self.optional(name, time_type(), description, array)
    }

    /// Adds a column of time spans, in nanoseconds.
    pub(crate) fn span(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> TimeDelta + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            let nanos = rows.iter().map(|row| value(row).as_nanos());
            Arc::new(Int64Array::from_iter_values(nanos))
        };
        self.required(name, DataType::Int64, description, array)
    }

    /// Adds a nullable column of time spans, in nanoseconds.
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

    /// Adds the columns `NAME_ms` and, exact, `NAME_ns` of a time span. `description` is that of
    /// `NAME_ns`.
    pub(crate) fn span_twice(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> TimeDelta + Copy + Send + Sync + 'static,
    ) -> Self {
        self.float(&format!("{name}_ms"), &in_millis(name), move |row| {
            value(row).as_millis_f64()
        })
        .span(&format!("{name}_ns"), description, value)
    }

    /// Adds the columns `NAME_ms` and, exact, `NAME_ns` of a time span that may be null.
    /// `description` is that of `NAME_ns`.
    pub(crate) fn maybe_span_twice(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<TimeDelta> + Copy + Send + Sync + 'static,
    ) -> Self {
        let millis = format!("{} Null if {name}_ns is null.", in_millis(name));
        self.maybe_float(&format!("{name}_ms"), &millis, move |row| {
            value(row).map(TimeDelta::as_millis_f64)
        })
        .maybe_span(&format!("{name}_ns"), description, value)
    }

    /// Adds a column of flags.
    pub(crate) fn flag(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> bool + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| Some(value(row)))
                    .collect::<BooleanArray>(),
            )
        };
        self.required(name, DataType::Boolean, description, array)
    }

    /// Adds a nullable column of flags.
    pub(crate) fn maybe_flag(
        self,
        name: &str,
        description: &str,
        value: impl Fn(&R) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        let array = move |rows: &[&R]| -> ArrayRef {
            Arc::new(rows.iter().copied().map(&value).collect::<BooleanArray>())
        };
        self.optional(name, DataType::Boolean, description, array)
    }

    fn required(
        mut self,
        name: &str,
        data_type: DataType,
        description: &str,
        array: impl Fn(&[&R]) -> ArrayRef + Send + Sync + 'static,
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
        array: impl Fn(&[&R]) -> ArrayRef + Send + Sync + 'static,
    ) -> Self {
        self.fields.push(optional(name, data_type, description));
        self.arrays.push(Box::new(array));
        self
    }
}

fn in_millis(name: &str) -> String {
    format!("{name}_ns / 1e6, in milliseconds.")
}
