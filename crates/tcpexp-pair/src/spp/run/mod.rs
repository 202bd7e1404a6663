//! Measures both captures side by side.

mod measure;
mod reader;
mod recent;
mod shard;
mod sweep;

pub use measure::{Batch, Options, Totals, measure};
