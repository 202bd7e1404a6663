//! Numeric columns.

use tcpexp_table::{Cell, Frame, Series};

use crate::Error;

/// The column of this name, which must be numeric.
pub fn numbers<'a>(frame: &'a Frame, name: &str) -> Result<&'a Series, Error> {
    let column = frame.column(name).ok_or_else(|| Error::NoColumn {
        column: name.to_owned(),
    })?;
    let has_text = (0..column.len()).any(|row| matches!(column.cell(row), Cell::Text(_)));
    if has_text {
        return Err(Error::NoNumbers {
            column: name.to_owned(),
        });
    }
    Ok(column)
}
