//! Datasets of the user's own captures, as runs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tcpexp_table::dataset::{MANIFEST_FILE_NAME, PAIRS_MANIFEST_KIND, StoredTables, TableMismatch};

use crate::hash;
use crate::record::{PREFIX, Parameter, RecordError, RunRecord, SCHEMA, Status};

/// The field that every manifest has.
#[derive(Deserialize)]
struct Kind {
    kind: String,
}

/// The fields of a dataset's manifest that make it a run.
#[derive(Deserialize)]
struct Manifest {
    run: BTreeMap<String, Option<Parameter>>,
    origin_ns: i64,
    options: Options,
}

/// The options of an analysis that change which flows a dataset has.
#[derive(Deserialize)]
struct Options {
    /// The part of a divided analysis; `None` for the whole.
    shard: Option<String>,
}

/// What is known of a run that no sweep made.
#[derive(Clone, Debug, Default)]
pub struct NamedRun {
    /// Its name.
    pub run: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, Option<Parameter>>,
    /// Start of its traffic; `None` if unknown.
    pub t0_ns: Option<i64>,
}

/// The parameter that names a run, as the column of a sweep's tables does.
const NAME: &str = "run";

/// True for the parameter that names a run. In tables with a column of this name, it has a prefix.
pub(crate) fn is_name_of_run(parameter: &str) -> bool {
    parameter.strip_prefix(PREFIX).unwrap_or(parameter) == NAME
}

/// The records that a sweep would have for these datasets: complete runs, whose parameters are those
/// of `tcpexp analyze --param`, and whose traffic no plan names.
pub fn records_of_datasets(datasets: &[PathBuf]) -> Result<Vec<RunRecord>, RecordError> {
    let named = |dataset: &PathBuf| {
        let manifest = manifest(dataset)?;
        Ok(NamedRun {
            run: name_of(dataset),
            parameters: manifest.run,
            t0_ns: Some(manifest.origin_ns),
        })
    };
    let runs: Result<Vec<NamedRun>, RecordError> = datasets.iter().map(named).collect();
    Ok(records_of_runs(runs?))
}

/// The records of complete runs without captures, logs and traffic, in the order of `runs`.
///
/// Runs with the same parameters are repetitions of one cell. A parameter varies if the runs have
/// different values of it. A parameter `run` that no two runs share is a name: it varies only if no other
/// one does.
pub fn records_of_runs(mut runs: Vec<NamedRun>) -> Vec<RunRecord> {
    let values = runs.iter_mut().flat_map(|one| one.parameters.values_mut());
    values.flatten().for_each(Parameter::unify);
    let names: BTreeSet<&String> = runs.iter().flat_map(|one| one.parameters.keys()).collect();
    let first = runs.first().map(|one| &one.parameters);
    // The lack of a parameter is a value of its own.
    let differs = |name: &&&String| {
        let mut others = runs.iter().map(|one| one.parameters.get(**name));
        others.any(|value| Some(value) != first.map(|run| run.get(**name)))
    };
    let mut varied: Vec<String> = names
        .iter()
        .filter(differs)
        .map(ToString::to_string)
        .collect();
    let is_name = varied.len() > 1 && has_own_names(&runs);
    varied.retain(|name| !(is_name && name == NAME));
    let mut repetitions: HashMap<String, u32> = HashMap::new();
    let record = |named: NamedRun| {
        let of_cell = named.parameters.iter();
        let cell = cell(of_cell.filter(|(name, _)| !(is_name && *name == NAME)));
        let repetition = repetitions.entry(cell.clone()).or_default();
        *repetition += 1;
        RunRecord {
            schema: SCHEMA,
            run: named.run,
            cell,
            repetition: *repetition,
            seed: 0,
            plan_hash: String::new(),
            status: Status::Complete,
            reason: None,
            parameters: named.parameters,
            varied: varied.clone(),
            kernels: BTreeMap::new(),
            has_one_clock: false,
            settings: BTreeMap::new(),
            captures: Vec::new(),
            logs: Vec::new(),
            traffic: Vec::new(),
            t0_ns: named.t0_ns,
            bottleneck: Value::Null,
            calibration: None,
            queue: None,
            changes: Vec::new(),
            started_ns: named.t0_ns.unwrap_or_default(),
            finished_ns: named.t0_ns.unwrap_or_default(),
        }
    };
    runs.into_iter().map(record).collect()
}

/// True if each run has a parameter `run` of its own.
fn has_own_names(runs: &[NamedRun]) -> bool {
    let name = |one: &NamedRun| Some(one.parameters.get(NAME)?.as_ref()?.to_string());
    let own: Option<HashSet<String>> = runs.iter().map(name).collect();
    own.is_some_and(|own| own.len() == runs.len())
}

/// True if the dataset joins those of many pairs of captures, so that its flows have equal numbers.
pub fn is_of_pairs(dataset: &Path) -> bool {
    File::open(dataset.join(MANIFEST_FILE_NAME)).is_ok_and(|file| {
        serde_json::from_reader::<_, Kind>(BufReader::new(file))
            .is_ok_and(|is| is.kind == PAIRS_MANIFEST_KIND)
    })
}

/// Fails if the dataset joins those of many pairs: its rows are those of many runs.
pub fn require_one_run(dataset: &Path) -> Result<(), RecordError> {
    if is_of_pairs(dataset) {
        return Err(RecordError::Pairs {
            path: dataset.to_owned(),
        });
    }
    Ok(())
}

fn manifest(dataset: &Path) -> Result<Manifest, RecordError> {
    require_one_run(dataset)?;
    let path = dataset.join(MANIFEST_FILE_NAME);
    let file = match File::open(&path) {
        Ok(file) => file,
        // Tables of other commands are no part of a damaged dataset.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(match StoredTables::of(dataset) {
                Err(source @ TableMismatch::NoManifest) => RecordError::Damaged {
                    path: dataset.to_owned(),
                    source,
                },
                _ => RecordError::Read {
                    path,
                    source: error,
                },
            });
        }
        Err(source) => return Err(RecordError::Read { path, source }),
    };
    let manifest: Manifest = serde_json::from_reader(BufReader::new(file))
        .map_err(|source| RecordError::Format { path, source })?;
    // The rows of one part would pass for those of a whole run.
    match manifest.options.shard {
        Some(shard) => Err(RecordError::Part {
            path: dataset.to_owned(),
            shard,
        }),
        None => Ok(manifest),
    }
}

/// The hash of the parameters. Their JSON texts differ if they differ, whatever their names and values.
fn cell<'a>(parameters: impl Iterator<Item = (&'a String, &'a Option<Parameter>)>) -> String {
    let all: BTreeMap<_, _> = parameters.collect();
    // Maps of strings and numbers always have a JSON text.
    let text = serde_json::to_string(&all).unwrap_or_default();
    hash::hex(text.as_bytes())
}

fn name_of(dataset: &Path) -> String {
    let name = dataset.file_name().unwrap_or(dataset.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of datasets with the parameters `cc` and `run`.
    fn records(parameters: [[&str; 2]; 4]) -> Vec<RunRecord> {
        let named = parameters.map(|[cc, run]| {
            let text = |value: &str| Some(Parameter::Text(value.to_owned()));
            NamedRun {
                run: format!("{cc}-{run}"),
                parameters: BTreeMap::from([
                    ("cc".to_owned(), text(cc)),
                    (NAME.to_owned(), text(run)),
                ]),
                t0_ns: None,
            }
        });
        records_of_runs(named.into())
    }

    #[test]
    fn runs_that_differ_by_their_name_alone_are_repetitions() {
        let records = records([["bbr", "a"], ["bbr", "b"], ["reno", "c"], ["reno", "d"]]);
        assert_eq!(records[0].varied, ["cc"]);
        let repetitions: Vec<u32> = records.iter().map(|record| record.repetition).collect();
        assert_eq!(repetitions, [1, 2, 1, 2]);
    }

    #[test]
    fn a_parameter_run_with_the_same_value_in_several_datasets_varies() {
        let records = records([
            ["bbr", "old"],
            ["bbr", "new"],
            ["reno", "old"],
            ["reno", "new"],
        ]);
        assert_eq!(records[0].varied, ["cc", "run"]);
        assert!(records.iter().all(|record| record.repetition == 1));
    }

    #[test]
    fn datasets_with_different_parameters_are_of_different_cells() {
        let named = |parameters: &[(&str, Option<Parameter>)]| NamedRun {
            run: String::new(),
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            t0_ns: None,
        };
        let text = |value: &str| Some(Parameter::Text(value.to_owned()));
        let records = records_of_runs(vec![
            named(&[("a", text("1 b=2"))]),
            named(&[("a", text("1")), ("b", text("2"))]),
            named(&[("a", Some(Parameter::Count(1))), ("b", text("2"))]),
            named(&[("a", None)]),
            named(&[("a", text(""))]),
        ]);
        let cells: HashSet<&String> = records.iter().map(|record| &record.cell).collect();
        assert_eq!(cells.len(), records.len());
    }

    #[test]
    fn equal_numbers_are_of_one_cell_however_they_are_written() {
        let named = |p: &str| NamedRun {
            run: p.to_owned(),
            parameters: BTreeMap::from([("p".to_owned(), Some(Parameter::of_text(p)))]),
            t0_ns: None,
        };
        for equal in [["0", "-0", "0.0"], ["10", "10.0", "1e1"]] {
            let records = records_of_runs(equal.map(named).into());
            assert!(records[0].varied.is_empty());
            assert_eq!(records[2].repetition, 3);
        }
        let records = records_of_runs(["1", "1.5", "5.10"].map(named).into());
        assert!(records.iter().all(|record| record.repetition == 1));
    }

    #[test]
    fn a_parameter_run_that_alone_differs_varies() {
        let records = records([["bbr", "a"], ["bbr", "b"], ["bbr", "c"], ["bbr", "d"]]);
        assert_eq!(records[0].varied, ["run"]);
        assert!(records.iter().all(|record| record.repetition == 1));
    }
}
