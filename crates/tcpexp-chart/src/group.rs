//! Groups of values.

use tcpexp_table::Frame;

use crate::facet::Facet;
use crate::{Error, Levels};

/// A named group of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Name in the legend.
    pub label: String,
    /// Values in any order.
    pub values: Vec<f64>,
}

/// The groups of one panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupPanel {
    /// Name of the panel; `None` for the only panel.
    pub title: Option<String>,
    /// The groups of all panels, with the values of this panel.
    pub groups: Vec<Group>,
}

impl From<Vec<Group>> for GroupPanel {
    fn from(groups: Vec<Group>) -> Self {
        Self {
            title: None,
            groups,
        }
    }
}

impl GroupPanel {
    /// The numbers of the column `y`, one panel per level of `facets` with one group per level of `by`;
    /// nulls and groups without numbers are omitted.
    pub fn all(frame: &Frame, y: &str, by: &Levels, facets: &Levels) -> Result<Vec<Self>, Error> {
        let panels = Facet::all(frame, facets, [by]).into_iter().map(|facet| {
            let [by] = &facet.groups;
            Ok(Self {
                groups: Group::of(&facet.rows, y, by)?,
                title: facet.title,
            })
        });
        let mut panels = panels.collect::<Result<Vec<Self>, Error>>()?;
        let has_values = |number: usize| {
            let of_panels = panels.iter().map(|panel: &Self| &panel.groups[number]);
            of_panels.into_iter().any(|group| !group.values.is_empty())
        };
        let keep: Vec<bool> = (0..by.len()).map(has_values).collect();
        for panel in &mut panels {
            let mut keep = keep.iter();
            panel.groups.retain(|_| keep.next() == Some(&true));
        }
        Ok(panels)
    }
}

impl Group {
    /// The numbers of the column `y`, one group per level of `by`; nulls are omitted.
    fn of(frame: &Frame, y: &str, by: &Levels) -> Result<Vec<Self>, Error> {
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
