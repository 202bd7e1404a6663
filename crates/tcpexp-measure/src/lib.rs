//! Flows to samples: synthetic packet pairs between two measurement points.

pub mod compat;
pub mod spp;
