//! Wire rate, throughput and goodput of one capture.

use tcpexp_measure::throughput::{self, ThroughputOptions, ThroughputRow, ThroughputTotals};
use tcpexp_wire::Tunnels;

use crate::{CaptureInfo, Error, Recording};

/// What is known of a capture when its bins have been counted.
#[derive(Debug)]
pub struct ThroughputReport {
    /// The capture.
    pub capture: CaptureInfo,
    /// All that is in bins, and what is in none.
    pub totals: ThroughputTotals,
}

/// Counts what passes in a capture, bin by bin; `sink` gets flows and bins as they come.
///
/// Reads the capture once. The sink's error ends it.
pub fn throughput<E: From<Error>>(
    recording: &Recording,
    tunnels: Tunnels,
    options: &ThroughputOptions,
    sink: impl FnMut(ThroughputRow) -> Result<(), E>,
) -> Result<ThroughputReport, E> {
    let mut walk = recording.walk_once(tunnels)?;
    let totals = throughput::throughput(&mut walk, options, sink)?;
    let capture = CaptureInfo {
        flows_shed: totals.flows_shed,
        ..CaptureInfo::of(&walk)
    };
    capture.require_packets(recording)?;
    Ok(ThroughputReport { capture, totals })
}
