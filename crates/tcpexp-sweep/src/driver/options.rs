//! How a sweep runs, and the events that it reports.

use std::path::Path;

use tcpexp_runs::record::RunRecord;

use super::Interrupt;
use super::crew::Reach;
use crate::schedule::Planned;

/// Analyses the complete run in a directory. An error is a message for the user.
pub type Analysis<'a> = &'a (dyn Fn(&Path) -> Result<(), String> + Sync);

/// How a sweep runs.
pub struct Options<'a> {
    /// The directory for all results.
    pub dir: &'a Path,
    /// Whether to continue the sweep that is in the directory.
    pub resume: bool,
    /// Runs only these, by name; all of the plan if `None`.
    pub only: Option<&'a [String]>,
    /// Where the runs run.
    pub on: On<'a>,
    /// Asks whether the sweep is to end.
    pub interrupt: Interrupt<'a>,
    /// Analyses each complete run while the next one runs.
    pub analyze: Option<Analysis<'a>>,
    /// Receives the events.
    pub tell: &'a (dyn Fn(&Event<'_>) + Sync),
}

/// Where the runs run.
#[derive(Clone, Copy)]
pub enum On<'a> {
    /// On these hosts, one run at a time.
    Hosts(Reach<'a>),
    /// Each on its own testbed, several at a time.
    Testbeds {
        /// How many run at the same time.
        jobs: usize,
        /// Carries out one run.
        carry_out: CarryOut<'a>,
    },
}

/// Carries out one run on a testbed, and leaves the directory of a sweep in the given one.
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
        /// Its name.
        run: &'a str,
        /// Its varied parameters, as text.
        what: &'a str,
    },
    /// A run enters a phase.
    Phase {
        /// Its name.
        run: &'a str,
        /// The phase.
        phase: &'a str,
    },
    /// A run ended.
    Ends {
        /// Its record.
        record: &'a RunRecord,
    },
    /// The analysis of a run ended.
    Analyzed {
        /// Its name.
        run: &'a str,
        /// The error, if it failed.
        failure: Option<&'a str>,
    },
}
