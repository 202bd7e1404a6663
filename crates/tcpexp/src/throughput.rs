//! Wire rate, throughput and goodput of one capture.

use tcpexp_measure::throughput::{self, ThroughputRow, ThroughputTotals};

use crate::shard::OwnFlows;
use crate::view::View;
use crate::{CaptureInfo, Error, Recording, ThroughputOptions};

/// Result of [`throughput`](fn@throughput).
#[derive(Debug)]
pub struct ThroughputReport {
    /// The capture.
    pub capture: CaptureInfo,
    /// Totals of the packets in bins, and of the packets in no bin.
    pub totals: ThroughputTotals,
}

/// Counts packets and bytes of a capture in time bins.
///
/// Reads the capture once. `sink` receives flows and bins as they become known. The sink's error
/// ends the measurement.
pub fn throughput<E: From<Error> + Send>(
    recording: &Recording,
    options: &ThroughputOptions,
    mut sink: impl FnMut(ThroughputRow) -> Result<(), E> + Send,
) -> Result<ThroughputReport, E> {
    recording.require_all_flows("bins and totals depend")?;
    let mut walk = View::of(recording, &options.reading)?.walk_once()?;
    let mut own = OwnFlows::of(options.reading.shard);
    let totals = throughput::throughput(&mut walk, &options.bins, |row| {
        if own.has(&row) { sink(row) } else { Ok(()) }
    })?;
    let capture = CaptureInfo {
        flows_shed: totals.flows_shed,
        missed: totals.missed,
        coarse_tick: recording.coarse_tick()?,
        records_per_packet: recording.records_per_packet(options.reading.tunnels)?,
        ..CaptureInfo::of(&walk)
    };
    capture.require_packets(recording)?;
    Ok(ThroughputReport { capture, totals })
}
