//! Errors of this crate, those of one subject in an enum of their own.

#[cfg(feature = "tables")]
mod dataset;
#[cfg(feature = "tables")]
mod pairs;
mod part;
#[cfg(feature = "tables")]
mod survey;
#[cfg(all(feature = "charts", feature = "runs"))]
mod tables;

#[cfg(feature = "tables")]
pub use dataset::DatasetError;
#[cfg(feature = "tables")]
pub use pairs::PairsError;
pub use part::PartError;
#[cfg(feature = "tables")]
pub use survey::SurveyError;
#[cfg(all(feature = "charts", feature = "runs"))]
pub use tables::TablesError;

use std::io;
use std::path::{Path, PathBuf};

use tcpexp_logs::import;
use tcpexp_measure::throughput::MAX_EMPTY_ROWS;
use tcpexp_pair::spp::NothingInCommon;
use tcpexp_store::shown_url;
use tcpexp_units::TimeDelta;
use thiserror::Error;

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
    /// Two files of one capture have the same records.
    #[error("{}", repeated(path, other))]
    Repeated {
        /// Path of the file.
        path: PathBuf,
        /// Path of the other file, which may be the same.
        other: PathBuf,
    },
    /// Nearly all bins of a dataset would be empty, and there are too many to write.
    #[error(
        "cannot write the bins of {}: more than {MAX_EMPTY_ROWS} rows of empty bins for the first {filled} rows with packets: use a longer --bin",
        shown_url(path)
    )]
    EmptyBins {
        /// Path of the file.
        path: PathBuf,
        /// Number of rows with packets before.
        filled: u64,
    },
    /// Another program changed the file between two passes.
    #[error("{} changed while it was read", shown_url(path))]
    Changed {
        /// Path of the file.
        path: PathBuf,
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
    /// A dataset cannot be read, made or merged.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The survey cannot be used.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// Pairs of captures cannot be analysed or merged.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Pairs(#[from] PairsError),
    /// No table fits a selection of columns and rows.
    #[cfg(all(feature = "charts", feature = "runs"))]
    #[error(transparent)]
    Tables(#[from] TablesError),
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
    /// A live capture has no known start and end, so its times cannot be limited.
    #[error("{} is read live, so it has no range of times", shown_url(path))]
    RangeOfLive {
        /// Name of the input.
        path: PathBuf,
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
    /// The record of the run cannot be read.
    #[cfg(feature = "runs")]
    #[error(transparent)]
    Record(tcpexp_runs::record::RecordError),
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
    /// A clock was set near the limits in time, so they do not select the same traffic in both captures.
    #[error(
        "the clock of {} was set {} by {} within or near the selected times, so they do not select the same packets in both captures: move --from and --to away from this place",
        shown_url(path),
        if *by < TimeDelta::ZERO { "back" } else { "ahead" },
        by.abs()
    )]
    ClockSet {
        /// Path of the capture.
        path: PathBuf,
        /// Size of the step; positive is ahead.
        by: TimeDelta,
    },
    /// The captures of a path are not in the order in which packets pass them.
    #[error(
        "the captures are not in the order along the path: most flows go the other way between {} and {} than between other captures; give them in the order in which packets pass them",
        shown_url(from),
        shown_url(to)
    )]
    Order {
        /// Path of a capture.
        from: PathBuf,
        /// Path of a later one.
        to: PathBuf,
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

/// The message for a file that would count twice.
fn repeated(path: &Path, other: &Path) -> String {
    let (shown, shown_other) = (shown_url(path), shown_url(other));
    if path == other {
        format!("{shown} is listed twice")
    } else {
        format!("{shown} and {shown_other} have the same records, which would count twice")
    }
}
