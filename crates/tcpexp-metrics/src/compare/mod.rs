//! Comparison of cells: one row per cell and class of traffic, over the runs of the cell.
//!
//! [`measure_run`] reduces each run to one value per [`Measure`] and class; [`compare`] takes medians
//! of these values over the runs of a cell. Each [`Measure`] carries its definition.

mod amount;
mod calls;
mod cells;
mod delays;
mod expectation;
mod fates;
mod group;
mod marks;
mod measures;
mod rates;
mod response;
mod run;
mod senders;
mod sharing;
#[cfg(test)]
mod tests;
mod video;
mod window;

pub use cells::{CellClass, RunOfCell, compare};
pub use expectation::{Bound, Expectation, ExpectationError, Relation, Verdict};
pub use group::Options;
pub use measures::{Measure, Values};
pub use run::{ClassRun, measure_run};
pub use senders::{Completion, Fate, Link, Marks, Run, Segment, Sender, Transfer};
pub use window::{Bin, Window};
