//! Tests of Flent: a data file per run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tcpexp_logs::import::{Format, SeriesSample, TestInfo};
use tcpexp_runs::captured::{NamedRun, records_of_runs};
use tcpexp_runs::folders::{DATASET, RUNS};
use tcpexp_runs::record::{Parameter, RunRecord, Status};
use tcpexp_table::{RowsWriter, run_sample_columns, run_series_columns};
use tcpexp_units::{counted, with_causes};

use super::ForeignRun;
use crate::analyze::{Parameters, SweepColumns};
use crate::{Error, LogFile};

/// Ends of the names of data files. Early versions of Flent wrote the last four.
const ENDS: [&str; 7] = [
    ".flent.gz",
    ".flent.bz2",
    ".flent",
    ".flnt.gz",
    ".flnt.bz2",
    ".flnt",
    ".json.gz",
];
/// The word of a title that counts repetitions in Flent's batches.
const REPETITION: &str = "rep";

/// A data file, read.
struct Test {
    name: String,
    info: TestInfo,
    series: Vec<SeriesSample>,
    samples: Vec<SeriesSample>,
    /// Why it has no values.
    failure: Option<String>,
    /// Why values are missing.
    warnings: Vec<String>,
}

/// Reads the data files of Flent below `dir` and writes their series to the directories of their runs
/// in `out`.
///
/// Each file is a run: its parameters are the name of the test, the words `NAME:VALUE` of its title and the
/// parameters of the test. Its dataset has the tables `series`, with the values that Flent reports, and
/// `samples`, with what Flent's tools measured.
///
/// A file that cannot be read is a failed run with a reason.
pub fn flent_runs(dir: &Path, out: &Path) -> Result<Vec<ForeignRun>, Error> {
    let mut files = Vec::new();
    data_files(dir, &mut files).map_err(|source| Error::Open {
        path: dir.to_owned(),
        source,
    })?;
    files.sort_unstable();
    with_unique_names(&mut files, dir);
    if files.is_empty() {
        return Err(Error::NoExperiments {
            path: dir.to_owned(),
            wanted: "*.flent.gz of Flent",
        });
    }
    let tests: Vec<Test> = files
        .iter()
        .map(|(name, path)| Test::read(name, path))
        .collect();
    let records = records_of_runs(tests.iter().map(Test::named).collect());
    let columns = SweepColumns::of_records(&records);
    let runs = tests.into_iter().zip(records);
    runs.map(|(test, record)| test.into_run(record, &columns, out))
        .collect()
}

/// The data files below a directory, by the names of their runs.
fn data_files(dir: &Path, into: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    for entry in dir.read_dir()? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            data_files(&path, into)?;
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = ENDS.iter().find_map(|end| name.strip_suffix(end));
        into.extend(stem.map(|stem| (stem.to_owned(), path.clone())));
    }
    Ok(())
}

/// Names the runs of files with equal names by their folders too: `a-test` for `a/test.flent.gz`. Names that
/// are still equal get a number: `test-2`.
fn with_unique_names(files: &mut [(String, PathBuf)], dir: &Path) {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _) in files.iter() {
        *uses.entry(name.clone()).or_default() += 1;
    }
    for (name, path) in files.iter_mut().filter(|(name, _)| uses[name] > 1) {
        let folder = path
            .parent()
            .and_then(|folder| folder.strip_prefix(dir).ok());
        let folders = folder.into_iter().flat_map(Path::components);
        let folders = folders.map(|folder| folder.as_os_str().to_string_lossy());
        let words: Vec<_> = folders.chain([name.as_str().into()]).collect();
        *name = words.join("-");
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (name, _) in files {
        let base = name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            *name = format!("{base}-{number}");
        }
    }
}

impl Test {
    fn read(name: &str, path: &Path) -> Self {
        let mut test = Self {
            name: name.to_owned(),
            info: TestInfo::default(),
            series: Vec::new(),
            samples: Vec::new(),
            failure: None,
            warnings: Vec::new(),
        };
        let read = LogFile::open(path).and_then(|log| {
            log.read(Format::Flent, |batch| {
                if let Some(info) = batch.test {
                    test.info = info;
                }
                test.series.extend(batch.series);
                test.samples.extend(batch.series_samples);
                Ok::<_, Error>(())
            })
        });
        match read {
            Ok(report) => {
                let lost = report.lines.reasons.iter();
                let lost = lost.map(|(reason, count)| {
                    format!("{} not used: {reason}", counted(*count, "value"))
                });
                test.warnings.extend(lost);
            }
            Err(error) => test.failure = Some(with_causes(&error)),
        }
        test
    }

    fn named(&self) -> NamedRun {
        NamedRun {
            run: self.name.clone(),
            parameters: self.parameters(),
            t0_ns: self.info.start.map(tcpexp_units::Timestamp::as_nanos),
        }
    }

    fn parameters(&self) -> Parameters {
        let mut all = BTreeMap::new();
        let mut set = |name: &str, value: &str| {
            let letter = |c: char| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            };
            let name: String = name.chars().map(letter).collect();
            if !value.is_empty() {
                all.insert(name, Some(Parameter::of_text(value)));
            }
        };
        set("test", &self.info.name);
        for (name, value) in &self.info.parameters {
            set(name, value);
        }
        let words = self.info.title.split_whitespace();
        let (pairs, others): (Vec<&str>, Vec<&str>) = words.partition(|word| {
            word.split_once(':')
                .is_some_and(|(name, _)| !name.is_empty())
        });
        for (name, value) in pairs.iter().filter_map(|word| word.split_once(':')) {
            // Repetitions of one cell have equal parameters.
            if name != REPETITION {
                set(name, value);
            }
        }
        if !others.is_empty() {
            set("title", &others.join(" "));
        }
        all
    }

    fn into_run(
        self,
        mut record: RunRecord,
        columns: &SweepColumns,
        out: &Path,
    ) -> Result<ForeignRun, Error> {
        let run_dir = out.join(RUNS).join(&record.run);
        let cannot = |source| Error::Write {
            path: run_dir.clone(),
            source,
        };
        std::fs::create_dir_all(run_dir.join(DATASET)).map_err(cannot)?;
        let mut warnings = self.warnings;
        if self.info.is_start_estimated && self.failure.is_none() {
            let from = self.info.start.map_or("1970", |_| "its earliest sample");
            warnings.push(format!(
                "the start of the test is unknown, so times count from {from}"
            ));
        }
        if let Some(failure) = self.failure {
            record.status = Status::Failed;
            record.reason = Some(failure);
        }
        record.t0_ns.get_or_insert(0);
        let run = columns.of_run(&record);
        let tables = [
            ("series", run_series_columns(&run), self.series),
            ("samples", run_sample_columns(&run), self.samples),
        ];
        for (name, columns, rows) in tables {
            let path = run_dir.join(DATASET).join(format!("{name}.parquet"));
            let cannot = |source| Error::Write {
                path: path.clone(),
                source,
            };
            let file = std::fs::File::create(&path).map_err(cannot)?;
            let written = RowsWriter::new(tcpexp_table::Format::Parquet, columns, file).and_then(
                |mut table| {
                    table.write(rows)?;
                    table.finish()
                },
            );
            written.map_err(|error| cannot(std::io::Error::other(error)))?;
        }
        Ok(ForeignRun { record, warnings })
    }
}
