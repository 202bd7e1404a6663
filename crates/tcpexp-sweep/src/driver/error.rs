//! What goes wrong with a run, and with a sweep.

use std::io;
use std::path::PathBuf;

use netem_ctl::{ControlError, RunError};
use thiserror::Error;

use tcpexp_runs::record::RecordError;

/// Why a run failed.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    /// A host did not do what it was told.
    #[error("{phase}")]
    Host {
        phase: String,
        source: Box<RunError>,
    },
    /// A plan's host that nobody knows how to reach.
    #[error("there is no way to reach {0}")]
    Unknown(String),
    /// What hosts lack.
    #[error("{}", .0.join("; "))]
    Problems(Vec<String>),
    /// A generator, a capture or a logger ended early or badly.
    #[error("{0}")]
    Process(String),
    /// A router does not have the path that it must have, or does not get rid of it.
    #[error("{phase}")]
    Router {
        phase: String,
        source: Box<ControlError>,
    },
    /// The path cannot be made as the plan has it.
    #[error("cannot make the path")]
    Path(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file on this machine.
    #[error("cannot write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Somebody ended the sweep.
    #[error("interrupted")]
    Interrupted,
    /// A thread of ours broke down.
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

/// Why a sweep cannot begin or go on.
#[derive(Debug, Error)]
pub enum SweepError {
    /// Its directory has runs already.
    #[error("{} has runs already: --resume goes on with them", .0.display())]
    NotEmpty(PathBuf),
    /// Its directory belongs to a sweep that is at work.
    #[error("another tcpexp is at work in {}", .0.display())]
    Locked(PathBuf),
    /// A file of its directory.
    #[error("cannot write {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record of a run.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Hosts that cannot take part; nothing was changed on any.
    #[error("{}", .0.join("\n"))]
    Hosts(Vec<String>),
    /// A thread of ours broke down.
    #[error("a thread panicked")]
    Panic,
    /// Somebody ended it.
    #[error("interrupted; --resume goes on")]
    Interrupted,
    /// A run failed, and the plan says to stop then.
    #[error("run {run} failed: {reason}")]
    Failed {
        /// Which.
        run: String,
        /// Why.
        reason: String,
    },
}

/// An error and what caused it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
