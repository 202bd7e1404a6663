//! The tables of `tcpexp compare`.

mod columns;
mod expected;
mod text;

use std::sync::Arc;

use tcpexp_metrics::compare::{CellClass, ClassRun, Measure, Options};

use crate::dataset::RunColumns;

pub use columns::{compare_columns, compare_run_columns, is_compare_column, main_compare_columns};
pub use expected::{ExpectedRow, expected_columns, expected_text};
pub use text::{CompareText, compare_text, shown_rows};

/// The measures that a reader looks at first, in order.
pub(crate) const MAIN: [Measure; 10] = [
    Measure::Goodput,
    Measure::Utilisation,
    Measure::RttMedian,
    Measure::RttP95,
    Measure::LossRatio,
    Measure::RetransmissionRatio,
    Measure::Jain,
    Measure::Convergence,
    Measure::CompletionMedian,
    Measure::Friendliness,
];

/// Name of the row for all classes together.
pub const ALL_CLASSES: &str = "all";

/// One class of a cell, over all runs.
#[derive(Clone, Debug)]
pub struct CompareRow {
    /// The cell.
    pub cell: Arc<ComparedCell>,
    /// The numbers of the class; `None` if no run of the cell counts.
    pub class: Option<CellClass>,
}

impl CompareRow {
    /// Number of the cell's valid runs that have the class.
    pub(crate) fn runs(&self) -> u64 {
        self.class.as_ref().map_or(0, |class| class.runs)
    }
}

/// The fields that all rows of a cell share.
#[derive(Clone, Debug)]
pub struct ComparedCell {
    /// Hash of the cell's parameters.
    pub hash: String,
    /// The cell's parameters.
    pub parameters: RunColumns,
    /// Number of parameters that vary; these come first in `parameters`.
    pub varied: usize,
    /// Hash of the cell's baseline cell.
    pub baseline: Option<String>,
    /// Numbers of runs: counted, invalid, failed.
    pub runs: [u64; 3],
    /// The runs that do not count, and why; `None` if all runs count.
    pub left_out: Option<String>,
    /// Warm-up, window, and the criteria for settled flows.
    pub options: Options,
}

/// One class of a single run.
#[derive(Clone, Debug)]
pub struct CompareRunRow {
    /// The run's cell.
    pub cell: Arc<ComparedCell>,
    /// The run's name.
    pub run: Arc<str>,
    /// Repetition of the cell, from 1.
    pub repetition: u32,
    /// Outcome of the run.
    pub status: &'static str,
    /// Why the run does not count; `None` if it counts.
    pub reason: Option<Arc<str>>,
    /// The numbers of the class; `None` if the run does not count.
    pub class: Option<ClassRun>,
}
