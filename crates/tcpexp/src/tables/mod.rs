//! Combined access to the tables of datasets, of sweeps and of single files.

mod apart;
mod arrived;
mod classes;
mod delay_errors;
mod differing;
mod discovery;
mod grouped;
mod groups;
mod listing;
mod pool;
mod queues;
mod run_numbers;
mod selection;
mod totals;
mod warm_up;
mod words;

pub use delay_errors::is_noted_error;
pub use grouped::Grouped;
pub use groups::{Counted, UsualGroups};
pub use run_numbers::RunNumbers;
pub use selection::Selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tcpexp_table::dataset::{DatasetTable, TableEntry};
use tcpexp_table::{Filter, FilterCheck, Frame, Series, TableFile};

use crate::pairs::PAIR_COLUMN;
use crate::{DatasetError, Error, TablesError};

/// Name of the column with the file, dataset or run that a row comes from.
pub const SOURCE_COLUMN: &str = "file";
/// Name of the column with both endpoints of a row's flow: `10.0.0.1:4 > 10.0.0.2:5`.
pub const FLOW_COLUMN: &str = "flow";
/// Column of the table of flows by which a flow is large or small: its payload, each byte once.
pub const SIZE_COLUMN: &str = "unique_bytes";
/// Column with the number of a row's flow.
const FLOW_ID: &str = "flow_id";
const ENDS: [&str; 2] = ["initiator", "responder"];

/// A set of tables to read.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    entries: Vec<Entry>,
    /// Number of paths that were searched.
    paths: usize,
    /// The sweeps, folders of datasets and datasets among the paths; `None` if a path is anything else.
    compared: Option<Vec<PathBuf>>,
    /// Parameters that vary in the sweeps, in plan order, or in the folders of datasets.
    pub varied: Vec<String>,
    /// Excluded runs, each with the reason.
    pub left_out: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: PathBuf,
    /// Name of the table, for example `rtt`; empty if unknown.
    table: String,
    /// Value of [`SOURCE_COLUMN`] in the rows of this table.
    source: String,
    /// Set for the first table of each name only: reading the schemas of all tables of a sweep is
    /// unnecessary.
    columns: Vec<String>,
    /// True if the path names this file, false if the file is part of a dataset.
    is_single: bool,
    /// True if the table has the rows of many pairs of captures, each of which is a run.
    is_of_pairs: bool,
    /// The entry in the manifest of its dataset.
    listed: Option<TableEntry>,
    /// Set once the file was found to be that of the entry: several panels of a chart may read it.
    is_checked: OnceLock<()>,
    /// The rows of a table that is in no file.
    rows: Option<Frame>,
}

/// A selection of columns and rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Names of the tables to choose from; all tables if empty.
    pub tables: Vec<String>,
    /// Columns that the table must have.
    pub required: Vec<String>,
    /// Columns to read if the table has them.
    pub optional: Vec<String>,
    /// Conditions that each row must meet.
    pub filters: Vec<Filter>,
}

impl Tables {
    /// Returns the names of the tables, and the columns of each.
    pub fn names(&self) -> Vec<(&str, BTreeSet<&str>)> {
        let mut names: Vec<(&str, BTreeSet<&str>)> = Vec::new();
        for entry in &self.entries {
            let columns = entry.columns.iter().map(String::as_str);
            match names.iter_mut().find(|(name, _)| *name == entry.table) {
                Some((_, known)) => known.extend(columns),
                None => names.push((&entry.table, columns.collect())),
            }
        }
        names
    }

    /// True if all tables are those of one run or file.
    pub fn are_of_one_run(&self) -> bool {
        let mut sources = self.entries.iter().map(|entry| &entry.source);
        let first = sources.next();
        sources.all(|source| Some(source) == first)
            && !self.entries.iter().any(|entry| entry.is_of_pairs)
    }

    /// True if the paths are datasets and sweeps only, and a table has rows of several runs.
    pub fn has_table_of_several_runs(&self) -> bool {
        // Single files may be tables of one run.
        if self.compared.is_none() {
            return false;
        }
        let mut sources: BTreeMap<&str, &str> = BTreeMap::new();
        let named = self.entries.iter().filter(|entry| !entry.table.is_empty());
        named
            .map(|entry| (entry, *sources.entry(&entry.table).or_insert(&entry.source)))
            .any(|(entry, first)| entry.source != first)
    }

    /// Returns the single files that hold a table other than `table`.
    pub fn files_beside(&self, table: &str) -> Vec<&Path> {
        let beside = self
            .entries
            .iter()
            .filter(|entry| entry.is_single && entry.table != table);
        beside.map(|entry| entry.path.as_path()).collect()
    }

    /// Returns the full name of the column `wanted`, which may lack its unit. Searches these tables
    /// in order.
    pub fn resolve(&self, tables: &[String], wanted: &str) -> Option<String> {
        let columns = || {
            let entries = self.entries.iter().filter(|entry| entry.is_one_of(tables));
            entries.flat_map(|entry| &entry.columns)
        };
        // These columns are computed from the path and the endpoints, so no schema lists them.
        if [SOURCE_COLUMN, FLOW_COLUMN].contains(&wanted) {
            return Some(wanted.to_owned());
        }
        let exact = columns().find(|column| *column == wanted);
        // `rtt_samples` is the number of round-trip times, which `rtt` does not mean.
        let stem = |column: &&String| {
            tcpexp_chart::Quantity::stem(column) == wanted && !column.ends_with("_samples")
        };
        // `goodput` means the rate in every table: bytes per bin depend on the bin width.
        let rate = || columns().find(|column| stem(column) && column.ends_with("_bps"));
        exact
            .or_else(rate)
            .or_else(|| columns().find(stem))
            .cloned()
    }

    /// Returns the name of the first table of the query that has all required columns.
    pub fn choose(&self, query: &Query) -> Result<&str, Error> {
        let fits = |entry: &&Entry| entry.is_one_of(&query.tables) && entry.has(&query.required);
        match self.entries.iter().find(fits) {
            Some(entry) => Ok(&entry.table),
            None => Err(self.none_fits(query).into()),
        }
    }

    /// Reads the rows of all tables with the name that [`choose`](Self::choose) returns.
    pub fn read(&self, query: &Query) -> Result<Frame, Error> {
        let table = self.choose(query)?;
        let mut all = Frame::default();
        // A parameter may be a number in one dataset and a name in another: `10` and `auto`. A quantity
        // that is text in one table is an error.
        let read = query.required.iter().chain(&query.optional);
        let parameters: Vec<&String> = read
            .filter(|name| !DatasetTable::has_column(name))
            .collect();
        let mut checks: Vec<FilterCheck<'_>> = query.filters.iter().map(FilterCheck::of).collect();
        for entry in self.entries.iter().filter(|entry| entry.table == table) {
            let named = |source| Error::Table {
                path: entry.path.clone(),
                source,
            };
            let unfiltered = entry.read(query)?;
            for check in &mut checks {
                check.add(&unfiltered);
            }
            // Filters may name the computed columns, so the filters run last.
            let mut frame = Filter::all(&query.filters, &unfiltered);
            if !entry.is_single {
                for parameter in &parameters {
                    all.agree_on_text(&mut frame, parameter);
                }
            }
            all.append(frame).map_err(named)?;
        }
        let mut checks = checks.into_iter();
        checks
            .try_for_each(FilterCheck::result)
            .map_err(TablesError::Filter)?;
        Ok(all)
    }

    fn none_fits(&self, query: &Query) -> TablesError {
        let all = self.names();
        let asked =
            |name: &str| query.tables.is_empty() || query.tables.iter().any(|table| table == name);
        let tables: Vec<_> = all.iter().filter(|(name, _)| asked(name)).collect();
        if tables.is_empty() {
            let names = all.iter().map(|(name, _)| match *name {
                "" => "(unnamed)",
                name => name,
            });
            let names: Vec<&str> = names.collect();
            return TablesError::NoTable {
                wanted: query.tables.join(" or "),
                tables: names.join(", "),
            };
        }
        let is_somewhere = |column: &&String| {
            let entries = self.entries.iter().filter(|entry| asked(&entry.table));
            entries
                .into_iter()
                .any(|entry| entry.has(std::slice::from_ref(*column)))
        };
        let missing: Vec<&str> = query
            .required
            .iter()
            .filter(|column| !is_somewhere(column))
            .map(String::as_str)
            .collect();
        let wanted = if missing.is_empty() {
            query.required.join(" and ")
        } else {
            missing.join(" or ")
        };
        let required: Vec<&str> = query.required.iter().map(String::as_str).collect();
        let tables = tables.into_iter().map(|(name, columns)| {
            let name = if name.is_empty() { "it" } else { name };
            format!("{name} has {}", listing::listed(columns, &required))
        });
        TablesError::NoColumns {
            wanted,
            tables: tables.collect::<Vec<_>>().join("; "),
        }
    }
}

impl Entry {
    fn is_one_of(&self, tables: &[String]) -> bool {
        tables.is_empty() || tables.contains(&self.table)
    }

    fn has(&self, columns: &[String]) -> bool {
        let is_known = |column: &str| self.columns.iter().any(|known| known == column);
        columns.iter().all(|column| match column.as_str() {
            SOURCE_COLUMN => true,
            FLOW_COLUMN => ENDS.into_iter().all(is_known),
            column => is_known(column),
        })
    }

    /// Opens the file, which must be the one that the dataset was made with.
    fn open(&self) -> Result<File, Error> {
        let file = File::open(&self.path).map_err(|source| Error::Open {
            path: self.path.clone(),
            source,
        })?;
        let Some(entry) = self
            .listed
            .as_ref()
            .filter(|_| self.is_checked.get().is_none())
        else {
            return Ok(file);
        };
        let file = entry
            .checked(file)
            .map_err(|source| DatasetError::Damaged {
                path: self.path.parent().unwrap_or(&self.path).to_owned(),
                source,
            })?;
        self.is_checked.get_or_init(|| ());
        Ok(file)
    }

    /// Reads the columns of a query, without its filters.
    fn read(&self, query: &Query) -> Result<Frame, Error> {
        if let Some(rows) = &self.rows {
            return Ok(rows.clone());
        }
        let filtered = query.filters.iter().map(|filter| &filter.column);
        let wanted: BTreeSet<&str> = query
            .required
            .iter()
            .chain(&query.optional)
            .chain(filtered)
            .map(String::as_str)
            .collect();
        let has_flows = wanted.contains(FLOW_COLUMN);
        let mut wanted: Vec<&str> = wanted.into_iter().collect();
        if has_flows {
            wanted.extend(ENDS);
        }
        if self.is_of_pairs && !wanted.contains(&PAIR_COLUMN) {
            wanted.push(PAIR_COLUMN);
        }
        let frame = TableFile::open(self.open()?).and_then(|table| table.read(&wanted));
        let mut frame = frame.map_err(|source| Error::Table {
            path: self.path.clone(),
            source,
        })?;
        // Flows of different pairs have equal numbers, and the source distinguishes them.
        let source = match frame.column(PAIR_COLUMN) {
            Some(pairs) if self.is_of_pairs => pairs.clone(),
            _ => Series::texts(std::iter::repeat_n(Some(&self.source), frame.rows())),
        };
        frame.add(SOURCE_COLUMN, source);
        if has_flows {
            let flows = (0..frame.rows()).map(|row| flow(&frame, row));
            let flows = Series::texts(flows);
            frame.add(FLOW_COLUMN, flows);
        }
        Ok(frame)
    }
}

fn flow(frame: &Frame, row: usize) -> Option<String> {
    let [initiator, responder] = ENDS.map(|column| frame.text(column, row));
    Some(format!("{} > {}", initiator?, responder?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of two flows.
    pub(super) const RATES: &str = "flow_id,initiator,responder,direction,goodput_bps\n\
        0,a:1,b:2,forward,900\n0,a:1,b:2,reverse,10\n1,a:3,b:2,reverse,700\n1,a:3,b:2,forward,20\n";

    pub(super) fn goodputs(frame: &Frame) -> Vec<Option<i64>> {
        let column = frame.column("goodput_bps").unwrap();
        (0..frame.rows()).map(|row| column.whole(row)).collect()
    }

    /// Writes CSV tables to a folder that lives as long as the guard.
    pub(super) fn folder(tables: &[(&str, &str)]) -> (tempfile::TempDir, Tables) {
        let dir = tempfile::tempdir().unwrap();
        let paths = tables.iter().map(|(name, text)| {
            let path = dir.path().join(format!("{name}.csv"));
            std::fs::write(&path, text).unwrap();
            path
        });
        let paths: Vec<PathBuf> = paths.collect();
        let mut found = Tables {
            paths: 1,
            ..Tables::default()
        };
        for (path, (name, _)) in paths.iter().zip(tables) {
            found.add(path, Some(name), "run".to_owned()).unwrap();
        }
        (dir, found)
    }
}
