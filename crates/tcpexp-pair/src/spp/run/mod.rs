//! Measures both captures side by side.

mod measure;
mod pairs;
mod reader;
mod recent;
mod shard;
mod sweep;
mod yields;

pub use measure::{Batch, Options, Totals, measure};
