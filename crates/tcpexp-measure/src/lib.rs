//! Flows to samples: synthetic packet pairs between two measurement points.
