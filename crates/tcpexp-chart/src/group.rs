//! Values that belong together.

use tcpexp_table::Frame;

use crate::{Error, Levels};

/// Values with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// What the legend calls it.
    pub label: String,
    /// In no order.
    pub values: Vec<f64>,
}

impl Group {
    /// What the numbers in the column `y` are in each group of rows; null is left out, and so is a
    /// group without values.
    pub fn of(frame: &Frame, y: &str, by: &Levels) -> Result<Vec<Self>, Error> {
        let column = numbers(frame, y)?;
        let mut groups: Vec<Self> = (0..by.len())
            .map(|level| Self {
                label: by.label(level),
                values: Vec::new(),
            })
            .collect();
        for row in 0..frame.rows() {
            groups[by.of_row(row)].values.extend(column.number(row));
        }
        groups.retain(|group| !group.values.is_empty());
        Ok(groups)
    }
}

/// The column of this name, which must hold numbers.
pub(crate) fn numbers<'a>(frame: &'a Frame, name: &str) -> Result<&'a tcpexp_table::Series, Error> {
    let column = frame.column(name).ok_or_else(|| Error::NoColumn {
        column: name.to_owned(),
    })?;
    let has_text =
        (0..column.len()).any(|row| matches!(column.cell(row), tcpexp_table::Cell::Text(_)));
    if has_text {
        return Err(Error::NoNumbers {
            column: name.to_owned(),
        });
    }
    Ok(column)
}
