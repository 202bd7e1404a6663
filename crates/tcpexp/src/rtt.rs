//! Round-trip times between two captures.

use tcpexp_pair::spp::{self, Batch, ClockModel, Identification, Totals};

use crate::aligned::aligned;
use crate::alignment::Aligned;
use crate::shard::OwnFlows;
use crate::{CaptureInfo, Error, Recording, RttOptions};

/// Result of [`rtt`](fn@rtt).
#[derive(Debug)]
pub struct RttReport {
    /// The two captures, source first.
    pub captures: [CaptureInfo; 2],
    /// The fields that identify packets.
    pub identification: Identification,
    /// Packets of the first pass's sample found in both captures.
    pub common_packets: u64,
    /// Offset, skew and steps of the clocks.
    pub clock: ClockModel,
    /// Flows at one point only, and discarded pairs.
    pub totals: Totals,
}

/// Measures the round-trip times between two captures of the same traffic.
///
/// Reads both captures twice, each capture on its own thread; with a survey, once. `sink` receives flows, samples and
/// summaries as they become known. The sink's error ends the measurement.
pub fn rtt<E: From<Error> + Send>(
    src: &Recording,
    dst: &Recording,
    options: &RttOptions,
    mut sink: impl FnMut(Batch) -> Result<(), E> + Send,
) -> Result<RttReport, E> {
    let Aligned {
        views: [src, dst],
        alignment,
        ..
    } = aligned(src, dst, &options.reading, options.spp)?;
    let identification = alignment.identification.clone();
    let clock = alignment.clock.clone();
    let common_packets = alignment.common_packets;
    let (mut src_walk, mut dst_walk) = (src.walk_once()?, dst.walk_once()?);
    let mut own = OwnFlows::of(options.reading.shard);
    let totals = spp::measure(
        &mut src_walk,
        &mut dst_walk,
        alignment,
        options.spp,
        |mut batch| {
            own.retain_in(&mut batch);
            sink(batch)
        },
    )?;
    for view in [src, dst] {
        view.recording().require_whole_passes()?;
    }
    Ok(RttReport {
        captures: CaptureInfo::of_both([&src_walk, &dst_walk], totals.flows_shed),
        identification,
        common_packets,
        // The smallest delays of all packets bound the offset, and they are known after the last
        // pass.
        clock: clock.settled(totals.least_delays, options.spp.symmetric),
        totals,
    })
}
