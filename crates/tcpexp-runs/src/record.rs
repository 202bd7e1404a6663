//! What one run was and how it ended: `run.json` in its directory.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// The version of the format, in `schema`.
pub const SCHEMA: u32 = 1;

/// The name of a record's file in its run's directory.
pub const FILE_NAME: &str = "run.json";

/// One run of one cell of a plan.
///
/// Times with `_ns` are nanoseconds since 1970 on the clock of the machine that drives the sweep;
/// times with `_s` are seconds since [`t0_ns`](Self::t0_ns).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA`] when it was written.
    pub schema: u32,
    /// The run's name, which is its directory's.
    pub run: String,
    /// Hash of the cell's resolved parameters, in hex: equal for the repetitions of one cell, and
    /// for the same cell in another sweep.
    pub cell: String,
    /// Which repetition of the cell this is, from 1.
    pub repetition: u32,
    /// What the run's random numbers came from.
    pub seed: u64,
    /// Hash of the plan's text, in hex.
    pub plan_hash: String,
    /// How it ended.
    pub status: Status,
    /// Why it is not complete; `None` if it is.
    pub reason: Option<String>,
    /// Parameters of path and traffic, both those that vary and those that do not. A name ends in
    /// its unit and is a column's name. `None` is a parameter that this cell does not have.
    pub parameters: BTreeMap<String, Option<Parameter>>,
    /// The parameters that the plan's matrix varies, in the plan's order.
    pub varied: Vec<String>,
    /// The captures that there are.
    #[serde(default)]
    pub captures: Vec<CaptureRecord>,
    /// The logs that there are.
    #[serde(default)]
    pub logs: Vec<LogRecord>,
    /// What sent.
    #[serde(default)]
    pub traffic: Vec<TrafficRecord>,
    /// When the traffic was to start; `None` if the run did not come that far.
    pub t0_ns: Option<i64>,
    /// The path as resolved, in the shape in which a plan and `netem-ctl` take it.
    pub bottleneck: Value,
    /// What was measured on the path before the run; `None` if it was not.
    pub calibration: Option<Calibration>,
    /// What the bottleneck's own counters say about the run, forward direction; `None` if there
    /// is no bottleneck there or the run did not come that far.
    pub queue: Option<QueueCounters>,
    /// What changed on the path during the run.
    #[serde(default)]
    pub changes: Vec<ChangeRecord>,
    /// When the run began.
    pub started_ns: i64,
    /// When it ended, the path cleared and the files fetched.
    pub finished_ns: i64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All that was planned happened.
    Complete,
    /// It ran, but the path or a capture was not what the plan says, so its numbers mean nothing.
    Invalid,
    /// It did not run to its end.
    Failed,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// Yes or no.
    Flag(bool),
    /// A count.
    Count(i64),
    /// A quantity, in the unit that the parameter's name ends in.
    Number(f64),
    /// A name.
    Text(String),
}

/// One capture file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// The host's name in the plan.
    pub host: String,
    /// What that host is.
    pub role: Role,
    /// Path below the run's directory.
    pub file: PathBuf,
    /// Packets that the capture lost, as its tool says; `None` if it did not say.
    pub packets_dropped: Option<u64>,
}

/// What a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Data comes from here: left of the bottleneck.
    Source,
    /// Has the bottleneck.
    Router,
    /// Data goes here: right of the bottleneck.
    Sink,
}

/// One log file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The host's name in the plan.
    pub host: String,
    /// What wrote it: `queue`, `ss`, `tcp_probe`, `ping`, `siftr`, or a traffic tool.
    pub kind: String,
    /// Path below the run's directory.
    pub file: PathBuf,
    /// The traffic that it belongs to, if it is a generator's.
    pub traffic: Option<String>,
}

/// One generator: one tool between two addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficRecord {
    /// Its name in the plan, with a number behind it if there are several of the kind.
    pub name: String,
    /// The name without the number: what to group by.
    pub class: String,
    /// The tool.
    pub tool: String,
    /// Address that the data comes from.
    pub from: String,
    /// Address that the data goes to.
    pub to: String,
    /// The server's port; `None` if the tool has none.
    pub port: Option<u16>,
    /// When it was to start.
    pub start_s: f64,
    /// For how long; `None` if it ends by itself.
    pub duration_s: Option<f64>,
    /// Its congestion control; `None` if it is the host's own.
    pub cc: Option<String>,
}

/// What was measured on the path before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Median round-trip time with nothing else on the path.
    pub idle_rtt_ms: Option<f64>,
    /// The rate at which the bottleneck sends forward when offered more.
    pub rate_mbps: Option<f64>,
    /// Drops meanwhile, by the device and queue that dropped.
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
}

/// What a queue counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounters {
    /// Packets dropped.
    pub drops: u64,
    /// Packets sent on.
    pub packets_sent: u64,
}

/// One change of the path during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// When it was to happen.
    pub at_s: f64,
    /// When it happened, on the router's clock; `None` if the router did not say.
    pub executed_ns: Option<i64>,
    /// What changed, as the plan says it.
    pub what: String,
}

/// Why a record could not be read or written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no record of a run.
    #[error("{} is no record of a run", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The record is of a later version than this program knows.
    #[error("{} has schema {found}, and this program knows {SCHEMA}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

impl RunRecord {
    /// The record in a run's directory.
    pub fn read(run_dir: &Path) -> Result<Self, RecordError> {
        let path = run_dir.join(FILE_NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(source) => return Err(RecordError::Read { path, source }),
        };
        let record: Self = match serde_json::from_slice(&text) {
            Ok(record) => record,
            Err(source) => return Err(RecordError::Format { path, source }),
        };
        if record.schema > SCHEMA {
            let found = record.schema;
            return Err(RecordError::Schema { path, found });
        }
        Ok(record)
    }

    /// Writes the record into a run's directory, whole or not at all.
    pub fn write(&self, run_dir: &Path) -> Result<(), RecordError> {
        let path = run_dir.join(FILE_NAME);
        let write = || -> io::Result<()> {
            let readable = Permissions::from_mode(0o644);
            let mut file = tempfile::Builder::new()
                .permissions(readable)
                .tempfile_in(run_dir)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|source| RecordError::Write {
            path: path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "schema": 1, "run": "0001", "cell": "c0ffee", "repetition": 1, "seed": 7,
        "plan_hash": "ab", "status": "invalid", "reason": "no queue",
        "parameters": {"cc": "cubic", "rate_mbps": 10.0, "buffer_packets": 50, "ecn": false,
                       "loss_percent": null},
        "varied": ["cc"],
        "captures": [{"host": "src1", "role": "source", "file": "captures/src1.pcap",
                      "packets_dropped": 0}],
        "t0_ns": null, "bottleneck": {}, "calibration": null,
        "queue": {"drops": 12, "packets_sent": 8123}, "started_ns": 1, "finished_ns": 2}"#;

    #[test]
    fn numbers_keep_their_kind() {
        let record: RunRecord = serde_json::from_str(TEXT).unwrap();
        insta::assert_debug_snapshot!(record.parameters, @r#"
        {
            "buffer_packets": Some(
                Count(
                    50,
                ),
            ),
            "cc": Some(
                Text(
                    "cubic",
                ),
            ),
            "ecn": Some(
                Flag(
                    false,
                ),
            ),
            "loss_percent": None,
            "rate_mbps": Some(
                Number(
                    10.0,
                ),
            ),
        }
        "#);
    }

    #[test]
    fn record_that_was_written_reads_the_same() {
        let record: RunRecord = serde_json::from_str(TEXT).unwrap();
        let dir = tempfile::tempdir().unwrap();
        record.write(dir.path()).unwrap();
        assert_eq!(RunRecord::read(dir.path()).unwrap(), record);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn record_of_a_later_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let later = TEXT.replace(r#""schema": 1"#, r#""schema": 2"#);
        std::fs::write(dir.path().join(FILE_NAME), later).unwrap();
        let error = RunRecord::read(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("has schema 2, and this program knows 1"));
    }
}
