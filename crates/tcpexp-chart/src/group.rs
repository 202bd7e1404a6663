//! Groups of values.

use tcpexp_table::Frame;

use crate::{Error, Levels};

/// A named group of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Name in the legend.
    pub label: String,
    /// Values in any order.
    pub values: Vec<f64>,
}

impl Group {
    /// The numbers of the column `y`, one group per level of `by`; nulls and empty groups are
    /// omitted.
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

/// The column of this name, which must be numeric.
pub fn numbers<'a>(frame: &'a Frame, name: &str) -> Result<&'a tcpexp_table::Series, Error> {
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
