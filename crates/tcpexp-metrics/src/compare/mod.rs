//! Runs of many cells to one row per cell and class of traffic.
//!
//! Each run is first made one number of each kind for each class ([`measure_run`]); only these are
//! put together, over the runs of a cell ([`compare`]). What any number means is written at its
//! [`Measure`].

mod cells;
mod delays;
mod measures;
mod rates;
mod response;
mod run;
mod senders;
mod sharing;
#[cfg(test)]
mod tests;
mod window;

pub use cells::{CellClass, RunOfCell, compare};
pub use measures::{Measure, Values};
pub use run::{ClassRun, Options, measure_run};
pub use senders::{Fate, Link, Run, Segment, Sender, Transfer};
pub use window::{Bin, Window};
