//! Forms packet pairs and their round-trip time samples.

mod absence;
mod pair;
mod partners;
mod sample;
mod weighed;

pub(in crate::spp) use pair::Pair;
pub(in crate::spp) use partners::Crossed;
pub use sample::{FlowSummary, RttSample};
pub(in crate::spp) use weighed::Weighed;
