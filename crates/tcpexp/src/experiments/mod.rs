//! Experiments of other tools as runs of a sweep, and runs as experiments of other tools.

mod flent;
mod flent_export;
mod places;
mod teacup;

pub use flent::flent_runs;
pub use flent_export::{FlentFile, flent_file};
pub use teacup::teacup_runs;

use tcpexp_runs::record::RunRecord;

/// An experiment of another tool, as the run of a sweep.
#[derive(Clone, Debug)]
pub struct ForeignRun {
    /// The record of the run; paths are relative to its directory.
    pub record: RunRecord,
    /// What its numbers may lack or what was not read.
    pub warnings: Vec<String>,
}
