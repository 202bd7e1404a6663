//! What a manifest says about the comparison of two captures.

use serde::{Deserialize, Serialize};

/// Comparison of two captures: clocks, packet identification, unmatched flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Offset of the destination's clock from the source's, in nanoseconds; positive if the
    /// destination's clock is ahead.
    pub clock_offset_ns: i64,
    /// Largest error of the offset, and so of each one-way delay, in nanoseconds; `None` if packets
    /// went one way only.
    pub clock_offset_error_ns: Option<i64>,
    /// Skew of the destination's clock in parts per million; positive if it runs faster than the
    /// source's.
    pub clock_skew_ppm: f64,
    /// Uncertainty of the skew in parts per million; `None` with too little traffic.
    pub clock_skew_error_ppm: Option<f64>,
    /// True if the skew exceeds noise and is removed.
    pub clock_skew_is_removed: bool,
    /// Number of clock steps during the captures.
    pub clock_steps: u64,
    /// The fields that identify packets.
    pub packets_told_apart_by: String,
    /// Number of packets and pairs discarded because of a clock step in between.
    pub across_clock_steps: u64,
    /// Flows at the source only.
    pub only_at_src: Unpaired,
    /// Flows at the destination only.
    pub only_at_dst: Unpaired,
}

/// Flows that only one of the captures contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpaired {
    /// Number of flows.
    pub flows: u64,
    /// Number of their packets.
    pub packets: u64,
}
