//! Groups of values.

use tcpexp_table::Frame;

use crate::facet::Facet;
use crate::left_out::LeftOut;
use crate::numbers::numbers;
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
    /// Values of this panel that are not known.
    pub left_out: LeftOut,
}

impl From<Vec<Group>> for GroupPanel {
    fn from(groups: Vec<Group>) -> Self {
        Self {
            groups,
            ..Self::default()
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
                left_out: LeftOut::of(&facet.rows, y)?,
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
