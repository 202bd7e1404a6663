//! What a dataset was made of and how: `manifest.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tcpexp_table::dataset::{DATASET_VERSION, RunColumns, RunValue};

use super::dataset_dir::DatasetDir;
use super::manifest_file::{FILE_NAME, KIND};
use super::tables::WrittenTable;
use crate::{CaptureInfo, Error};

/// All that must be known of a dataset beside its rows.
///
/// It holds no time of day: the same input gives the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// That this is a dataset of tcpexp.
    pub kind: String,
    /// Version of the tables' columns.
    pub schema_version: u32,
    /// Version of the program that made it.
    pub tcpexp_version: String,
    /// The captures, that of the source first.
    pub captures: Vec<CaptureInput>,
    /// The logs.
    pub logs: Vec<LogInput>,
    /// What was set.
    pub options: BTreeMap<String, serde_json::Value>,
    /// What tells the run apart from others: the first columns of all tables.
    pub run: BTreeMap<String, serde_json::Value>,
    /// What the column `time_s` counts from, in nanoseconds since 1970 on the source's clock.
    pub origin_ns: i64,
    /// What the captures say about each other; `None` with one capture.
    pub comparison: Option<Comparison>,
    /// The tables, in the order in which the documentation has them.
    pub tables: Vec<TableEntry>,
    /// What is wrong with the input, a line each.
    pub warnings: Vec<String>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Its name.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hex.
    pub sha256: String,
}

/// A capture that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureInput {
    /// `src` or `dst`.
    pub point: String,
    /// The file.
    #[serde(flatten)]
    pub file: Checked,
    /// Its format.
    pub format: String,
    /// Records: the sum of `used` and all that is `skipped`.
    pub records: u64,
    /// Records that gave a TCP or UDP packet.
    pub used: u64,
    /// Records that did not, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Packets that the capture itself says it lost.
    pub dropped_packets: Option<u64>,
    /// Earliest capture time, in nanoseconds since 1970 on its own clock.
    pub first_ns: Option<i64>,
    /// Latest capture time.
    pub last_ns: Option<i64>,
    /// What is wrong at the first place where the file is damaged.
    pub damage: Option<String>,
    /// How many places are damaged.
    pub damaged_places: u64,
    /// Packets that came too late for their bins, and so are not in the table `throughput`.
    pub packets_too_late_for_bins: u64,
}

/// A log that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogInput {
    /// The file.
    #[serde(flatten)]
    pub file: Checked,
    /// What wrote it.
    pub kind: String,
    /// Lines read: the sum of `used`, `passed_over` and all that is `not_used`.
    pub lines: u64,
    /// Lines that gave a row, or a part of one.
    pub used: u64,
    /// Lines that are made to hold nothing.
    pub passed_over: u64,
    /// Lines that should have been of use and are not, by reason.
    pub not_used: BTreeMap<String, u64>,
}

/// What two captures say about each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the destination's clock shows more than the source's.
    pub clock_offset_ns: i64,
    /// How far that, and so each one-way delay, may be off; `None` if packets went one way only.
    pub clock_offset_error_ns: Option<i64>,
    /// How much faster the destination's clock runs, in parts per million.
    pub clock_skew_ppm: f64,
    /// How far that may be off; `None` with too little traffic.
    pub clock_skew_error_ppm: Option<f64>,
    /// Whether it is more than noise, and taken out.
    pub clock_skew_is_removed: bool,
    /// How often a clock was set meanwhile.
    pub clock_steps: u64,
    /// By what packets were known again.
    pub packets_told_apart_by: String,
    /// Packets and pairs not used because a clock was set in between.
    pub across_clock_steps: u64,
    /// Flows at the source only, and their packets.
    pub only_at_src: Unpaired,
    /// Flows at the destination only.
    pub only_at_dst: Unpaired,
}

/// Flows that one capture has and the other one has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpaired {
    /// How many flows.
    pub flows: u64,
    /// How many packets they had.
    pub packets: u64,
}

/// A table of the dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its name.
    pub name: String,
    /// Its file in the dataset.
    pub file: String,
    /// How many rows it has.
    pub rows: u64,
    /// How long the file is.
    pub bytes: u64,
}

impl Manifest {
    /// The manifest of the dataset in `folder`.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let file = File::open(&path).map_err(|source| Error::Open {
            path: path.clone(),
            source,
        })?;
        let manifest: Self =
            serde_json::from_reader(BufReader::new(file)).map_err(|source| Error::Manifest {
                path: path.clone(),
                source,
            })?;
        if manifest.kind != KIND || manifest.schema_version > DATASET_VERSION {
            return Err(Error::OtherManifest {
                path,
                kind: manifest.kind,
                version: manifest.schema_version,
            });
        }
        Ok(manifest)
    }

    /// With what is always the same.
    pub(super) fn new(run: &RunColumns, origin_ns: i64) -> Self {
        let column = |column: &tcpexp_table::dataset::RunColumn| {
            let value = match &column.value {
                RunValue::Text(value) => value.clone().into(),
                RunValue::Count(value) => (*value).into(),
                RunValue::Number(value) => (*value).into(),
                RunValue::Flag(value) => (*value).into(),
            };
            (column.name.clone(), value)
        };
        Self {
            kind: KIND.to_owned(),
            schema_version: DATASET_VERSION,
            tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
            captures: Vec::new(),
            logs: Vec::new(),
            options: BTreeMap::new(),
            run: run.columns().iter().map(column).collect(),
            origin_ns,
            comparison: None,
            tables: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn set_tables(&mut self, tables: &[WrittenTable]) {
        let entry = |written: &WrittenTable| TableEntry {
            name: written.table.name().to_owned(),
            file: format!("{}.parquet", written.table.name()),
            rows: written.rows,
            bytes: written.bytes,
        };
        self.tables = tables.iter().map(entry).collect();
    }

    pub(super) fn write(&self, dir: &DatasetDir) -> Result<(), Error> {
        let cannot = |source| Error::Write {
            path: dir.path().join(FILE_NAME),
            source,
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| cannot(error.into()))?;
        text.push('\n');
        let mut file = dir.file(FILE_NAME)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(cannot)
    }
}

impl CaptureInput {
    pub(super) fn new(point: &str, file: Checked, info: &CaptureInfo, too_late: u64) -> Self {
        let skipped = info.tally.skipped();
        let dropped = info
            .interfaces
            .iter()
            .filter_map(|interface| interface.dropped);
        let has_counter = info
            .interfaces
            .iter()
            .any(|interface| interface.dropped.is_some());
        Self {
            point: point.to_owned(),
            file,
            format: info.format.to_string(),
            records: info.tally.records(),
            used: info.tally.used(),
            skipped: skipped
                .map(|(reason, count)| (reason.to_string(), count))
                .collect(),
            dropped_packets: has_counter.then(|| dropped.sum()),
            first_ns: info.span.map(|(first, _)| first.as_nanos()),
            last_ns: info.span.map(|(_, last)| last.as_nanos()),
            damage: info.damage.clone(),
            damaged_places: info.damaged_places,
            packets_too_late_for_bins: too_late,
        }
    }
}
