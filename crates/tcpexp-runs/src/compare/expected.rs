//! Checks the cells of a comparison against what is expected of them.

use std::sync::Arc;

use tcpexp_metrics::compare::{CellClass, Expectation, ExpectationError, Measure};
use tcpexp_metrics::repetition::Estimate;
use tcpexp_table::compare::ExpectedRow;
use thiserror::Error;

use super::cells::{Cell, known};
use super::{Comparison, Gap};
use crate::only::Only;
use crate::record::NULL;

/// An expectation, and the results that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The expectation.
    pub expectation: Expectation,
    /// The class of traffic; `None` for all classes together.
    pub class: Option<String>,
    /// The cells that it is about.
    pub only: Only,
}

impl Expected {
    /// The expectation that a text states of all classes together, in all cells.
    pub fn parse(text: &str) -> Result<Self, ExpectationError> {
        Ok(Self {
            expectation: text.parse()?,
            class: None,
            only: Only::default(),
        })
    }
}

/// Why expectations cannot be checked.
#[derive(Debug, Error)]
pub enum ExpectError {
    /// An expectation is about no cell.
    #[error("\"{expectation}\" applies to no result: {why}")]
    Nothing {
        /// The expectation.
        expectation: String,
        /// What it names and what there is.
        why: String,
    },
    /// A run enters no figure because its dataset is damaged, so the other runs do not represent its cell.
    #[error("cannot check run {run}: {why}")]
    Damaged {
        /// Name of the run.
        run: String,
        /// What is wrong.
        why: String,
    },
    /// An expectation needs the results of an earlier sweep.
    #[error("\"{expectation}\" needs the results of an earlier sweep as its baseline")]
    NoBaseline {
        /// The expectation.
        expectation: String,
    },
}

impl Comparison {
    /// A row for each expectation and each cell that it is about. A run with a damaged dataset is an
    /// error.
    ///
    /// The baseline of a cell is the cell of `baseline` with the same values of all parameters that both
    /// sweeps have or that either sweep varies. The verdict is unknown if a value or a baseline does not
    /// exist, and for a planned cell that has not been run. An expectation about no cell at all is an error.
    pub fn check(
        &self,
        expected: &[Expected],
        baseline: Option<&Self>,
    ) -> Result<Vec<ExpectedRow>, ExpectError> {
        let of_baseline = baseline.into_iter().flat_map(|base| &base.runs);
        let mut runs = self.runs.iter().chain(of_baseline);
        if let Some(damaged) = runs.find(|run| run.is_damaged) {
            return Err(ExpectError::Damaged {
                run: damaged.run.clone(),
                why: damaged.fault.clone().unwrap_or_default(),
            });
        }
        let cells = self.compared_cells();
        let mut rows = Vec::new();
        for one in expected {
            if one.expectation.needs_baseline() && baseline.is_none() {
                let expectation = one.expectation.to_string();
                return Err(ExpectError::NoBaseline { expectation });
            }
            self.assert_is_about_results(one)?;
            let measure = one.expectation.measure;
            for place in self.cells_of(one) {
                let class = self.class_of(place, one.class.as_deref());
                let base = baseline.and_then(|base| self.value_before(place, one, base));
                let estimate = class.and_then(|class| class.estimate(measure));
                let gap = estimate.is_none().then(|| self.gap(place, measure));
                rows.push(ExpectedRow {
                    cell: Arc::clone(&cells[place]),
                    class: one.class.clone(),
                    expectation: one.expectation.clone(),
                    estimate,
                    gap: gap.flatten(),
                    bound: one.expectation.bound(base),
                });
            }
            let empty = self.empty_cells(one);
            rows.extend(empty.map(|run| self.row_of_empty(one, run)));
        }
        Ok(rows)
    }

    /// Refuses an expectation that no cell could fail.
    fn assert_is_about_results(&self, one: &Expected) -> Result<(), ExpectError> {
        let nothing = |why: String| {
            let expectation = one.expectation.to_string();
            Err(ExpectError::Nothing { expectation, why })
        };
        if self.cells_of(one).next().is_none() && self.empty_cells(one).next().is_none() {
            let parameters = known(&self.cells);
            return nothing(format!(
                "no cell has {}; the parameters are {parameters}",
                one.only
            ));
        }
        let is_known = |class: &CellClass| class.class.as_deref() == one.class.as_deref();
        if one.class.is_some() && !self.classes.is_empty() && !self.classes.iter().any(is_known) {
            let mut known: Vec<&str> = self
                .classes
                .iter()
                .filter_map(|c| c.class.as_deref())
                .collect();
            known.sort_unstable();
            known.dedup();
            let class = one.class.as_deref().unwrap_or_default();
            return nothing(format!(
                "no traffic is named {class}; there is {}",
                known.join(", ")
            ));
        }
        Ok(())
    }

    fn cells_of<'a>(&'a self, one: &'a Expected) -> impl Iterator<Item = usize> + 'a {
        let cells = self.cells.iter().enumerate();
        cells
            .filter(|(_, cell)| one.only.takes_values(|name| cell.parameter(name)))
            .map(|(place, _)| place)
    }

    /// Why runs of a cell have no value of a measure, if that is known.
    fn gap(&self, cell: usize, measure: Measure) -> Option<&'static str> {
        let of_cell = |gap: &Gap| {
            let mut runs = self.runs.iter();
            runs.any(|run| run.cell == cell && run.gaps.contains(gap))
        };
        let mut gaps = Gap::ALL.into_iter().filter(|gap| gap.is_of(measure));
        gaps.find(of_cell).map(Gap::reason)
    }

    fn class_of(&self, cell: usize, class: Option<&str>) -> Option<&CellClass> {
        self.classes
            .iter()
            .find(|row| row.cell == cell && row.class.as_deref() == class)
    }

    /// The parameters in which a cell of this sweep and its cell in `before` are equal: those that both
    /// sweeps have, and those that vary in either. A parameter that one sweep lacks may be new.
    fn compared_names<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let of = |sweep: &'a Self| sweep.cells.first().into_iter().flat_map(Cell::own_names);
        let has = move |sweep: &'a Self, name: &str| of(sweep).any(|known| known == name);
        let varied = |sweep: &'a Self| {
            let first = sweep.cells.first().into_iter();
            first.flat_map(|cell| cell.varied().map(|(name, _)| name))
        };
        let shared = of(self).filter(move |name| has(before, name));
        shared.chain(varied(self)).chain(varied(before))
    }

    /// The value of the same cell in `before`; `None` unless exactly one cell is the same.
    fn value_before(&self, place: usize, one: &Expected, before: &Self) -> Option<f64> {
        let own = &self.cells[place];
        let names = self.compared_names(before);
        let wanted: Only = names
            .map(|name| (name.to_owned(), own.parameter(name)))
            .map(|(name, value)| (name, value.unwrap_or_else(|| NULL.to_owned())))
            .collect();
        let mut same = before
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| wanted.takes_values(|name| cell.parameter(name)));
        let ((cell, _), others) = (same.next()?, same.next());
        let class = before
            .class_of(cell, one.class.as_deref())
            .filter(|_| others.is_none())?;
        median(class.estimate(one.expectation.measure))
    }
}

fn median(estimate: Option<Estimate>) -> Option<f64> {
    estimate.and_then(|estimate| estimate.known())
}
