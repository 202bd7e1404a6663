//! One summary per connection of a capture.

use tcpexp_measure::MissedData;
use tcpexp_measure::flows::{Connection, ConnectionSummary};

use crate::shard::meter_part;
use crate::view::View;
use crate::{CaptureInfo, CaptureOptions, Error, Recording};

/// Summarises each connection of a capture.
///
/// Reads the capture once. `sink` receives a summary when its connection ends. The sink's error
/// ends the measurement.
pub fn flows<E: From<Error> + Send>(
    recording: &Recording,
    options: &CaptureOptions,
    mut sink: impl FnMut(Vec<ConnectionSummary>) -> Result<(), E> + Send,
) -> Result<CaptureInfo, E> {
    let mut walk = View::of(recording, &options.reading)?.walk_once()?;
    let mut missed = MissedData::default();
    let shard = options.reading.shard;
    let coarse_tick = recording.coarse_tick()?;
    let metered = meter_part(
        &mut walk,
        shard,
        Connection::of,
        |mut connections: Vec<_>| {
            for one in &mut connections {
                let one: &mut ConnectionSummary = one;
                one.coarse_tick = coarse_tick;
                for holes in one.directions.iter().flat_map(|of| &of.missed) {
                    missed += MissedData::of(holes);
                }
            }
            sink(connections)
        },
    )?;
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        missed,
        coarse_tick,
        records_per_packet: recording.records_per_packet(options.reading.tunnels)?,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(recording)?;
    Ok(info)
}
