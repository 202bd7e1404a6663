//! Errors of runs and sweeps.

use std::io;
use std::path::PathBuf;

use netem_ctl::{ControlError, RunError};
use thiserror::Error;

use tcpexp_runs::record::RecordError;

/// Why a run failed.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    /// A script on a host failed.
    #[error("{phase}")]
    Host {
        phase: String,
        source: Box<RunError>,
    },
    /// There is no runner for a host of the plan.
    #[error("the plan has no connection to {0}")]
    Unknown(String),
    /// Hosts fail their checks.
    #[error("{}", .0.join("; "))]
    Problems(Vec<String>),
    /// A generator, capture or logger failed or ended early.
    #[error("{0}")]
    Process(String),
    /// The router could not apply, change or clear the path.
    #[error("{phase}")]
    Router {
        phase: String,
        source: Box<ControlError>,
    },
    /// The counters of a router do not show whether its path is as planned.
    #[error("cannot read the counters of {router}: {why}")]
    Counters { router: String, why: String },
    /// The router cannot emulate the path.
    #[error("cannot set up the path")]
    Path(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A local file cannot be written.
    #[error("cannot write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The user interrupted the sweep.
    #[error("interrupted")]
    Interrupted,
    /// A thread panicked.
    #[error("a thread panicked")]
    Panic,
}

impl Trouble {
    pub(super) fn host(phase: &str, source: RunError) -> Self {
        Self::Host {
            phase: phase.to_owned(),
            source: Box::new(source),
        }
    }
}

/// Why a sweep cannot start or continue.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The directory has runs already.
    #[error("{} already contains runs: use --resume to continue", .0.display())]
    NotEmpty(PathBuf),
    /// Another sweep uses the directory.
    #[error("another tcpexp uses {}", .0.display())]
    Locked(PathBuf),
    /// A file of the directory cannot be written.
    #[error("cannot write {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The record of a run cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record of an earlier run cannot be read.
    #[error("a run may be done already: to repeat it, remove its directory")]
    Unknown(#[source] RecordError),
    /// Hosts fail their checks. No host was changed.
    #[error("{}", .0.join("\n"))]
    Hosts(Vec<String>),
    /// A thread panicked.
    #[error("a thread panicked")]
    Panic,
    /// The user interrupted it.
    #[error("interrupted; continue with --resume")]
    Interrupted,
    /// A run failed, and the plan stops at failures.
    #[error("run {run} failed: {reason}")]
    Failed {
        /// Name of the run.
        run: String,
        /// Reason.
        reason: String,
    },
}
