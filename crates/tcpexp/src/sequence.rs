//! Sequence numbers over time from one capture.

use tcpexp_measure::sequence::{SequenceMeter, SequenceRow};

use crate::shard::meter_part;
use crate::view::View;
use crate::{CaptureInfo, CaptureOptions, Error, Recording};

/// Follows the sequence numbers of a capture's TCP connections.
///
/// Reads the capture once and passes rows to `sink` as they become known. The sink's error ends the
/// measurement.
pub fn sequence<E: From<Error> + Send>(
    recording: &Recording,
    options: &CaptureOptions,
    sink: impl FnMut(Vec<SequenceRow>) -> Result<(), E> + Send,
) -> Result<CaptureInfo, E> {
    let mut walk = View::of(recording, &options.reading)?.walk_once()?;
    let metered = meter_part(&mut walk, options.reading.shard, SequenceMeter::new, sink)?;
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(recording)?;
    Ok(info)
}
