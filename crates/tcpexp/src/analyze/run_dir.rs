//! Analysis of the runs of a sweep, each in its own directory.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tcpexp_pair::spp::Clocks;
pub use tcpexp_runs::folders::DATASET as RUN_DATASET;
use tcpexp_runs::folders::{RUNS, run_dirs};
use tcpexp_runs::record::{FILE_NAME, LogRecord, Parameter, Role, RunRecord, TrafficRecord};
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_units::{TimeDelta, Timestamp};

use super::{
    AnalyzeInputs, AnalyzeOptions, DatasetDir, LogKind, LogSource, Manifest, Traffic, analyze,
};
use crate::{DatasetError, Error, Recording};

/// Parameters of one cell, by name.
pub type Parameters = BTreeMap<String, Option<Parameter>>;

/// Columns that a sweep adds to the parameters of its plan, and their order.
const OF_SWEEP: [&str; 3] = ["run", "cell", "repetition"];

/// True if these values of a dataset are those of a run in a sweep, not parameters of the user alone.
pub(super) fn are_of_sweep<T>(values: &BTreeMap<String, T>) -> bool {
    OF_SWEEP.iter().all(|name| values.contains_key(*name))
}

/// The leading columns of all tables of a sweep.
///
/// Build them from all cells, so that all tables of the sweep have the same columns. A parameter
/// that a cell lacks is null in its runs.
#[derive(Clone, Debug, Default)]
pub struct SweepColumns {
    /// Null values of the type that fits all cells; varied parameters first.
    parameters: Vec<(String, RunValue)>,
}

impl SweepColumns {
    /// Returns the columns for cells with these parameters. `varied` parameters come first.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Parameters>, varied: &[String]) -> Self {
        let mut all: BTreeMap<&str, Option<RunValue>> = BTreeMap::new();
        for (name, parameter) in cells.into_iter().flatten() {
            let value = parameter.as_ref().map(|parameter| value(parameter).null());
            let known = all.entry(name).or_default();
            // Cells may give a parameter different types, such as 10 and 2.5: the column fits all
            // of them.
            *known = match (known.take(), value) {
                (Some(known), Some(value)) => Some(known.type_with(&value)),
                (known, value) => known.or(value),
            };
        }
        let place = |name: &str| {
            let place = varied.iter().position(|varied| varied == name);
            place.unwrap_or(varied.len())
        };
        let mut parameters: Vec<_> = all
            .into_iter()
            // A parameter without a value in any cell has no known type; text is the default.
            .map(|(name, value)| (name.to_owned(), value.unwrap_or(RunValue::Text(None))))
            .collect();
        // The sort is stable, so parameters that do not vary stay in the order of their names.
        parameters.sort_by_key(|(name, _)| place(name));
        Self { parameters }
    }

    /// Returns the columns for all runs of a sweep.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> Self {
        let records: Vec<&RunRecord> = records.into_iter().collect();
        let varied = tcpexp_runs::varied::varied(records.iter().copied());
        Self::of(records.iter().map(|record| &record.parameters), &varied)
    }

    /// Returns these columns with the values of one run.
    pub(crate) fn of_run(&self, record: &RunRecord) -> RunColumns {
        let column = |name: &str, description: &str, value| RunColumn {
            name: name.to_owned(),
            description: description.to_owned(),
            value,
        };
        let [run, cell, repetition] = OF_SWEEP;
        let mut columns = vec![
            column(
                run,
                "The run's name in its sweep.",
                RunValue::Text(Some(record.run.clone())),
            ),
            column(
                cell,
                "Hash of the cell's parameters: the same for its repetitions.",
                RunValue::Text(Some(record.cell.clone())),
            ),
            column(
                repetition,
                "Which repetition of the cell, from 1.",
                RunValue::Count(Some(record.repetition.into())),
            ),
        ];
        for (name, null) in &self.parameters {
            let parameter = record.parameters.get(name).and_then(Option::as_ref);
            let value =
                parameter.map_or(null.clone(), |parameter| value(parameter).as_type_of(null));
            let what = "A parameter of the plan, in the unit that the name ends in. Null where the cell does not have it.";
            columns.push(column(name, what, value));
        }
        RunColumns::new(columns, DatasetTable::has_column)
    }
}

fn value(parameter: &Parameter) -> RunValue {
    match parameter {
        Parameter::Flag(flag) => RunValue::Flag(Some(*flag)),
        Parameter::Count(count) => RunValue::Count(Some(*count)),
        Parameter::Number(number) => RunValue::Number(Some(*number)),
        Parameter::Text(text) => RunValue::Text(Some(text.clone())),
    }
}

/// Analyses the run in `run_dir` and writes its dataset to the subdirectory [`RUN_DATASET`].
///
/// The run's record overrides `options` for names, parameters, traffic, origin and the link's rate.
/// Captures of several hosts on one side are merged, so their clocks must agree.
pub fn analyze_run(
    run_dir: &Path,
    columns: &SweepColumns,
    options: &AnalyzeOptions,
) -> Result<Manifest, Error> {
    let record = RunRecord::read(run_dir).map_err(Error::Record)?;
    let out = DatasetDir::create(&run_dir.join(RUN_DATASET))?;
    analyze_run_into(run_dir, &record, columns, options, out)
}

/// Like [`analyze_run`], with the run's record and for any output directory.
pub fn analyze_run_into(
    run_dir: &Path,
    record: &RunRecord,
    columns: &SweepColumns,
    options: &AnalyzeOptions,
    out: DatasetDir,
) -> Result<Manifest, Error> {
    let source = side(run_dir, record, Role::Source)?;
    let sink = side(run_dir, record, Role::Sink)?;
    let (src, dst) = match (source, sink) {
        (Some(source), sink) => (source, sink),
        // A single capture takes the first place, on whichever side it was taken.
        (None, Some(sink)) => (sink, None),
        (None, None) => {
            return Err(DatasetError::NoCaptures {
                path: run_dir.join(FILE_NAME),
            }
            .into());
        }
    };
    let logs: Vec<LogSource> = record
        .logs
        .iter()
        .filter_map(|log| log_source(run_dir, log))
        .collect();
    let t0 = record.t0_ns.map(Timestamp::from_nanos);
    let options = AnalyzeOptions {
        run: columns.of_run(record),
        origin: t0.or(options.origin),
        link_rate_bps: rate_bps(record).or(options.link_rate_bps),
        clocks: if record.has_one_clock {
            Clocks::One
        } else {
            options.clocks
        },
        traffic: record.traffic.iter().filter_map(traffic).collect(),
        ..options.clone()
    };
    let inputs = AnalyzeInputs {
        logs: &logs,
        path_changes: &path_changes(record),
        ..AnalyzeInputs::new(&src, dst.as_ref())
    };
    analyze(inputs, &options, out)
}

/// Opens the captures of the hosts on one side of the bottleneck, merged into one.
fn side(run_dir: &Path, record: &RunRecord, role: Role) -> Result<Option<Recording>, Error> {
    let captures = record
        .captures
        .iter()
        .filter(|capture| capture.role == role);
    let parts: Result<Vec<_>, _> = captures
        .map(|capture| Recording::open(&run_dir.join(&capture.file)))
        .collect();
    let mut parts = parts?;
    // Merging writes a temporary copy, which a single capture does not need.
    if parts.len() > 1 {
        return Recording::merged(&parts).map(Some);
    }
    Ok(parts.pop())
}

/// Returns the source of a log of known kind. Other logs are for human readers.
fn log_source(run_dir: &Path, log: &LogRecord) -> Option<LogSource> {
    Some(LogSource {
        path: run_dir.join(&log.file),
        name: log.file.display().to_string().into(),
        kind: Some(LogKind::named(&log.kind)?),
        // The captures of a run remain usable without one of its logs.
        is_optional: true,
    })
}

/// Returns the traffic of a record, or `None` for ping, which has no flows in captures.
fn traffic(record: &TrafficRecord) -> Option<Traffic> {
    if record.tool == "ping" {
        return None;
    }
    let host = |address: &str| address.parse::<IpAddr>().ok();
    Some(Traffic {
        name: record.name.as_str().into(),
        class: record.class.as_str().into(),
        hosts: [host(&record.from)?, host(&record.to)?],
        port: record.port,
        has_control_connection: record.tool == "iperf3",
    })
}

/// Returns the bottleneck's rate in forward direction, in bits per second of Ethernet frames. `None` if
/// it counts bytes of another link layer, or if there are several routers in a row.
fn rate_bps(record: &RunRecord) -> Option<u64> {
    if record.bottleneck.get("hops").is_some() {
        return None;
    }
    if ["linklayer", "overhead_bytes"]
        .iter()
        .any(|key| record.parameters.contains_key(*key))
    {
        return None;
    }
    let mbps = match record.parameters.get("rate_mbps")?.as_ref()? {
        Parameter::Number(mbps) => *mbps,
        Parameter::Count(mbps) => *mbps as f64,
        Parameter::Flag(_) | Parameter::Text(_) => return None,
    };
    let bps = (mbps * 1e6).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 10^15"
    )]
    (1.0..1e15).contains(&bps).then_some(bps as u64)
}

/// Returns the changes of the path at their actual times, or else at their planned times.
fn path_changes(record: &RunRecord) -> Vec<(Timestamp, Arc<str>)> {
    let changes = record.changes.iter().filter_map(|change| {
        let planned = || {
            let after = TimeDelta::from_seconds_f64(change.at_s);
            Some(Timestamp::from_nanos(record.t0_ns?) + after)
        };
        let at = change.executed_ns.map(Timestamp::from_nanos);
        Some((at.or_else(planned)?, change.what.as_str().into()))
    });
    changes.collect()
}

/// Reads the records of the runs at `path`, a run's or a sweep's directory, sorted by name.
///
/// Skips directories without a record: their runs have not ended.
pub fn recorded_runs(path: &Path) -> Result<Vec<(PathBuf, RunRecord)>, Error> {
    let read = |dir: PathBuf| {
        let record = RunRecord::read(&dir).map_err(Error::Record)?;
        Ok((dir, record))
    };
    if path.join(FILE_NAME).is_file() {
        return Ok(vec![read(path.to_owned())?]);
    }
    let runs = path.join(RUNS);
    if !runs.is_dir() {
        return Err(DatasetError::NoRuns {
            path: path.to_owned(),
        }
        .into());
    }
    let dirs = run_dirs(path).map_err(|source| Error::Open { path: runs, source })?;
    let ended = dirs.into_iter().filter(|dir| dir.join(FILE_NAME).is_file());
    ended.map(read).collect()
}

/// Returns the columns that the run in `run_dir` shares with the other ended runs of its sweep.
pub fn columns_beside(run_dir: &Path) -> Result<SweepColumns, Error> {
    // A path such as `.` shows its parent only in canonical form.
    let sweep = fs::canonicalize(run_dir).ok().and_then(|dir| {
        let runs = dir.parent()?;
        (runs.file_name()? == RUNS).then(|| runs.parent().map(Path::to_owned))?
    });
    // `run_dir` may be the sweep itself, or a run outside of a sweep.
    let records = recorded_runs(sweep.as_deref().unwrap_or(run_dir))?;
    Ok(SweepColumns::of_records(
        records.iter().map(|(_, record)| record),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn parameters_that_any_plan_varies_come_first() {
        let record = |cell: &str, parameters: Value, varied: Value| -> RunRecord {
            let record = json!({
                "schema": 1, "run": "r", "cell": cell, "repetition": 1, "seed": 1, "plan_hash": "h",
                "status": "complete", "parameters": parameters, "varied": varied, "bottleneck": null,
                "started_ns": 0, "finished_ns": 1,
            });
            serde_json::from_value(record).unwrap()
        };
        let records = [
            record("a", json!({"a": 1, "loss": 0, "rate": 1}), json!(["rate"])),
            record("b", json!({"a": 1, "loss": 1, "rate": 1}), json!(["loss"])),
        ];
        let columns = SweepColumns::of_records(&records);
        let names: Vec<&str> = columns
            .parameters
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["rate", "loss", "a"]);
    }
}
