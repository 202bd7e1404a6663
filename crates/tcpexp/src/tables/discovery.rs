//! Finds the tables of datasets, of sweeps and of single files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tcpexp_runs::captured::{is_of_pairs, records_of_datasets};
use tcpexp_runs::folders::{DATASET, RUNS, dataset_dirs, run_dirs};
use tcpexp_runs::record::{FILE_NAME, RunRecord, Status};
use tcpexp_runs::varied::varied;
use tcpexp_table::TableFile;
use tcpexp_table::dataset::StoredTables;

use super::apart::{Place, stem, told_apart};
use super::{Entry, Tables};
use crate::pairs::PAIR_COLUMN;
use crate::{DatasetError, Error, TablesError};

/// Columns that occur in one table only. They identify the table of a file that does not store the
/// table's name.
const SIGNS: [(&str, &str); 7] = [
    ("cwnd_source", "sender"),
    ("end_time", "events"),
    ("wire_rate_bps", "throughput"),
    ("turnaround_ns", "rtt"),
    ("ack_class", "rtt"),
    ("one_way_delay_ns", "owd"),
    ("duplicate_ack_packets", "flows"),
];

impl Tables {
    /// Finds the tables at `paths`. Each path is a sweep, a dataset, a folder of datasets or a table.
    ///
    /// Excludes incomplete runs of a sweep, because their numbers are not valid.
    pub fn find(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut found = Self {
            paths: paths.len(),
            compared: Some(Vec::new()),
            ..Self::default()
        };
        // The path below which each table is.
        let mut roots: Vec<&PathBuf> = Vec::new();
        // The runs of all paths, which enter figures together.
        let mut records: Vec<RunRecord> = Vec::new();
        for path in paths {
            if !path.is_dir() {
                let source = stem(path);
                found.add(path, None, source)?;
                found.compared = None;
            } else if path.join(RUNS).is_dir() {
                records.extend(found.add_sweep(path)?);
                found.add_compared(path);
            } else if path.join(DATASET).is_dir() {
                // The directory of a run has its dataset in a subdirectory.
                found.add_dataset(&path.join(DATASET), &stem(path))?;
                // The plan of the run, which names its classes, is that of the sweep.
                found.compared = None;
            } else {
                records.extend(found.add_datasets(path)?);
            }
            roots.resize(found.entries.len(), path);
        }
        found.varied.extend(varied(&records));
        found.tell_apart(&roots);
        Ok(found)
    }

    /// Gives runs and files of different places different names: rows with equal names are those of
    /// one run.
    fn tell_apart(&mut self, roots: &[&PathBuf]) {
        let place = |(entry, root): (&Entry, &&PathBuf)| ((*root).clone(), entry.source.clone());
        let places: Vec<Place> = self.entries.iter().zip(roots).map(place).collect();
        let known = places.iter().cloned().collect();
        let names = told_apart(&known);
        for (entry, place) in self.entries.iter_mut().zip(&places) {
            entry.source.clone_from(&names[place]);
        }
    }

    fn add_compared(&mut self, folder: &Path) {
        self.compared
            .iter_mut()
            .for_each(|folders| folders.push(folder.to_owned()));
    }

    pub(super) fn add(
        &mut self,
        path: &Path,
        table: Option<&str>,
        source: String,
    ) -> Result<(), Error> {
        let is_single = table.is_none();
        let is_known = |table| self.entries.iter().any(|entry| entry.table == table);
        let (table, columns) = match table {
            Some(table) if is_known(table) => (table.to_owned(), Vec::new()),
            _ => {
                let open = open(path)?;
                let columns = open.columns();
                let sign = SIGNS
                    .into_iter()
                    .find(|(column, _)| columns.contains(column));
                let own = open.name().map(short).or(sign.map(|(_, table)| table));
                let name = table.or(own).unwrap_or_default().to_owned();
                (name, columns.into_iter().map(str::to_owned).collect())
            }
        };
        self.entries.push(Entry {
            path: path.to_owned(),
            table,
            source,
            columns,
            is_single,
            is_of_pairs: false,
            listed: None,
            is_checked: OnceLock::new(),
            rows: None,
        });
        Ok(())
    }

    fn add_dataset(&mut self, folder: &Path, source: &str) -> Result<(), Error> {
        let first = self.entries.len();
        // A run whose table is missing would be left out without a word.
        let tables = StoredTables::of(folder).map_err(|source| DatasetError::Damaged {
            path: folder.to_owned(),
            source,
        })?;
        for path in listed(folder)? {
            if path.extension().is_some_and(|ending| ending == "parquet") {
                let table = stem(&path);
                self.add(&path, Some(&table), source.to_owned())?;
                if let Some(entry) = self.entries.last_mut() {
                    entry.listed = tables.entry(&table).cloned();
                }
            }
        }
        if is_of_pairs(folder) {
            for entry in &mut self.entries[first..] {
                entry.is_of_pairs = true;
            }
            if !self.varied.iter().any(|name| name == PAIR_COLUMN) {
                self.varied.push(PAIR_COLUMN.to_owned());
            }
        }
        if self.entries.len() > first {
            return Ok(());
        }
        Err(TablesError::NoTables {
            path: folder.to_owned(),
        }
        .into())
    }

    /// Adds the datasets in a folder, or the folder itself if it is a dataset; returns the records of those in a
    /// folder.
    fn add_datasets(&mut self, folder: &Path) -> Result<Vec<RunRecord>, Error> {
        let dirs = dataset_dirs(folder).map_err(|source| Error::Open {
            path: folder.to_owned(),
            source,
        })?;
        if dirs.is_empty() {
            // The rows of a part, or of many pairs, are not those of one run.
            match records_of_datasets(&[folder.to_owned()]) {
                Ok(_) => self.add_compared(folder),
                Err(_) => self.compared = None,
            }
            self.add_dataset(folder, &stem(run_of(folder)))?;
            return Ok(Vec::new());
        }
        self.add_compared(folder);
        let records = records_of_datasets(&dirs).map_err(Error::Record)?;
        for (dir, record) in dirs.iter().zip(&records) {
            self.add_dataset(dir, &record.run)?;
        }
        Ok(records)
    }

    /// Adds the complete runs of a sweep, and returns their records.
    fn add_sweep(&mut self, folder: &Path) -> Result<Vec<RunRecord>, Error> {
        let mut records = Vec::new();
        let known = self.entries.len();
        let runs = run_dirs(folder).map_err(|source| Error::Open {
            path: folder.join(RUNS),
            source,
        })?;
        for run in runs {
            let name = stem(&run);
            let record = match RunRecord::read(&run) {
                Ok(record) => record,
                Err(error) => {
                    self.left_out.push((name, error.to_string()));
                    continue;
                }
            };
            if record.status != Status::Complete {
                let reason = record.reason.unwrap_or_else(|| "not complete".to_owned());
                self.left_out.push((name, reason));
                continue;
            }
            match self.add_dataset(&run.join(DATASET), &name) {
                Ok(()) => records.push(record),
                // A run without a dataset is left out, but an unreadable or damaged table is an error.
                Err(error) if is_absent(&error) => {
                    self.left_out.push((name, "it was not analyzed".to_owned()));
                }
                Err(error) => return Err(error),
            }
        }
        if self.entries.len() > known {
            return Ok(records);
        }
        Err(TablesError::NoTables {
            path: folder.to_owned(),
        }
        .into())
    }
}

/// Maps the table names of all commands to those of a dataset.
fn short(name: &str) -> &str {
    match name.strip_prefix("dataset_").unwrap_or(name) {
        "single_rtt" => "rtt",
        "path" => "owd",
        "sender_events" => "events",
        other => other,
    }
}

fn open(path: &Path) -> Result<TableFile, Error> {
    let file = File::open(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    TableFile::open(file).map_err(|source| Error::Table {
        path: path.to_owned(),
        source,
    })
}

/// Lists the paths in a folder, sorted by name.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let named = |source| Error::Open {
        path: folder.to_owned(),
        source,
    };
    let entries = std::fs::read_dir(folder).map_err(named)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(named)?;
    // `read_dir` returns names in no fixed order.
    paths.sort();
    Ok(paths)
}

/// The run whose dataset is `folder`, or the folder itself.
fn run_of(folder: &Path) -> &Path {
    let run = folder.parent().filter(|_| folder.ends_with(DATASET));
    run.filter(|run| run.join(FILE_NAME).is_file())
        .unwrap_or(folder)
}

/// True if the error means that a run has no dataset.
fn is_absent(error: &Error) -> bool {
    match error {
        Error::Tables(TablesError::NoTables { .. }) => true,
        Error::Open { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}
