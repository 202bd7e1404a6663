//! The tables of `tcpexp compare`.

mod columns;
mod text;

use std::sync::Arc;

use tcpexp_metrics::compare::{CellClass, ClassRun, Options};

use crate::dataset::RunColumns;

pub use columns::{compare_columns, compare_run_columns, is_compare_column};
pub use text::{CompareText, compare_text};

/// The name of all classes together.
pub(crate) const ALL_CLASSES: &str = "all";

/// A cell and one of its classes over all runs.
#[derive(Clone, Debug)]
pub struct CompareRow {
    /// The cell.
    pub cell: Arc<ComparedCell>,
    /// Its numbers; `None` if no run of the cell counts.
    pub class: Option<CellClass>,
}

/// What is the same for all rows of a cell.
#[derive(Clone, Debug)]
pub struct ComparedCell {
    /// Hash of its parameters.
    pub hash: String,
    /// Its parameters.
    pub parameters: RunColumns,
    /// How many of these vary; they come first.
    pub varied: usize,
    /// Hash of the cell that it is held against.
    pub baseline: Option<String>,
    /// How many of its runs count, are invalid, and failed.
    pub runs: [u64; 3],
    /// Which do not count and why; `None` if all do.
    pub left_out: Option<String>,
    /// What was left out, and when flows count as settled.
    pub options: Options,
}

/// A run by itself and one of its classes.
#[derive(Clone, Debug)]
pub struct CompareRunRow {
    /// The run's cell.
    pub cell: Arc<ComparedCell>,
    /// Its name.
    pub run: Arc<str>,
    /// Which repetition of the cell it is, from 1.
    pub repetition: u32,
    /// How it ended.
    pub status: &'static str,
    /// Why it does not count; `None` if it does.
    pub reason: Option<Arc<str>>,
    /// Its numbers; `None` if it does not count.
    pub class: Option<ClassRun>,
}
