//! Options of a sweep, and the events that it reports.

use std::path::Path;

use tcpexp_runs::record::RunRecord;

use super::Interrupt;
use super::crew::Reach;
use crate::schedule::Planned;

/// Analyses the complete run in a directory. An error is a message for the user.
pub type Analysis<'a> = &'a (dyn Fn(&Path) -> Result<(), String> + Sync);

/// Options of a sweep.
pub struct Options<'a> {
    /// The directory for all results.
    pub dir: &'a Path,
    /// Continue the sweep in the directory.
    pub resume: bool,
    /// Carry out invalid runs again, as failed ones.
    pub repeat_invalid: bool,
    /// Names of the runs to run; all runs of the plan if `None`.
    pub only: Option<&'a [String]>,
    /// Name of this task, if several processes carry out the plan in one directory, each some runs.
    pub task: Option<&'a str>,
    /// Place of the runs.
    pub on: On<'a>,
    /// Returns true if the sweep must end.
    pub interrupt: Interrupt<'a>,
    /// Analyses each complete run while the next one runs.
    pub analyze: Option<Analysis<'a>>,
    /// Receives the events.
    pub on_event: &'a (dyn Fn(&Event<'_>) + Sync),
}

/// Place of the runs.
#[derive(Clone, Copy)]
pub enum On<'a> {
    /// On these hosts, one run at a time.
    Hosts(Reach<'a>),
    /// On testbeds, one for each run, several at a time.
    Testbeds {
        /// Number of runs at the same time.
        jobs: usize,
        /// Carries out one run.
        carry_out: CarryOut<'a>,
    },
}

/// Carries out one run on a testbed, and leaves its sweep directory in the given directory.
pub type CarryOut<'a> = &'a (dyn Fn(&Planned<'_>, &Path) -> Result<(), String> + Sync);

/// An event of a sweep.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// `left` of `all` runs remain.
    Planned {
        /// Runs that remain.
        left: usize,
        /// Runs of the plan.
        all: usize,
    },
    /// A run begins.
    Begins {
        /// Name of the run.
        run: &'a str,
        /// Varied parameters of the run, as text.
        what: &'a str,
    },
    /// A run enters a phase.
    Phase {
        /// Name of the run.
        run: &'a str,
        /// The phase.
        phase: &'a str,
    },
    /// A run ended.
    Ends {
        /// Record of the run.
        record: &'a RunRecord,
    },
    /// The analysis of a run ended.
    Analyzed {
        /// Name of the run.
        run: &'a str,
        /// The error, if it failed.
        failure: Option<&'a str>,
    },
}
