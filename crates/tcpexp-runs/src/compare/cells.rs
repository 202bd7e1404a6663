//! Groups the runs of a sweep by cell, and finds the baseline of each cell.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::PathBuf;

use tcpexp_table::compare::is_compare_column;
use tcpexp_table::dataset::{RunColumn, RunColumns, RunValue};
use tcpexp_units::by_value;

use super::{CompareError, Gap};
use crate::record::{Parameter, RunRecord, Status, is_value};

/// A run's directory and record.
pub(super) struct RunDir {
    /// Directory of its dataset.
    pub(super) data: PathBuf,
    pub(super) record: RunRecord,
    /// True if the record names the run's traffic; otherwise the flows show it.
    pub(super) has_plan: bool,
    /// Why the run enters no figure; `None` if it does.
    pub(super) fault: Option<String>,
    /// True if its dataset does not have the tables that its manifest lists.
    pub(super) is_damaged: bool,
    /// What its dataset leaves unknown.
    pub(super) gaps: Vec<Gap>,
}

/// A cell of the grid.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Hash of the parameters.
    pub hash: String,
    /// Parameters, varied ones first; all cells have the same columns.
    pub parameters: RunColumns,
    /// Number of varied parameters.
    pub varied: usize,
    /// Runs that enter no figure.
    pub faults: Vec<Fault>,
}

/// A run that enters no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the run.
    pub run: String,
    /// Outcome of the run.
    pub status: Status,
    /// Why the run enters no figure.
    pub reason: String,
}

/// All cells, sorted by their parameters (varied ones first), and the cell index of each run.
pub(super) fn cells(runs: &[RunDir]) -> (Vec<Cell>, Vec<usize>) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut cell_of = Vec::new();
    let varied = varied(runs);
    for run in runs {
        let record = &run.record;
        let place = *places.entry(&record.cell).or_insert_with(|| {
            cells.push(Cell {
                hash: record.cell.clone(),
                parameters: parameters(record, &varied),
                varied: varied.len(),
                faults: Vec::new(),
            });
            cells.len() - 1
        });
        cells[place]
            .faults
            .extend(run.fault.as_ref().map(|reason| Fault {
                run: record.run.clone(),
                status: record.status,
                reason: reason.clone(),
            }));
        cell_of.push(place);
    }
    let mut parameters: Vec<RunColumns> =
        cells.iter().map(|cell| cell.parameters.clone()).collect();
    // Sorting compares parameters by position and type, so all cells need the same columns first.
    RunColumns::unify(&mut parameters);
    for (cell, parameters) in cells.iter_mut().zip(parameters) {
        cell.parameters = parameters;
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|a, b| by_parameters(&cells[*a], &cells[*b]));
    let mut place_of = vec![0; cells.len()];
    for (place, cell) in order.iter().enumerate() {
        place_of[*cell] = place;
    }
    let sorted = order.into_iter().map(|cell| cells[cell].clone()).collect();
    (
        sorted,
        cell_of.into_iter().map(|cell| place_of[cell]).collect(),
    )
}

/// Compares numbers by size and text as [`by_value`] does; missing values come first.
fn by_parameters(a: &Cell, b: &Cell) -> Ordering {
    let pairs = a.parameters.columns().iter().zip(b.parameters.columns());
    let by_column = |(a, b): (&RunColumn, &RunColumn)| match (&a.value, &b.value) {
        (RunValue::Text(Some(a)), RunValue::Text(Some(b))) => by_value(a, b),
        (RunValue::Text(a), RunValue::Text(b)) => a.is_some().cmp(&b.is_some()),
        (RunValue::Count(a), RunValue::Count(b)) => a.cmp(b),
        (RunValue::Flag(a), RunValue::Flag(b)) => a.cmp(b),
        (RunValue::Number(a), RunValue::Number(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        // All cells have the same column types.
        _ => Ordering::Equal,
    };
    pairs
        .map(by_column)
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Names of the parameters that the plans vary.
fn varied(runs: &[RunDir]) -> Vec<String> {
    let mut varied: Vec<String> = Vec::new();
    for name in runs.iter().flat_map(|run| &run.record.varied) {
        if !varied.contains(name) {
            varied.push(name.clone());
        }
    }
    varied
}

/// The parameters of a run as columns; a varied parameter that the run lacks is null.
fn parameters(record: &RunRecord, varied: &[String]) -> RunColumns {
    let others = record
        .parameters
        .keys()
        .filter(|name| !varied.contains(name));
    let column = |name: &String| {
        RunColumn {
        name: name.clone(),
        description: "A parameter of the plan, in the unit that its name ends in. Null if the cell does not have it.".to_owned(),
        value: match record.parameters.get(name).cloned().flatten() {
            None => RunValue::Text(None),
            Some(Parameter::Flag(flag)) => RunValue::Flag(Some(flag)),
            Some(Parameter::Count(count)) => RunValue::Count(Some(count)),
            Some(Parameter::Number(number)) => RunValue::Number(Some(number)),
            Some(Parameter::Text(text)) => RunValue::Text(Some(text)),
        },
    }
    };
    RunColumns::new(
        varied.iter().chain(others).map(column).collect(),
        is_compare_column,
    )
}

impl Cell {
    /// A parameter as text; `None` if the cell does not have it.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let columns = self.parameters.columns();
        columns
            .iter()
            .find(|column| column.name == name)?
            .value
            .text()
    }

    pub(super) fn varied(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        let varied = self.parameters.columns().iter().take(self.varied);
        varied.map(|column| (column.name.as_str(), column.value.text()))
    }
}

/// The baseline of each cell: the one cell with the values `wanted` and otherwise equal parameters.
///
/// `None` without such a cell, or if several qualify. A varied parameter may differ between a cell and
/// its baseline only if it follows from the wanted parameters: among the cells that share all other
/// parameters, it must be a function of the wanted ones.
pub(super) fn baselines(
    cells: &[Cell],
    wanted: &[(String, String)],
) -> Result<Vec<Option<usize>>, CompareError> {
    if wanted.is_empty() {
        return Ok(vec![None; cells.len()]);
    }
    for (name, _) in wanted {
        if !cells.iter().any(|cell| {
            cell.parameters
                .columns()
                .iter()
                .any(|column| column.name == *name)
        }) {
            return Err(CompareError::NoParameter {
                name: name.clone(),
                known: known(cells),
            });
        }
    }
    let candidates: Vec<usize> = (0..cells.len())
        .filter(|cell| has_values(&cells[*cell], wanted))
        .collect();
    if candidates.is_empty() {
        let wanted: Vec<String> = wanted
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        return Err(CompareError::NoBaseline {
            wanted: wanted.join(","),
        });
    }
    let of = |cell: &Cell| {
        let mut fitting = candidates
            .iter()
            .copied()
            .filter(|base| fits(cells, cell, &cells[*base], wanted));
        let only = fitting.next();
        only.filter(|_| fitting.next().is_none())
    };
    Ok(cells.iter().map(of).collect())
}

/// True if the cell has all parameter values.
fn has_values(cell: &Cell, wanted: &[(String, String)]) -> bool {
    wanted
        .iter()
        .all(|(name, value)| is_value(cell.parameter(name).as_deref(), value))
}

/// The names of all parameters.
pub(super) fn known(cells: &[Cell]) -> String {
    let columns = cells
        .first()
        .map_or(&[][..], |cell| cell.parameters.columns());
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn fits(cells: &[Cell], cell: &Cell, base: &Cell, wanted: &[(String, String)]) -> bool {
    let is_wanted = |name: &str| wanted.iter().any(|(known, _)| known == name);
    let free = |cell: &Cell| -> Vec<(String, Option<String>)> {
        let varied = cell.varied().filter(|(name, _)| !is_wanted(name));
        varied
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    };
    let (own, others) = (free(cell), free(base));
    let (same, different): (Vec<_>, Vec<_>) = own.iter().zip(&others).partition(|(a, b)| a == b);
    let shares = |other: &&Cell| {
        same.iter()
            .all(|((name, value), _)| other.parameter(name) == *value)
    };
    // A plan that varies `new_cc` may vary `cc` with it: `cc` then differs from the baseline, but
    // only because `new_cc` does. All cells with equal other parameters must show it.
    let like: Vec<&Cell> = cells.iter().filter(shares).collect();
    let by = |other: &Cell| -> Vec<Option<String>> {
        wanted
            .iter()
            .map(|(name, _)| other.parameter(name))
            .collect()
    };
    different.iter().all(|((name, _), _)| {
        let mut values = HashMap::new();
        like.iter().all(|other| {
            let value = other.parameter(name);
            *values.entry(by(other)).or_insert_with(|| value.clone()) == value
        })
    })
}

/// Why a run enters no figure, according to its record.
pub(super) fn fault(record: &RunRecord) -> Option<String> {
    let unsaid = || "no reason given".to_owned();
    match record.status {
        Status::Complete => None,
        Status::Invalid | Status::Failed => Some(record.reason.clone().unwrap_or_else(unsaid)),
    }
}
