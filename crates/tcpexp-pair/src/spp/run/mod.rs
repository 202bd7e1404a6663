//! Measures both captures side by side.

mod batch;
mod measure;
mod order;
mod pairs;
mod reader;
mod recent;
mod remembered;
mod shard;
mod sweep;
mod unmatched;
mod yields;

pub use batch::{Batch, Options, Totals};
pub use measure::measure;
