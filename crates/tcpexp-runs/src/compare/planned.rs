//! Planned runs that have not ended.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tcpexp_table::compare::{ComparedCell, ExpectedRow, is_compare_column};
use tcpexp_table::dataset::{RunColumn, RunColumns};

use super::cells::value_of_column;
use super::{Comparison, Expected};
use crate::only::Only;
use crate::record::Parameter;

/// Why a cell whose runs have not ended has no value.
const NOT_RUN: &str = "not run yet";

/// A run that the plan of a sweep has.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Its name.
    pub run: String,
    /// Hash of its cell.
    pub cell: String,
    /// Parameters of its cell.
    pub parameters: BTreeMap<String, Option<Parameter>>,
}

/// The runs of a plan that have not ended, of the cells that `only` selects. `ended` has the name and the cell of
/// each run that has ended.
///
/// If one of these runs belongs to no planned cell, the runs are those of another plan or of an earlier version of it, and
/// which runs are missing is not known: the result is then empty.
pub fn not_run<'a>(
    planned: &[PlannedRun],
    ended: impl IntoIterator<Item = (&'a str, &'a str)>,
    only: &Only,
) -> Vec<PlannedRun> {
    let hashes: HashSet<&str> = planned.iter().map(|run| run.cell.as_str()).collect();
    let mut names = HashSet::new();
    for (name, cell) in ended {
        if !hashes.contains(cell) {
            return Vec::new();
        }
        names.insert(name);
    }
    let is_missing =
        |run: &&PlannedRun| !names.contains(run.run.as_str()) && only.takes(&run.parameters);
    planned.iter().filter(is_missing).cloned().collect()
}

impl Comparison {
    /// The comparison with the runs of a plan that have not ended ([`not_run`]).
    #[must_use]
    pub fn with_planned(mut self, planned: &[PlannedRun], only: &Only) -> Self {
        let ended = self.runs.iter();
        let ended = ended.map(|run| (run.run.as_str(), self.cells[run.cell].hash.as_str()));
        self.not_run = not_run(planned, ended, only);
        self
    }

    /// A missing run of each cell that an expectation is about and that no run has.
    pub(super) fn empty_cells<'a>(
        &'a self,
        one: &'a Expected,
    ) -> impl Iterator<Item = &'a PlannedRun> + 'a {
        let mut known: HashSet<&str> = self.cells.iter().map(|cell| cell.hash.as_str()).collect();
        self.not_run
            .iter()
            .filter(move |run| known.insert(&run.cell) && one.only.takes(&run.parameters))
    }

    /// The row of an expectation of a cell that no run has.
    pub(super) fn row_of_empty(&self, one: &Expected, run: &PlannedRun) -> ExpectedRow {
        let column = |(name, value): (&String, &Option<Parameter>)| RunColumn {
            name: name.clone(),
            description: String::new(),
            value: value_of_column(value.clone()),
        };
        let own = RunColumns::new(
            run.parameters.iter().map(column).collect(),
            is_compare_column,
        );
        ExpectedRow {
            cell: Arc::new(ComparedCell {
                hash: run.cell.clone(),
                parameters: own.like(&self.parameters()),
                varied: self.cells.first().map_or(0, |cell| cell.varied),
                baseline: None,
                runs: [0; 3],
                left_out: None,
                options: self.options,
            }),
            class: one.class.clone(),
            expectation: one.expectation.clone(),
            estimate: None,
            gap: Some(NOT_RUN),
            bound: one.expectation.bound(None),
        }
    }
}
