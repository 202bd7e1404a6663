//! The record of one run: `run.json` in its directory.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tcpexp_table::dataset::TableMismatch;
use thiserror::Error;

pub(crate) use crate::parameter::PREFIX;
pub use crate::parameter::{NULL, Parameter, is_value};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// File name of the record.
pub const FILE_NAME: &str = "run.json";

/// The parameters, files and outcome of one run of a cell.
///
/// Times with `_ns` are nanoseconds since 1970, on the clock of the machine that drives the sweep
/// unless the field names another; times with `_s` are seconds since [`t0_ns`](Self::t0_ns).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of the format that wrote the record.
    pub schema: u32,
    /// Name of the run and of its directory.
    pub run: String,
    /// Hash of the cell's resolved parameters, in hex: equal for the repetitions of one cell, and
    /// for the same cell in another sweep.
    pub cell: String,
    /// Repetition of the cell, from 1.
    pub repetition: u32,
    /// Seed of the random numbers of the run.
    pub seed: u64,
    /// Hash of the plan's text, in hex.
    pub plan_hash: String,
    /// Outcome of the run.
    pub status: Status,
    /// Why the run is not complete; `None` if it is.
    pub reason: Option<String>,
    /// All parameters of path and traffic, varied or not, by column name (with the unit last).
    /// `None` means that the cell does not have the parameter.
    pub parameters: BTreeMap<String, Option<Parameter>>,
    /// The parameters that the plan's matrix varies, in the plan's order.
    pub varied: Vec<String>,
    /// Releases of the hosts' kernels, as `uname -r` prints them, by name of the host. Empty if the
    /// run ended before they were read, and in records of earlier versions.
    #[serde(default)]
    pub kernels: BTreeMap<String, String>,
    /// Kernel settings that the run made, as read back, by name of the host: `sysctl.KEY` and
    /// `module.MODULE.PARAMETER`. Empty if the run ended before, and in records of earlier versions.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// True if all hosts have the times of one clock, as those of the lab do, so that one-way delays
    /// need no estimate of the clock offset. False in records of earlier versions.
    #[serde(default)]
    pub has_one_clock: bool,
    /// Capture files.
    #[serde(default)]
    pub captures: Vec<CaptureRecord>,
    /// Log files.
    #[serde(default)]
    pub logs: Vec<LogRecord>,
    /// Traffic generators.
    #[serde(default)]
    pub traffic: Vec<TrafficRecord>,
    /// Planned start of the traffic, on the clock of the first source, which its capture has too;
    /// `None` if the run ended earlier.
    pub t0_ns: Option<i64>,
    /// The resolved path, in the format of plans and `netem-ctl`.
    pub bottleneck: Value,
    /// Calibration of the path before the run; `None` if there was none.
    pub calibration: Option<Calibration>,
    /// Counters of the forward bottleneck for the run; `None` without a bottleneck, or if the run
    /// ended before they were read.
    pub queue: Option<QueueCounters>,
    /// Changes of the path during the run.
    #[serde(default)]
    pub changes: Vec<ChangeRecord>,
    /// Start of the run.
    pub started_ns: i64,
    /// End of the run: path cleared and files fetched.
    pub finished_ns: i64,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything happened as planned.
    Complete,
    /// The run finished, but the path or a capture differs from the plan, so its figures are
    /// meaningless.
    Invalid,
    /// The run stopped early.
    Failed,
}

/// One capture file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// Name of the host in the plan.
    pub host: String,
    /// Role of the host.
    pub role: Role,
    /// Path relative to the run's directory.
    pub file: PathBuf,
    /// Packets that the capture tool reports as dropped; `None` without a report.
    pub packets_dropped: Option<u64>,
    /// Packets that passed the filter in the kernel, including dropped ones. `None` without a report,
    /// and in records of earlier versions.
    #[serde(default)]
    pub packets_received: Option<u64>,
    /// Packets in the file, as the capture tool reports them.
    #[serde(default)]
    pub packets_captured: Option<u64>,
}

/// Role of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sends data; left of the bottleneck.
    Source,
    /// Holds the bottleneck.
    Router,
    /// Receives data; right of the bottleneck.
    Sink,
}

/// One log file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// Name of the host in the plan.
    pub host: String,
    /// Writer of the log: `queue`, `ss`, `tcp_probe`, `ping`, `siftr`, `columns` (a command of
    /// the plan), or a traffic tool.
    pub kind: String,
    /// Path relative to the run's directory.
    pub file: PathBuf,
    /// Name of the traffic generator, for the log of a generator.
    pub traffic: Option<String>,
}

/// One traffic generator: a tool between two addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficRecord {
    /// Name in the plan, followed by a number if there are several instances.
    pub name: String,
    /// The name without the number, by which generators are grouped.
    pub class: String,
    /// Tool that generates the traffic.
    pub tool: String,
    /// Source address of the data.
    pub from: String,
    /// Destination address of the data.
    pub to: String,
    /// Port of the server; `None` if the tool has none.
    pub port: Option<u16>,
    /// Planned start.
    pub start_s: f64,
    /// Planned duration; `None` if the traffic ends by itself.
    pub duration_s: Option<f64>,
    /// Congestion control; `None` for the host's default.
    pub cc: Option<String>,
    /// Media time of a segment, if the transfers are those of a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_s: Option<f64>,
    /// True if all its packets pass the filter of the captures. False if this is not known, and in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_captured: bool,
}

/// Measurements of the path before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Median round-trip time of the idle path.
    pub idle_rtt_ms: Option<f64>,
    /// Rate of the forward bottleneck under overload.
    pub rate_mbps: Option<f64>,
    /// Drops during the calibration, by device and queue.
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
}

/// Counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounters {
    /// Packets dropped.
    pub drops: u64,
    /// Packets forwarded.
    pub packets_sent: u64,
    /// Packets marked instead of dropped; `None` if the queue counts no marks, and in records of
    /// earlier versions.
    #[serde(default)]
    pub marks: Option<u64>,
}

/// A change of the path during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// Planned time.
    pub at_s: f64,
    /// Actual time on the router's clock; `None` if the router did not report it.
    pub executed_ns: Option<i64>,
    /// The change, in the format of the plan.
    pub what: String,
    /// The path after the change, as in [`RunRecord::bottleneck`]; `None` in records of earlier
    /// versions.
    #[serde(default)]
    pub bottleneck: Option<Value>,
}

/// Errors of reading and writing records.
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
    /// The file is not a record of a run.
    #[error("{} is not a record of a run", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The dataset is damaged.
    #[error("the dataset {} is damaged", path.display())]
    Damaged {
        /// The dataset.
        path: PathBuf,
        /// Why.
        source: TableMismatch,
    },
    /// The dataset has the rows of many runs.
    #[error(
        "{} joins many pairs of captures: name the folder with their datasets, in which `tcpexp analyze --pairs` wrote them",
        path.display()
    )]
    Pairs {
        /// The dataset.
        path: PathBuf,
    },
    /// The dataset has the flows of one part only.
    #[error("{} is part {shard} of a dataset: join all parts with `tcpexp merge`", path.display())]
    Part {
        /// The dataset.
        path: PathBuf,
        /// The part.
        shard: String,
    },
    /// A later version of the program wrote the record.
    #[error("{} has schema {found}, but this program reads at most {SCHEMA}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

/// The number of a record's schema.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

impl RunRecord {
    /// Reads the record from a run's directory.
    pub fn read(run_dir: &Path) -> Result<Self, RecordError> {
        let path = run_dir.join(FILE_NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(source) => return Err(RecordError::Read { path, source }),
        };
        // A later schema may have other fields, so its number is read first.
        let Versioned { schema: found } = match serde_json::from_slice(&text) {
            Ok(versioned) => versioned,
            Err(source) => return Err(RecordError::Format { path, source }),
        };
        if found > SCHEMA {
            return Err(RecordError::Schema { path, found });
        }
        serde_json::from_slice(&text).map_err(|source| RecordError::Format { path, source })
    }

    /// Reads the record from a run's directory; `None` if the run has none, because it was interrupted.
    pub fn read_if_there(run_dir: &Path) -> Result<Option<Self>, RecordError> {
        use io::ErrorKind::{NotADirectory, NotFound};
        match Self::read(run_dir) {
            Ok(record) => Ok(Some(record)),
            Err(RecordError::Read { source, .. })
                if matches!(source.kind(), NotFound | NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the record into a run's directory atomically.
    pub fn write(&self, run_dir: &Path) -> Result<(), RecordError> {
        let path = run_dir.join(FILE_NAME);
        let write = || -> io::Result<()> {
            // `tempfile` creates files with mode 0600, which other users cannot read.
            let readable = Permissions::from_mode(0o644);
            let mut file = tempfile::Builder::new()
                .permissions(readable)
                // A rename replaces a file atomically only within one file system.
                .tempfile_in(run_dir)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            // The contents reach the disk before the name does, so a crash leaves no partial
            // record.
            file.as_file().sync_all()?;
            // `PersistError` repeats its source in its own message.
            file.persist(&path).map_err(|error| error.error)?;
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
    fn numbers_keep_their_type() {
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
    fn written_record_reads_back_equal() {
        let record: RunRecord = serde_json::from_str(TEXT).unwrap();
        let dir = tempfile::tempdir().unwrap();
        record.write(dir.path()).unwrap();
        assert_eq!(RunRecord::read(dir.path()).unwrap(), record);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn failed_rename_states_its_cause_once() {
        let record: RunRecord = serde_json::from_str(TEXT).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FILE_NAME)).unwrap();
        let Err(RecordError::Write { source, .. }) = record.write(dir.path()) else {
            panic!("a directory is not replaced");
        };
        assert_eq!(source.raw_os_error(), Some(21), "{source}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn record_of_a_later_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        // A later version may also mean other things by the same fields.
        let later = TEXT
            .replace(r#""schema": 1"#, r#""schema": 2"#)
            .replace(r#""status": "invalid""#, r#""status": {"code": 7}"#);
        std::fs::write(dir.path().join(FILE_NAME), later).unwrap();
        let error = RunRecord::read(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("has schema 2, but this program reads at most 1"));
    }
}
