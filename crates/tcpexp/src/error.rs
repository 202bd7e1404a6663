//! Errors of this crate.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "tables")]
use tcpexp_flow::FlowShard;
use tcpexp_logs::import;
use tcpexp_pair::spp::NothingInCommon;
use tcpexp_store::shown_url;
use thiserror::Error;

use crate::PartError;

/// An error of a measurement, an analysis or an input file.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open {}", shown_url(path))]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The object cannot be read from its store.
    #[error("cannot read {}", shown_url(path))]
    Store {
        /// URL of the object.
        path: PathBuf,
        /// Cause.
        source: tcpexp_store::Error,
    },
    /// Standard input or a pipe cannot be copied to a temporary file.
    #[error("cannot copy {} to a temporary file", shown_url(name))]
    Spool {
        /// Name of the input.
        name: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file cannot be read as a capture.
    #[error("cannot read {}", shown_url(path))]
    Capture {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: tcpexp_capture::Error,
    },
    /// A part of a capture cannot be measured in this way.
    #[error("cannot measure {}", shown_url(path))]
    Part {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: PartError,
    },
    /// A live input cannot be opened.
    #[error("cannot read {}", shown_url(name))]
    Input {
        /// Name of the input.
        name: PathBuf,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is readable but contains nothing usable.
    #[error("nothing usable in {}: {why}", shown_url(path))]
    Nothing {
        /// Path of the file.
        path: PathBuf,
        /// Description of the skipped records and the damage.
        why: String,
    },
    /// The flag of [`Recording::stopped_by`](crate::Recording::stopped_by) is set.
    #[error("stopped while reading {}", shown_url(path))]
    Stopped {
        /// Path of the file.
        path: PathBuf,
    },
    /// The log cannot be read or contains nothing usable.
    #[error("cannot read {}", shown_url(path))]
    Log {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: tcpexp_logs::import::Error,
    },
    /// The table cannot be read.
    #[cfg(feature = "tables")]
    #[error("cannot read {}", shown_url(path))]
    Table {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: tcpexp_table::Error,
    },
    /// The selection of cells names no cell.
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Only(tcpexp_runs::only::OnlyError),
    /// The runs of a sweep cannot be compared.
    #[cfg(feature = "runs")]
    #[error("cannot compare the runs in {}", shown_url(path))]
    CompareRuns {
        /// Path of the folder.
        path: PathBuf,
        /// Cause.
        source: tcpexp_runs::compare::CompareError,
    },
    /// The folder contains no table.
    #[error("there are no tables in {}", shown_url(path))]
    NoTables {
        /// Path of the folder.
        path: PathBuf,
    },
    /// No table has this name.
    #[error("there is no table {wanted}: the tables are {tables}")]
    NoTable {
        /// Requested table.
        wanted: String,
        /// Names of the available tables.
        tables: String,
    },
    /// A live capture has no known start and end, so its times cannot be limited.
    #[error("{} is read live, so it has no range of times", shown_url(path))]
    RangeOfLive {
        /// Name of the input.
        path: PathBuf,
    },
    /// No row meets the filters.
    #[error("no row of {table} meets {filters}")]
    NoRows {
        /// Name of the table.
        table: String,
        /// The filters.
        filters: String,
    },
    /// A filter compares values of different kinds.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Filter(tcpexp_table::FilterError),
    /// The values of a column are in several units.
    #[error(
        "the values of {column} are in {}: select one unit, for example with --filter unit={}",
        units.join(" and "), units.first().map_or("", String::as_str)
    )]
    SeveralUnits {
        /// Name of the column.
        column: String,
        /// The units.
        units: Vec<String>,
    },
    /// No table has all requested columns, and each column is in some table.
    #[error("no single table has {wanted}: {tables}")]
    NoSingleTable {
        /// Requested columns.
        wanted: String,
        /// The tables of each column.
        tables: String,
    },
    /// A table is empty.
    #[error("{table} has no rows")]
    EmptyTable {
        /// Name of the table.
        table: String,
    },
    /// No row belongs to the flows and directions that count.
    #[error("no row of {pooled} is left: choose other flows or directions")]
    NoPooledRows {
        /// Description of the flows and directions.
        pooled: String,
    },
    /// No table has the requested columns.
    #[error("no table has the column {wanted}: {tables}")]
    NoColumns {
        /// Requested columns.
        wanted: String,
        /// Available tables with their columns.
        tables: String,
    },
    /// The file cannot be written.
    #[error("cannot write {}", shown_url(path))]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Rows cannot be encoded in the table's format.
    #[cfg(feature = "tables")]
    #[error("cannot write {}", shown_url(path))]
    Encode {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: tcpexp_table::Error,
    },
    /// The parent folder of the dataset does not exist.
    #[error(
        "cannot write {}: directory {} does not exist",
        shown_url(path),
        shown_url(folder)
    )]
    NoFolder {
        /// Path of the dataset.
        path: PathBuf,
        /// Path of the missing folder.
        folder: PathBuf,
    },
    /// The directory is not a dataset, so replacing it would destroy other files.
    #[error(
        "{} contains something other than a dataset: name another directory",
        shown_url(path)
    )]
    NotOurs {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The record of the run cannot be read.
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Record(tcpexp_runs::record::RecordError),
    /// The directory is neither a run nor a sweep, and has no datasets.
    #[error(
        "{} has neither a run.json, nor runs, nor datasets of tcpexp analyze",
        shown_url(path)
    )]
    NoRuns {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory has no files of another tool's experiments.
    #[cfg(feature = "runs")]
    #[error(
        "there is no experiment in {}: expected files {wanted}",
        shown_url(path)
    )]
    NoExperiments {
        /// Path of the directory.
        path: PathBuf,
        /// Names of the expected files.
        wanted: &'static str,
    },
    /// A run has nothing that a data file of Flent could have.
    #[cfg(feature = "runs")]
    #[error("{} cannot be a data file of Flent: {why}", shown_url(path))]
    NotForFlent {
        /// Directory of the run.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The run has no capture at its source or its sink.
    #[error("{} names no capture of a source or a sink", shown_url(path))]
    NoCaptures {
        /// Path of the run's record.
        path: PathBuf,
    },
    /// The manifest of the dataset cannot be parsed.
    #[cfg(feature = "tables")]
    #[error("{} is not the manifest of a dataset", shown_url(path))]
    Manifest {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The manifest is not that of a dataset.
    #[error("{} is the manifest of \"{kind}\", not of a dataset", shown_url(path))]
    OtherManifest {
        /// Path of the file.
        path: PathBuf,
        /// Kind in the manifest.
        kind: String,
    },
    /// Two datasets have the same name.
    #[error(
        "{} and {} have the same name: their rows would be mixed",
        shown_url(path),
        shown_url(other)
    )]
    SameRun {
        /// Path of the dataset.
        path: PathBuf,
        /// Path of the other.
        other: PathBuf,
    },
    /// A file has other contents than in an earlier analysis.
    #[error("{} has changed since the dataset was made", shown_url(path))]
    OtherContents {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another version of `tcpexp` wrote the dataset.
    #[error(
        "{} has version {version}, but this tcpexp reads version {known}: analyze the captures again",
        shown_url(path)
    )]
    DatasetVersion {
        /// Path of the manifest.
        path: PathBuf,
        /// Version in the manifest.
        version: u32,
        /// Version that can be read.
        known: u32,
    },
    /// The survey cannot be parsed.
    #[cfg(feature = "tables")]
    #[error("{} is not a survey", shown_url(path))]
    Survey {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The file is not a survey, or of another version.
    #[cfg(feature = "tables")]
    #[error(
        "{} is {kind}, which this tcpexp does not read as a survey: make it again with `tcpexp survey`",
        shown_url(path)
    )]
    OtherSurvey {
        /// Path of the file.
        path: PathBuf,
        /// What it is of.
        kind: String,
    },
    /// The capture is not the one of the survey.
    #[cfg(feature = "tables")]
    #[error(
        "{} was made from {}, and {} has other contents",
        shown_url(survey),
        shown_url(known),
        shown_url(path)
    )]
    ForeignCapture {
        /// Path of the survey.
        survey: PathBuf,
        /// Path of the capture.
        path: PathBuf,
        /// Path of the surveyed capture.
        known: PathBuf,
    },
    /// The survey was made with other options.
    #[cfg(feature = "tables")]
    #[error("{} was made with a different {option}", shown_url(survey))]
    SurveyOptions {
        /// Path of the survey.
        survey: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// The dataset is not a part of a divided analysis.
    #[cfg(feature = "tables")]
    #[error(
        "{} is a whole dataset, not a part of one: parts are made with --shard",
        shown_url(path)
    )]
    NoPart {
        /// Path of the dataset.
        path: PathBuf,
    },
    /// Parts of different analyses cannot be merged.
    #[cfg(feature = "tables")]
    #[error(
        "{} and {} are parts of different analyses: they differ in {what}",
        shown_url(path),
        shown_url(other)
    )]
    ForeignPart {
        /// Path of the part.
        path: PathBuf,
        /// Path of the part it is compared with.
        other: PathBuf,
        /// The first difference: a field of the manifests.
        what: String,
    },
    /// A part is given twice.
    #[cfg(feature = "tables")]
    #[error("{} and {} are both part {shard}", shown_url(path), shown_url(other))]
    SamePart {
        /// Path of the part.
        path: PathBuf,
        /// Path of the other.
        other: PathBuf,
        /// The part.
        shard: FlowShard,
    },
    /// Parts are missing.
    #[cfg(feature = "tables")]
    #[error("of {count} parts, these are missing: {missing}")]
    MissingParts {
        /// Number of all parts.
        count: u32,
        /// The missing parts.
        missing: String,
    },
    /// The path of a capture is not text.
    #[cfg(feature = "tables")]
    #[error(
        "{} is not UTF-8, so a table cannot contain this path",
        shown_url(path)
    )]
    NoText {
        /// Path of the file.
        path: PathBuf,
    },
    /// The table of pairs has files of one point only.
    #[cfg(feature = "tables")]
    #[error("the pair {pair} has no file at {point}")]
    HalfPair {
        /// Name of the pair.
        pair: String,
        /// The point without a file.
        point: &'static str,
    },
    /// Numbers and names of pairs do not correspond.
    #[cfg(feature = "tables")]
    #[error("the pairs {one} and {other} must have different numbers and different names")]
    PairNames {
        /// Name of a pair.
        one: String,
        /// Name of another.
        other: String,
    },
    /// The dataset is not that of a pair.
    #[cfg(feature = "tables")]
    #[error(
        "{} is not a part of an analysis of pairs: parts are made with `tcpexp analyze --pairs`",
        shown_url(path)
    )]
    NoPairPart {
        /// Path of the dataset.
        path: PathBuf,
    },
    /// The part is of a pair that the table of pairs does not have.
    #[cfg(feature = "tables")]
    #[error(
        "{} belongs to the pair {pair}, which is not in the table of pairs",
        shown_url(path)
    )]
    OtherPair {
        /// Path of the part.
        path: PathBuf,
        /// Its pair.
        pair: String,
    },
    /// The part was made from other files than those of its pair.
    #[cfg(feature = "tables")]
    #[error(
        "{} was made from files other than those of the pair {pair}",
        shown_url(path)
    )]
    OtherFiles {
        /// Path of the part.
        path: PathBuf,
        /// Its pair.
        pair: String,
    },
    /// Pairs have not been analysed.
    #[cfg(feature = "tables")]
    #[error("missing parts of the pairs: {missing}")]
    MissingPairs {
        /// The missing pairs.
        missing: String,
    },
    /// The format of the log is not recognised.
    #[error(
        "{} is not a log of a known format: expected one of {}",
        shown_url(path),
        known_logs()
    )]
    UnknownLog {
        /// Path of the file.
        path: PathBuf,
    },
    /// The two captures cannot be compared.
    #[error("cannot compare {} with {}", shown_url(src), shown_url(dst))]
    Compare {
        /// Path of the source capture.
        src: PathBuf,
        /// Path of the destination capture.
        dst: PathBuf,
        /// Cause.
        source: NothingInCommon,
    },
    /// No two IPv4 hosts exchange packets that both captures contain.
    #[error(
        "no IPv4 packet was seen both in {} and in {}",
        shown_url(src),
        shown_url(dst)
    )]
    NoHosts {
        /// Path of the source capture.
        src: PathBuf,
        /// Path of the destination capture.
        dst: PathBuf,
    },
}

/// Names of the formats of logs, for a message.
fn known_logs() -> String {
    import::Format::ALL.map(import::Format::name).join(", ")
}

/// Joins an error's message with those of its causes.
#[cfg(feature = "tables")]
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
