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
    let metered = meter_part(&mut walk, shard, Connection::of, |connections: Vec<_>| {
        for direction in connections
            .iter()
            .flat_map(|one: &ConnectionSummary| &one.directions)
        {
            missed += MissedData::of(&direction.missed);
        }
        sink(connections)
    })?;
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        missed,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(recording)?;
    Ok(info)
}
