//! Columns of known types in tables of other programs, which write the same values in other types.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Schema};
use arrow::error::ArrowError;

/// Floats hold every whole number up to this one, 2^53, and not all numbers above.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Rows of a CSV file that show whether its whole numbers are written as `4.0`. A program writes all numbers
/// of a column alike; a column that is empty up to here and has a `4.0` after it cannot be read.
pub(crate) const ROWS_OF_CSV: usize = 1000;

/// The column `name` as the type that [`crate::known_columns::Cells`] reads: the type of this column in
/// `known`, without dictionary and time zone. Values never change: what does not fit is an error. A column
/// of a type that cannot hold the values of the known type stays as it is.
pub(crate) fn column(known: &Schema, name: &str, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let plain = cast(array, &plain_type(array.data_type()))?;
    let Ok(field) = known.field_with_name(name) else {
        return Ok(plain);
    };
    let (found, wanted) = (plain.data_type(), plain_type(field.data_type()));
    if *found == wanted || !holds(found, &wanted) {
        return Ok(plain);
    }
    if found.is_floating() {
        require_whole(name, &plain)?;
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(&plain, &wanted, &strict)
}

/// The type without dictionary and time zone.
pub(crate) fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::Timestamp(unit, _) => DataType::Timestamp(*unit, None),
        other => other.clone(),
    }
}

/// True if other programs write values of the type `wanted` as `found`.
fn holds(found: &DataType, wanted: &DataType) -> bool {
    use DataType as T;
    match wanted {
        T::Utf8 => matches!(found, T::LargeUtf8 | T::Utf8View | T::Null),
        T::Timestamp(..) => matches!(found, T::Timestamp(..) | T::Null),
        // pandas writes whole numbers as floats if one of them is null.
        wanted if wanted.is_integer() => {
            found.is_integer() || found.is_floating() || *found == T::Null
        }
        _ => false,
    }
}

/// Refuses a column that has a fraction, or a number so large that `f64` does not hold every whole number
/// near it.
fn require_whole(name: &str, array: &ArrayRef) -> Result<(), ArrowError> {
    let numbers = cast(array, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() <= LARGEST_EXACT;
    match numbers.iter().flatten().find(|number| !is_whole(number)) {
        None => Ok(()),
        Some(number) => Err(ArrowError::CastError(format!(
            "column {name}: {number} is not an exact whole number"
        ))),
    }
}
