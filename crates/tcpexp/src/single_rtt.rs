//! Round-trip times from one capture.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use tcpexp_flow::Flow;
use tcpexp_measure::rtt::{SingleRttMeter, SingleRttRow};
use tcpexp_measure::{MissedData, meter_live};

use crate::admission::Admission;
use crate::selection::Selected;
use crate::shard::meter_part;
use crate::view::View;
use crate::{CaptureInfo, CaptureOptions, Error, Recording, Walk};

/// Measures the round-trip times of a capture's TCP connections between the capture point and
/// either end.
///
/// Reads the capture once. `sink` receives flows, samples and summaries as they become known. The
/// sink's error ends the measurement.
pub fn single_rtt<E: From<Error> + Send>(
    recording: &Recording,
    options: &CaptureOptions,
    mut sink: impl FnMut(Vec<SingleRttRow>) -> Result<(), E> + Send,
) -> Result<CaptureInfo, E> {
    let mut walk = View::of(recording, &options.reading)?.walk_once()?;
    let mut missed = MissedData::default();
    let shard = options.reading.shard;
    let coarse_tick = recording.coarse_tick()?;
    let metered = meter_part(&mut walk, shard, SingleRttMeter::new, |mut rows: Vec<_>| {
        for row in &mut rows {
            if let SingleRttRow::Ended(flow) = row {
                for direction in &flow.directions {
                    missed += direction.missed;
                }
            }
            if let Some(tick) = coarse_tick {
                row.add_clock_error(tick);
            }
        }
        sink(rows)
    })?;
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

/// Like [`single_rtt`](fn@single_rtt), for a live capture: `sink` receives each row before the next
/// packet is read from `input`.
///
/// `name` names the input in messages; `max_flows` is as in [`Recording::with_max_flows`]. The options
/// may have a filter, and no limits in time. Returns when the input ends or the sink fails.
pub fn live_rtt<E: From<Error>>(
    name: &Path,
    input: impl Read + Send + 'static,
    max_flows: NonZeroUsize,
    options: &CaptureOptions,
    sink: impl FnMut(SingleRttRow) -> Result<(), E>,
) -> Result<CaptureInfo, E> {
    let selection = &options.reading.selection;
    if selection.has_range() {
        return Err(Error::RangeOfLive {
            path: name.to_owned(),
        }
        .into());
    }
    let mut walk = Walk::of_live(name, input, options.reading.tunnels)?;
    walk.max_flows = max_flows;
    let selected = selection.filter.as_deref().map(|filter| Selected {
        filter: Some(filter),
        range: None,
    });
    // A live capture shows only later how many records of each packet it has.
    walk.admission = Admission::of(selected, 1);
    let shard = options.reading.shard;
    let is_own = |flow: &Flow| shard.is_none_or(|shard| shard.holds_flow(flow));
    let begin = |flow: &Flow| is_own(flow).then(|| SingleRttMeter::new(flow));
    let metered = meter_live(&mut walk, begin, sink)?;
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets_in(name)?;
    Ok(info)
}
