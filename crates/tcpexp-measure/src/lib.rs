//! Flows to samples: synthetic packet pairs between two measurement points.

pub mod compat;
mod packets;
pub mod spp;

pub use packets::{Packets, Sighted};
