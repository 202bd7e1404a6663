//! Groups the runs of a sweep by cell, and finds the baseline of each cell.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use tcpexp_table::compare::is_compare_column;
use tcpexp_table::dataset::{RunColumn, RunColumns, RunValue};
use tcpexp_units::by_value;

use super::{CompareError, Gap};
use crate::captured::is_name_of_run;
use crate::record::{PREFIX, Parameter, RunRecord, Status, is_value};
use crate::varied::{self, varied};

/// The parameter that distinguishes cells with equal parameters.
pub const CELL_HASH: &str = "cell_hash";

const PARAMETER: &str = "A parameter of the plan, in the unit that its name ends in. Null if the cell does not have it.";

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
    let varied = varied(runs.iter().map(|run| &run.record));
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

/// The parameters of a run as columns; a varied parameter that the run lacks is null.
fn parameters(record: &RunRecord, varied: &[String]) -> RunColumns {
    let others = record
        .parameters
        .keys()
        .filter(|name| !varied.contains(name));
    let column = |name: &String| RunColumn {
        name: match name.as_str() {
            // `compare` has a column of that name.
            varied::CELL if !record.parameters.contains_key(name) => CELL_HASH.to_owned(),
            _ => name.clone(),
        },
        description: PARAMETER.to_owned(),
        value: value_of_column(varied::value_of(record, name)),
    };
    RunColumns::new(
        varied.iter().chain(others).map(column).collect(),
        is_compare_column,
    )
}

/// The value of a parameter in its column.
pub(super) fn value_of_column(parameter: Option<Parameter>) -> RunValue {
    match parameter {
        None => RunValue::Text(None),
        Some(Parameter::Flag(flag)) => RunValue::Flag(Some(flag)),
        Some(Parameter::Count(count)) => RunValue::Count(Some(count)),
        Some(Parameter::Number(number)) => RunValue::Number(Some(number)),
        Some(Parameter::Text(text)) => RunValue::Text(Some(text)),
    }
}

impl Cell {
    /// A parameter as text; `None` if the cell does not have it.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut columns = self.parameters.columns().iter();
        columns
            .find(|column| is_named(&column.name, name))?
            .value
            .text()
    }

    pub(super) fn varied(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        let varied = self.parameters.columns().iter().take(self.varied);
        varied.map(|column| (column.name.as_str(), column.value.text()))
    }

    /// The names of all parameters but the hash of the cell and a name that each run has of its own.
    pub(super) fn own_names(&self) -> impl Iterator<Item = &str> {
        let columns = self.parameters.columns().iter().enumerate();
        let own = columns.filter(|(place, column)| {
            let is_name = is_name_of_run(&column.name) && *place >= self.varied;
            !is_name && column.name != CELL_HASH
        });
        own.map(|(_, column)| column.name.as_str())
    }

    /// The parameters that are not wanted, but for names of cells and runs.
    fn free(&self, wanted: &[(String, String)]) -> impl Iterator<Item = (&str, Option<String>)> {
        let is_wanted = |column: &str| wanted.iter().any(|(name, _)| is_named(column, name));
        let free = self.own_names().filter(move |name| !is_wanted(name));
        free.map(|name| (name, self.parameter(name)))
    }
}

/// True if a column has the values of the parameter `name`, with or without the prefix of the column.
fn is_named(column: &str, name: &str) -> bool {
    column == name || column.strip_prefix(PREFIX) == Some(name)
}

/// The baseline of each cell: the one cell with the values `wanted` and otherwise equal parameters.
///
/// `None` without such a cell, or if several qualify. A parameter may differ between a cell and its baseline
/// only if the cells show that it follows from the wanted parameters: see [`follows`].
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
                .any(|column| is_named(&column.name, name))
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

/// The parameters in which cells without a baseline differ from the most similar cell with the values `wanted`.
/// Empty if each of these cells has several possible baselines.
pub(super) fn without_baseline(
    cells: &[Cell],
    wanted: &[(String, String)],
    baselines: &[Option<usize>],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let without = cells
        .iter()
        .zip(baselines)
        .filter(|(_, base)| base.is_none());
    for (cell, _) in without {
        let candidates = cells.iter().filter(|base| has_values(base, wanted));
        let apart = candidates.map(|base| apart(cells, cell, base, wanted));
        // The most similar candidate shows what the cell lacks.
        for name in apart.min_by_key(Vec::len).unwrap_or_default() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

fn fits(cells: &[Cell], cell: &Cell, base: &Cell, wanted: &[(String, String)]) -> bool {
    apart(cells, cell, base, wanted).is_empty()
}

/// The parameters in which a cell differs from a possible baseline, except those that follow from the wanted
/// ones.
fn apart<'c>(
    cells: &[Cell],
    cell: &'c Cell,
    base: &Cell,
    wanted: &[(String, String)],
) -> Vec<&'c str> {
    let pairs = cell.free(wanted).zip(base.free(wanted));
    let different: Vec<&str> = pairs
        .filter(|((_, own), (_, other))| own != other)
        .map(|((name, _), _)| name)
        .collect();
    let apart = different.iter().copied();
    apart
        .filter(|name| !follows(cells, name, &different, [cell, base], wanted))
        .collect()
}

/// True if a parameter follows from the wanted ones: a plan that varies `new_cc` may vary `cc` with it.
///
/// With one cell per wanted value, any parameter would be a function of them. So the values of both cells of the
/// `pair` must each occur in two cells that differ in a parameter which is not among the `different` ones.
fn follows(
    cells: &[Cell],
    name: &str,
    different: &[&str],
    pair: [&Cell; 2],
    wanted: &[(String, String)],
) -> bool {
    let by = |cell: &Cell| -> Vec<Option<String>> {
        let values = wanted.iter().map(|(name, _)| cell.parameter(name));
        values.collect()
    };
    let mut values = HashMap::new();
    let is_function = cells.iter().all(|cell| {
        let value = cell.parameter(name);
        *values.entry(by(cell)).or_insert_with(|| value.clone()) == value
    });
    let others = |cell: &Cell| -> Vec<Option<String>> {
        let free = cell.free(wanted);
        let others = free.filter(|(name, _)| !different.contains(name));
        others.map(|(_, value)| value).collect()
    };
    let is_shown = |one: &Cell| {
        let same = cells.iter().filter(|cell| by(cell) == by(one));
        let distinct: HashSet<_> = same.map(others).collect();
        distinct.len() > 1
    };
    is_function && pair.into_iter().all(is_shown)
}

/// Number of cells whose runs have different kernels, as far as they enter figures and name their kernels.
pub(super) fn with_different_kernels(runs: &[RunDir], cell_of: &[usize]) -> usize {
    let mut kernels: HashMap<usize, HashSet<&BTreeMap<String, String>>> = HashMap::new();
    let counted = runs.iter().zip(cell_of);
    for (run, cell) in counted.filter(|(run, _)| run.fault.is_none()) {
        let known = Some(&run.record.kernels).filter(|kernels| !kernels.is_empty());
        kernels.entry(*cell).or_default().extend(known);
    }
    kernels.values().filter(|of_cell| of_cell.len() > 1).count()
}

/// Why a run enters no figure, according to its record.
pub(super) fn fault(record: &RunRecord) -> Option<String> {
    let unsaid = || "no reason given".to_owned();
    match record.status {
        Status::Complete => None,
        Status::Invalid | Status::Failed => Some(record.reason.clone().unwrap_or_else(unsaid)),
    }
}
