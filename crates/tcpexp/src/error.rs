//! What can go wrong between a file name and a result.

use std::io;
use std::path::PathBuf;

use tcpexp_measure::spp::NothingInCommon;
use thiserror::Error;

/// A failure of one of the calls that join the crates.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard input or a pipe cannot be kept in a temporary file.
    #[error("cannot keep {} in a temporary file", name.display())]
    Spool {
        /// Which input.
        name: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no capture that can be read.
    #[error("cannot read {}", path.display())]
    Capture {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: tcpexp_capture::Error,
    },
    /// The file can be read but holds nothing to work with.
    #[error("nothing usable in {}: {why}", path.display())]
    Nothing {
        /// Which file.
        path: PathBuf,
        /// Counts and damage, in words.
        why: String,
    },
    /// The log cannot be read, or holds nothing of use.
    #[error("cannot read {}", path.display())]
    Log {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: tcpexp_logs::import::Error,
    },
    /// The table cannot be read.
    #[cfg(feature = "tables")]
    #[error("cannot read {}", path.display())]
    Table {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: tcpexp_table::Error,
    },
    /// The runs of a sweep cannot be compared.
    #[cfg(feature = "runs")]
    #[error("cannot compare the runs in {}", path.display())]
    CompareRuns {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: tcpexp_runs::compare::CompareError,
    },
    /// A folder holds no table.
    #[error("there are no tables in {}", path.display())]
    NoTables {
        /// Which folder.
        path: PathBuf,
    },
    /// There is no table of this name.
    #[error("there is no table {wanted}: there are {tables}")]
    NoTable {
        /// The table asked for.
        wanted: String,
        /// The tables that there are.
        tables: String,
    },
    /// No table has what is asked for.
    #[error("no table has the column {wanted}: {tables}")]
    NoColumns {
        /// The columns asked for.
        wanted: String,
        /// The tables that there are, with their columns.
        tables: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Rows cannot be brought into a table's format.
    #[cfg(feature = "tables")]
    #[error("cannot write {}", path.display())]
    Encode {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: tcpexp_table::Error,
    },
    /// The folder that a dataset is to be made in is not there.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// Where the dataset was to be.
        path: PathBuf,
        /// What is missing.
        folder: PathBuf,
    },
    /// There is something in the place of a dataset that would be lost.
    #[error("{} holds something else than a dataset: name another directory", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
    },
    /// The record of a run cannot be read.
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Record(tcpexp_runs::record::RecordError),
    /// A directory is neither a run's nor a sweep's.
    #[error("{} has neither a run.json nor runs, so it is no run and no sweep", path.display())]
    NoRuns {
        /// The directory.
        path: PathBuf,
    },
    /// A run has no capture of its ends.
    #[error("{} names no capture of a source or a sink", path.display())]
    NoCaptures {
        /// The run's record.
        path: PathBuf,
    },
    /// The manifest of a dataset cannot be understood.
    #[cfg(feature = "tables")]
    #[error("{} is no manifest of a dataset", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The manifest is of something else, or of a later version.
    #[error("{} is of \"{kind}\" version {version}, which this program does not know", path.display())]
    OtherManifest {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        kind: String,
        /// Its version.
        version: u32,
    },
    /// Nothing tells what kind of log it is.
    #[error("{} is no log of a known format", path.display())]
    UnknownLog {
        /// Which file.
        path: PathBuf,
    },
    /// The two captures cannot be measured together.
    #[error("cannot compare {} with {}", src.display(), dst.display())]
    Compare {
        /// The source capture.
        src: PathBuf,
        /// The destination capture.
        dst: PathBuf,
        /// Why.
        source: NothingInCommon,
    },
    /// No two IPv4 hosts exchange packets that were seen at both points.
    #[error("no IPv4 packet was seen both in {} and in {}", src.display(), dst.display())]
    NoHosts {
        /// The source capture.
        src: PathBuf,
        /// The destination capture.
        dst: PathBuf,
    },
}
