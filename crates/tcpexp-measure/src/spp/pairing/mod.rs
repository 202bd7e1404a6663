//! Which packet that went out and which that came back make a pair, and the samples they give.

mod pair;
mod partners;
mod sample;

pub(in crate::spp) use pair::Pair;
pub(in crate::spp) use partners::Crossed;
pub use sample::{FlowSummary, RttSample};
