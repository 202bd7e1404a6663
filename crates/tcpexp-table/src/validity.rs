//! Null buffers of record batches.

use arrow::array::{Array, RecordBatch, make_array};
use arrow::error::ArrowError;

/// The batch with null buffers only where there are nulls.
///
/// An array that was cut out of a longer one may have a null buffer that marks none of its rows. Parquet's
/// writer then ends its pages at other rows than for an array with the same values and no null buffer.
pub(crate) fn with_needed_nulls(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    // The data of an array has no null buffer without nulls.
    let columns = batch
        .columns()
        .iter()
        .map(|column| make_array(column.to_data()));
    RecordBatch::try_new(batch.schema(), columns.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, UInt32Array};

    use super::*;
    use crate::writer::{Format, TableWriter};

    fn written(column: UInt32Array) -> Vec<u8> {
        // Other batches of the column have nulls.
        let column = ("packets", Arc::new(column) as ArrayRef, true);
        let batch = RecordBatch::try_from_iter_with_nullable([column]).unwrap();
        let schema = batch.schema();
        let mut table = TableWriter::new(Format::Parquet, &schema, Vec::new()).unwrap();
        table.write(&batch).unwrap();
        table.finish().unwrap()
    }

    #[test]
    fn a_null_buffer_without_nulls_does_not_change_the_bytes() {
        // More rows than in a page.
        let rows = 0..50_000_u32;
        let whole: UInt32Array = rows.clone().map(|row| Some(row / 7)).collect();
        let longer: UInt32Array = std::iter::once(None)
            .chain(rows.map(|row| Some(row / 7)))
            .collect();
        let cut = longer.slice(1, whole.len());
        assert!(whole.nulls().is_none() && cut.nulls().is_some());
        assert!(written(whole) == written(cut));
    }
}
