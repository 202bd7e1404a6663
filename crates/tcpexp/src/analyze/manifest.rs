//! Inputs and options of a dataset: `manifest.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tcpexp_store::StoreOptions;
use tcpexp_table::TABLE_VERSION;
use tcpexp_table::dataset::{
    DatasetTable, RunColumn, RunColumns, RunValue, StoredTables, TableEntry, TableMismatch,
};

use super::comparison::Comparison;
use super::dataset_dir::DatasetDir;
use super::manifest_file::{FILE_NAME, KIND, Kind};
use super::tables::file_name;
use tcpexp_units::TimeDelta;

use crate::contents::Contents;
use crate::{CaptureInfo, DatasetError, Error};

/// Description of a dataset: its inputs, options and tables.
///
/// The manifest contains no time of day, so the same input gives the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Kind of the file: `tcpexp dataset`.
    pub kind: String,
    /// Version of the tables' columns.
    pub schema_version: u32,
    /// Version of tcpexp that wrote the dataset.
    pub tcpexp_version: String,
    /// The captures, source first.
    pub captures: Vec<CaptureInput>,
    /// The logs.
    pub logs: Vec<LogInput>,
    /// Options of the analysis.
    pub options: BTreeMap<String, serde_json::Value>,
    /// Values that identify the run: the first columns of all tables.
    pub run: BTreeMap<String, serde_json::Value>,
    /// Origin of the column `time_s`, in nanoseconds since 1970 on the source's clock.
    pub origin_ns: i64,
    /// Comparison of the two captures; `None` with one capture.
    pub comparison: Option<Comparison>,
    /// The tables, in the order of the documentation.
    pub tables: Vec<TableEntry>,
    /// Warnings about the input, one per line.
    pub warnings: Vec<String>,
}

/// An input file with its checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Name.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// An input capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureInput {
    /// `src` or `dst`.
    pub point: String,
    /// The file. If a capture has several files, `bytes` is the sum of their sizes, and `sha256` is
    /// the checksum of their checksums in hexadecimal, one per line.
    #[serde(flatten)]
    pub file: Checked,
    /// The files of a capture in several files, in the order in which they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Checked>,
    /// Missing times between these files, and files that were merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// File format.
    pub format: String,
    /// Number of records: the sum of `used` and all counts in `skipped`.
    pub records: u64,
    /// Number of records with an IP packet that was used.
    pub used: u64,
    /// Number of skipped records by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Number of packets that the capture reports as dropped; `None` without a drop counter.
    pub dropped_packets: Option<u64>,
    /// Earliest capture time, in nanoseconds since 1970 on the capture's clock.
    pub first_ns: Option<i64>,
    /// Latest capture time, likewise.
    pub last_ns: Option<i64>,
    /// Description of the first damage in the file.
    pub damage: Option<String>,
    /// Number of damaged places.
    pub damaged_places: u64,
    /// Number of packets too late for their bins, and so not in the table `throughput`.
    pub packets_too_late_for_bins: u64,
    /// Number of flows that ended early because too many were open at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flows_shed: u32,
    /// Number of flows that are not in the dataset because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flows_left_out: u32,
    /// Bytes of data that were acknowledged and that the capture never shows, at least.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_bytes: u64,
    /// Further such bytes that may have been sent before the capture of their flow began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub possibly_missed_bytes: u64,
    /// Number of places where the capture missed at least one ACK of a flow; a lower bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_ack_gaps: u64,
    /// Tick of the clock, if it is coarser than one microsecond; of a pair, see `clock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_tick_ns: Option<i64>,
    /// Number of packets whose TCP options were captured only in part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_options_packets: u64,
    /// Number of packets whose stated length on the wire is impossible; it is that of their headers instead.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub impossible_length_packets: u64,
    /// Number of flow directions whose packets alternate between VLAN tags or MPLS labels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flows_with_several_tags: u32,
    /// Usual number of records of a packet in the capture; all but the first are left out.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub records_per_packet: u32,
    /// Where the clock of a single capture was first set back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_set_back: Option<ClockSetBack>,
}

/// A place where the clock of a capture was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSetBack {
    /// Number of the first record after it, from 0.
    pub record: u64,
    /// Time by which that record is before the latest one. The step is larger by the time between the two.
    pub by_ns: i64,
    /// True if no clock was set: the file has the records of its interfaces in blocks. `None` if it is unknown which
    /// of the two happened.
    #[serde(default = "no_blocks", skip_serializing_if = "are_no_blocks")]
    pub in_blocks: Option<bool>,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
const fn no_blocks() -> Option<bool> {
    Some(false)
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference to the field"
)]
fn are_no_blocks(in_blocks: &Option<bool>) -> bool {
    *in_blocks == no_blocks()
}

const fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// An input log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogInput {
    /// The file.
    #[serde(flatten)]
    pub file: Checked,
    /// Kind of the log.
    pub kind: String,
    /// Number of lines, or of intervals in the JSON of iperf3: the sum of `used`, `passed_over` and all counts in
    /// `not_used`.
    pub lines: u64,
    /// Number of those that gave a row or a part of one.
    pub used: u64,
    /// Number of those without data: headers, comments, empty lines.
    pub passed_over: u64,
    /// Number of those with unusable data, by reason.
    pub not_used: BTreeMap<String, u64>,
}

impl Manifest {
    /// Reads the manifest of the dataset in `folder`.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        Self::read_with(folder, &StoreOptions::default())
    }

    /// Like [`read`](Self::read), with options for a folder in an object store.
    pub fn read_with(folder: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        let manifest = Self::of_any_version(folder, stores)?;
        if manifest.schema_version != TABLE_VERSION {
            return Err(DatasetError::Version {
                path: folder.join(FILE_NAME),
                version: manifest.schema_version,
                known: TABLE_VERSION,
            }
            .into());
        }
        Ok(manifest)
    }

    /// Reads the manifest of a dataset whose tables may be of another version.
    pub(super) fn of_any_version(folder: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let file = Contents::named(&path, stores).map_err(|error| without(folder, error))?;
        let unread = |source| DatasetError::Manifest {
            path: path.clone(),
            source,
        };
        let text: serde_json::Value =
            serde_json::from_reader(BufReader::new(file)).map_err(unread)?;
        let Kind { kind } = Kind::deserialize(&text).map_err(unread)?;
        if kind != KIND {
            return Err(DatasetError::OtherManifest { path, kind }.into());
        }
        Ok(serde_json::from_value(text).map_err(unread)?)
    }

    /// Creates a manifest with the run's columns and origin, and no inputs or tables.
    pub(super) fn new(run: &RunColumns, origin_ns: i64) -> Self {
        Self {
            kind: KIND.to_owned(),
            schema_version: TABLE_VERSION,
            tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
            captures: Vec::new(),
            logs: Vec::new(),
            options: BTreeMap::new(),
            run: columns_of_run(run),
            origin_ns,
            comparison: None,
            tables: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Fails unless the inputs have the contents of those of `known`.
    pub(super) fn require_inputs(&self, known: &Self) -> Result<(), Error> {
        let files = |manifest: &Self| -> Vec<Checked> {
            let captures = manifest.captures.iter().map(|capture| &capture.file);
            let logs = manifest.logs.iter().map(|log| &log.file);
            captures.chain(logs).cloned().collect()
        };
        let (now, then) = (files(self), files(known));
        let same = |(now, then): &(Checked, Checked)| now.sha256 == then.sha256;
        match now.into_iter().zip(then).find(|pair| !same(pair)) {
            Some((now, _)) => Err(DatasetError::OtherContents {
                path: now.path.into(),
            }
            .into()),
            None => Ok(()),
        }
    }

    /// The file of a table of the dataset in `folder`, if it is that of this manifest.
    pub(crate) fn table(
        &self,
        folder: &Path,
        table: DatasetTable,
        stores: &StoreOptions,
    ) -> Result<File, Error> {
        let name = file_name(table);
        let Some(entry) = self.tables.iter().find(|entry| entry.file == name) else {
            return Contents::file(&folder.join(name), stores);
        };
        let damaged = |source| DatasetError::Damaged {
            path: folder.to_owned(),
            source,
        };
        let file = Contents::file(&folder.join(name), stores);
        Ok(entry.checked(file?).map_err(damaged)?)
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

/// The error for a manifest that cannot be opened. A folder with tables of a dataset is a damaged dataset.
fn without(folder: &Path, error: Error) -> Error {
    match StoredTables::of(folder) {
        Err(source @ TableMismatch::NoManifest) => DatasetError::Damaged {
            path: folder.to_owned(),
            source,
        }
        .into(),
        _ => error,
    }
}

/// Names and values of the columns that identify a run.
pub(crate) fn columns_of_run(run: &RunColumns) -> BTreeMap<String, serde_json::Value> {
    let column = |column: &RunColumn| {
        let value = match &column.value {
            RunValue::Text(value) => value.clone().into(),
            RunValue::Count(value) => (*value).into(),
            RunValue::Number(value) => (*value).into(),
            RunValue::Flag(value) => (*value).into(),
        };
        (column.name.clone(), value)
    };
    run.columns().iter().map(column).collect()
}

impl CaptureInput {
    pub(super) fn new(
        point: &str,
        (file, files): (Checked, Vec<Checked>),
        info: &CaptureInfo,
        too_late: u64,
    ) -> Self {
        let remarks = info.set.iter().flat_map(|set| set.remarks());
        let skipped = info.tally.skipped();
        Self {
            point: point.to_owned(),
            file,
            files,
            remarks: remarks.collect(),
            format: info.format.to_string(),
            records: info.tally.records(),
            used: info.tally.used(),
            skipped: skipped
                .map(|(reason, count)| (reason.to_string(), count))
                .collect(),
            // Without a counter, as in pcap, the number of drops is unknown and not 0.
            dropped_packets: info.dropped(),
            first_ns: info.span.map(|(first, _)| first.as_nanos()),
            last_ns: info.span.map(|(_, last)| last.as_nanos()),
            damage: info.damage.clone(),
            damaged_places: info.damaged_places,
            packets_too_late_for_bins: too_late,
            flows_shed: info.flows_shed,
            flows_left_out: info.flows_left_out,
            missed_bytes: info.missed.bytes,
            possibly_missed_bytes: info.missed.possible_bytes,
            missed_ack_gaps: info.missed.ack_gaps,
            clock_tick_ns: info.coarse_tick.map(TimeDelta::as_nanos),
            cut_options_packets: info.tally.cut_options(),
            impossible_length_packets: info.tally.impossible_lengths(),
            records_per_packet: info.records_per_packet,
            flows_with_several_tags: info.flows_with_several_tags,
            clock_set_back: info.set_back.map(|set_back| ClockSetBack {
                record: set_back.record,
                by_ns: set_back.by.as_nanos(),
                in_blocks: set_back.in_blocks,
            }),
        }
    }
}
