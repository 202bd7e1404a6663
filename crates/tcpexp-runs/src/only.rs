//! Selection of cells by their parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tcpexp_units::{elements, list_of};
use thiserror::Error;

use crate::record::{PREFIX, Parameter, is_value};

/// Which cells to use: those that have one of the values of each named parameter.
///
/// ```
/// use tcpexp_runs::only::Only;
///
/// let only: Only = "cc=cubic,reno,rate_mbps=10".parse()?;
/// assert_eq!(only.to_string(), "cc=cubic,reno rate_mbps=10");
/// # Ok::<_, tcpexp_runs::only::OnlyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only(BTreeMap<String, Vec<String>>);

/// Why cells cannot be selected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OnlyError {
    /// The text names no parameter.
    #[error("expected NAME=VALUE, such as cc=reno, found {text:?}")]
    Form {
        /// The text.
        text: String,
    },
    /// No cell has a parameter of this name.
    #[error("no cell has a parameter {name}; the parameters are {known}")]
    Name {
        /// The name.
        name: String,
        /// The names of all parameters.
        known: String,
    },
    /// No cell has the values.
    #[error("no cell has {wanted}")]
    Values {
        /// The values.
        wanted: String,
    },
}

/// The parameters of one cell.
type Parameters = BTreeMap<String, Option<Parameter>>;

/// A parameter by its name, or by that of its column, which may have a prefix.
fn named<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a Option<Parameter>> {
    let bare = || parameters.get(name.strip_prefix(PREFIX)?);
    parameters.get(name).or_else(bare)
}

impl Only {
    /// True if all cells are selected.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the cell is selected.
    pub fn takes(&self, parameters: &Parameters) -> bool {
        self.takes_values(|name| Some(named(parameters, name)?.as_ref()?.to_string()))
    }

    /// True if the cell whose parameters `value` returns as text is selected.
    pub fn takes_values(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        self.0.iter().all(|(name, values)| {
            let value = value(name);
            values
                .iter()
                .any(|wanted| is_value(value.as_deref(), wanted))
        })
    }

    /// Refuses a selection with a name that no cell has, or that selects nothing.
    pub fn check<'a>(
        &self,
        cells: impl Iterator<Item = &'a Parameters> + Clone,
    ) -> Result<(), OnlyError> {
        for name in self.0.keys() {
            if !cells.clone().any(|cell| named(cell, name).is_some()) {
                let mut known: Vec<&str> = cells.flatten().map(|(name, _)| name.as_str()).collect();
                known.sort_unstable();
                known.dedup();
                return Err(OnlyError::Name {
                    name: name.clone(),
                    known: known.join(", "),
                });
            }
        }
        let mut cells = cells;
        if self.is_all() || cells.any(|cell| self.takes(cell)) {
            return Ok(());
        }
        let wanted = self.to_string();
        Err(OnlyError::Values { wanted })
    }
}

impl FromIterator<(String, String)> for Only {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(values: I) -> Self {
        let mut only = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in values {
            only.entry(name).or_default().push(value);
        }
        Self(only)
    }
}

impl FromStr for Only {
    type Err = OnlyError;

    /// Reads `NAME=VALUE,VALUE,NAME=VALUE`; a value that contains a comma is in double quotes.
    fn from_str(text: &str) -> Result<Self, OnlyError> {
        let mut values = Vec::new();
        let mut last: Option<String> = None;
        let form = |text: &str| OnlyError::Form {
            text: text.to_owned(),
        };
        for part in elements(text).ok_or_else(|| form(text))? {
            let value = match (part.split_once('='), &last) {
                (Some((name, value)), _) if !name.trim().is_empty() => {
                    last = Some(name.trim().to_owned());
                    value
                }
                (None, Some(_)) => &part,
                _ => return Err(form(&part)),
            };
            if let Some(name) = &last {
                values.push((name.clone(), value.trim().to_owned()));
            }
        }
        Ok(values.into_iter().collect())
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, values)) in self.0.iter().enumerate() {
            let gap = if place == 0 { "" } else { " " };
            write!(f, "{gap}{name}={}", list_of(values))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(cc: &str, rate: f64) -> Parameters {
        let text = Parameter::Text(cc.to_owned());
        let rate = Parameter::Number(rate);
        BTreeMap::from([
            ("cc".to_owned(), Some(text)),
            ("rate_mbps".to_owned(), Some(rate)),
            ("loss".to_owned(), None),
        ])
    }

    fn taken(text: &str) -> Vec<usize> {
        let only: Only = text.parse().unwrap();
        let cells = [cell("cubic", 10.0), cell("reno", 10.0), cell("reno", 2.5)];
        (0..3).filter(|place| only.takes(&cells[*place])).collect()
    }

    #[test]
    fn a_cell_has_one_of_the_values_of_each_parameter() {
        assert_eq!(taken("cc=reno"), [1, 2]);
        assert_eq!(taken("cc=reno,rate_mbps=10"), [1]);
        assert_eq!(taken("cc=cubic,reno,rate_mbps=10.0"), [0, 1]);
        assert_eq!(taken("rate_mbps=2.5,10"), [0, 1, 2]);
        assert_eq!(taken("param_cc=reno"), [1, 2]);
        assert_eq!(taken("loss=null,cc=cubic"), [0]);
        assert!(taken("loss=1").is_empty());
        assert_eq!(taken("cc=\"htcp, reno\",cubic,rate_mbps=10"), [0]);
    }

    #[test]
    fn a_selection_of_nothing_is_refused() {
        let cells = [cell("cubic", 10.0)];
        let refusal = |text: &str| {
            let only: Only = text.parse().unwrap();
            only.check(cells.iter()).map_err(|error| error.to_string())
        };
        assert_eq!(refusal("cc=cubic"), Ok(()));
        assert_eq!(
            refusal("cca=cubic"),
            Err("no cell has a parameter cca; the parameters are cc, loss, rate_mbps".to_owned())
        );
        assert_eq!(
            refusal("cc=reno,rate_mbps=10"),
            Err("no cell has cc=reno rate_mbps=10".to_owned())
        );
        for text in ["", "reno", "=reno", ",cc=reno", "cc=\"reno"] {
            assert!(
                matches!(text.parse::<Only>(), Err(OnlyError::Form { .. })),
                "{text:?}"
            );
        }
    }
}
