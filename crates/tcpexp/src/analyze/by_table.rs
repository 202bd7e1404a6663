//! The tables of many datasets, one folder per table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tcpexp_runs::folders::{DATASET, datasets_at};
use tcpexp_runs::record::{FILE_NAME, Status};
use tcpexp_store::StoreOptions;
use tcpexp_table::Error as TableError;
use tcpexp_table::dataset::{
    DatasetTable, RunColumn, RunColumns, RunValue, TableOutput, with_run_columns,
};

use super::again::columns_of;
use super::run_dir::are_of_sweep;
use super::tables::{file_name, written};
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
/// same columns, so a program reads the folder as one table: the first columns are the name of the run
/// and the parameters. A parameter that is itself called `run` becomes `param_run`. A parameter that has
/// several types is text. Runs of a sweep that are not complete are left out. Returns the tables with the
/// rows and bytes of all files.
pub fn merge_by_table(paths: &[PathBuf], out: DatasetDir) -> Result<Vec<WrittenTable>, Error> {
    let runs = runs_at(paths)?;
    let mut tables = Vec::new();
    for table in DatasetTable::ALL {
        let (mut rows, mut bytes) = (0, 0);
        for run in &runs {
            let stores = StoreOptions::default();
            let file = run.manifest.table(&run.path, table, &stores)?;
            let name = format!("{}/{}", table.name(), file_name_of(&run.name));
            let path = out.path().join(&name);
            let replaced = |column: &str| run.manifest.run.contains_key(column);
            let output = TableOutput::new(out.file(&name)?);
            let file = with_run_columns(file, replaced, &run.columns, output);
            let (file, of_run) = file.map_err(|error| match error {
                TableError::Write(_) | TableError::Encode(_) | TableError::Parquet(_) => {
                    unwritten(path.clone(), error)
                }
                source => Error::Table {
                    path: run.path.join(file_name(table)),
                    source,
                },
            })?;
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
        if let Some(other) = names.insert(file_name_of(&run.name), run.path.clone()) {
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
        // A sweep has named the run. A parameter of the user may have one value in several datasets.
        if !are_of_sweep(&manifest.run) {
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

/// Name of the file with the rows of a run.
///
/// pyarrow, and with it pandas, skips files whose names begin with `_` or `.`: such names get a prefix.
/// The column `run` keeps the name.
fn file_name_of(run: &str) -> String {
    let prefix = if run.starts_with(['_', '.']) {
        "run"
    } else {
        ""
    };
    format!("{prefix}{run}.parquet")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tcpexp_table::TableFile;
    use tcpexp_testkit::script;

    use super::*;
    use crate::{AnalyzeInputs, AnalyzeOptions, Recording, analyze};

    /// Analyses a capture to a dataset in `folder` with these parameters.
    fn dataset(folder: &Path, name: &str, parameters: &[(&str, &str)]) {
        let capture = script::capture("0.00 > S\n0.04 < S.\n0.05 > .");
        let src = Recording::spool("src".into(), capture.as_slice()).unwrap();
        let columns = parameters.iter().map(|(name, value)| RunColumn {
            name: (*name).to_owned(),
            description: String::new(),
            value: RunValue::Text(Some((*value).to_owned())),
        });
        let options = AnalyzeOptions {
            run: RunColumns::new(columns.collect(), DatasetTable::has_column),
            ..AnalyzeOptions::default()
        };
        let out = DatasetDir::create(&folder.join(name)).unwrap();
        analyze(AnalyzeInputs::new(&src, None), &options, out).unwrap();
    }

    /// Name and value of the first columns of each run.
    fn first_columns(folder: &Path) -> Vec<String> {
        let runs = runs_at(&[folder.to_owned()]).unwrap();
        let shown = |column: &RunColumn| {
            let value = column.value.text().unwrap_or("null".to_owned());
            format!("{}={value}", column.name)
        };
        let shown = |run: &Run| {
            run.columns
                .columns()
                .iter()
                .map(shown)
                .collect::<Vec<_>>()
                .join(" ")
        };
        runs.iter().map(shown).collect()
    }

    #[test]
    fn a_parameter_named_run_does_not_replace_the_name_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let sets = folder.path().join("sets");
        std::fs::create_dir(&sets).unwrap();
        dataset(&sets, "alice", &[("run", "1")]);
        dataset(&sets, "bob", &[("run", "1"), ("cc", "reno")]);
        dataset(&sets, "carol", &[]);
        assert_eq!(
            first_columns(&sets),
            [
                "run=alice param_run=1 cc=null",
                "run=bob param_run=1 cc=reno",
                "run=carol param_run=null cc=null"
            ]
        );
        let out = folder.path().join("all");
        merge_by_table(&[sets], DatasetDir::create(&out).unwrap()).unwrap();
        let file = File::open(out.join("flows/bob.parquet")).unwrap();
        let table = TableFile::open(file).unwrap();
        let columns = table.columns();
        assert_eq!(columns[..3], ["run", "param_run", "cc"]);
        assert!(!columns[3..].contains(&"run"));
    }

    #[test]
    fn no_file_name_begins_with_a_character_that_pyarrow_skips() {
        let folder = tempfile::tempdir().unwrap();
        let sets = folder.path().join("sets");
        std::fs::create_dir(&sets).unwrap();
        dataset(&sets, "_base", &[]);
        dataset(&sets, "new", &[]);
        let out = folder.path().join("all");
        merge_by_table(
            std::slice::from_ref(&sets),
            DatasetDir::create(&out).unwrap(),
        )
        .unwrap();
        assert!(out.join("flows/run_base.parquet").is_file());
        assert!(out.join("flows/new.parquet").is_file());
        assert_eq!(first_columns(&sets), ["run=_base", "run=new"]);
        dataset(&sets, "run_base", &[]);
        let out = DatasetDir::create(&folder.path().join("both")).unwrap();
        assert!(merge_by_table(&[sets], out).is_err());
    }

    #[test]
    fn a_sweep_keeps_the_name_that_it_gave_to_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let values = [("run", "0001"), ("cell", "c0"), ("repetition", "1")];
        dataset(folder.path(), "copy", &values);
        assert_eq!(
            first_columns(folder.path()),
            ["run=0001 cell=c0 repetition=1"]
        );
    }
}
