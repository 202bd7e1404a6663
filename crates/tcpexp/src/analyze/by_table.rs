//! The tables of many datasets, one folder per table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tcpexp_runs::folders::{DATASET, datasets_at};
use tcpexp_runs::record::{FILE_NAME, Status};
use tcpexp_store::StoreOptions;
use tcpexp_table::dataset::{
    DatasetTable, RunColumn, RunColumns, RunValue, TableOutput, with_run_columns,
};

use super::again::columns_of;
use super::tables::written;
use super::{Manifest, recorded_runs, unwritten};
use crate::{DatasetDir, DatasetError, Error};

/// Name of the column with the run of a row.
const RUN_COLUMN: &str = "run";

/// A table of all datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTable {
    /// The table.
    pub table: DatasetTable,
    /// Number of rows.
    pub rows: u64,
    /// Length of its files in bytes.
    pub bytes: u64,
}

/// A dataset, and the columns that its tables get.
struct Run {
    name: String,
    path: PathBuf,
    manifest: Manifest,
    columns: RunColumns,
}

/// Writes the tables of many datasets to one folder per table, with one file per dataset.
///
/// Each of `paths` is a sweep, a run, a dataset or a folder of datasets. All files of a folder have the
/// same columns, so a program reads the folder as one table: the first columns are the name of the run,
/// unless the datasets have such a column, and the parameters. A parameter that has several types is
/// text. Runs of a sweep that are not complete are left out. Returns the tables with the rows and bytes
/// of all files.
pub fn merge_by_table(paths: &[PathBuf], out: DatasetDir) -> Result<Vec<WrittenTable>, Error> {
    let runs = runs_at(paths)?;
    let mut tables = Vec::new();
    for table in DatasetTable::ALL {
        let (mut rows, mut bytes) = (0, 0);
        for run in &runs {
            let stores = StoreOptions::default();
            let file = run.manifest.table(&run.path, table, &stores)?;
            let name = format!("{}/{}.parquet", table.name(), run.name);
            let path = out.path().join(&name);
            let replaced = |column: &str| run.manifest.run.contains_key(column);
            let output = TableOutput::new(out.file(&name)?);
            let file = with_run_columns(file, replaced, &run.columns, output);
            let (file, of_run) = file.map_err(|error| unwritten(path.clone(), error))?;
            let one = written(table.name(), of_run, file, path)?;
            rows += one.rows;
            bytes += one.bytes;
        }
        tables.push(WrittenTable { table, rows, bytes });
    }
    out.finish()?;
    Ok(tables)
}

/// The datasets at the paths, with equal columns.
fn runs_at(paths: &[PathBuf]) -> Result<Vec<Run>, Error> {
    let mut runs = Vec::new();
    for path in paths {
        for dataset in datasets_of(path)? {
            runs.push(Run::read(dataset)?);
        }
    }
    let mut columns: Vec<RunColumns> = runs.iter().map(|run| run.columns.clone()).collect();
    RunColumns::unify(&mut columns);
    let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (run, columns) in runs.iter_mut().zip(columns) {
        run.columns = columns;
        if let Some(other) = names.insert(run.name.clone(), run.path.clone()) {
            return Err(DatasetError::SameRun {
                path: run.path.clone(),
                other,
            }
            .into());
        }
    }
    Ok(runs)
}

fn datasets_of(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let datasets = datasets_at(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    if !datasets.is_empty() {
        return Ok(datasets);
    }
    let complete = recorded_runs(path)?
        .into_iter()
        .filter(|(_, record)| record.status == Status::Complete);
    Ok(complete.map(|(dir, _)| dir.join(DATASET)).collect())
}

impl Run {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let manifest = Manifest::read(&path)?;
        let name = name_of(&path);
        let mut columns = columns_of(&path, &manifest).columns().to_vec();
        if !manifest.run.contains_key(RUN_COLUMN) {
            let run = RunColumn {
                name: RUN_COLUMN.to_owned(),
                description: "Name of the dataset's directory.".to_owned(),
                value: RunValue::Text(Some(name.clone())),
            };
            columns.insert(0, run);
        }
        Ok(Self {
            name,
            columns: RunColumns::new(columns, DatasetTable::has_column),
            path,
            manifest,
        })
    }
}

/// The name of the dataset's directory; of the run's directory if the dataset is in one.
fn name_of(dataset: &Path) -> String {
    // Paths such as `.` have a name in canonical form only.
    let dir = dataset
        .canonicalize()
        .unwrap_or_else(|_| dataset.to_owned());
    let run = dir.parent().filter(|run| run.join(FILE_NAME).is_file());
    let name = run.unwrap_or(&dir).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
