//! Fate and delay of each packet between two captures.

use tcpexp_pair::path::{self, PathBatch, PathTotals};
use tcpexp_pair::spp::{ClockModel, Identification};

use crate::aligned::aligned;
use crate::alignment::{Aligned, first_pass};
use crate::shard::OwnFlows;
use crate::{CaptureInfo, Error, PathOptions, Recording};

/// Result of [`path`](fn@path).
#[derive(Debug)]
pub struct PathReport {
    /// The two captures, source first.
    pub captures: [CaptureInfo; 2],
    /// The fields that identify packets.
    pub identification: Identification,
    /// Packets of the first pass's sample found in both captures.
    pub common_packets: u64,
    /// Offset, skew and steps of the clocks. The error of the offset bounds the error of each
    /// one-way delay: see [`Offset::error`](tcpexp_pair::spp::Offset::error).
    pub clock: ClockModel,
    /// Totals over all flows, and counts of unused packets.
    pub totals: PathTotals,
}

/// Measures the fate and the delays of each packet between two captures of the same traffic.
///
/// Reads both captures three times, each capture on its own thread:
/// - to align the captures
/// - to find the smallest delays and the packets that the captures missed
/// - to measure each packet
///
/// With a survey, reads them once.
///
/// `sink` receives flows, packets and summaries as they become known. The sink's error ends the
/// measurement.
pub fn path<E: From<Error> + Send>(
    src: &Recording,
    dst: &Recording,
    options: &PathOptions,
    mut sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathReport, E> {
    let PathOptions { reading, spp } = options;
    let spp = *spp;
    let Aligned {
        views,
        alignment,
        first,
    } = aligned(src, dst, reading, spp)?;
    let identification = alignment.identification.clone();
    let common_packets = alignment.common_packets;
    let first = if let Some(first) = first {
        first
    } else {
        let walks = [views[0].walk()?, views[1].walk()?];
        first_pass(walks, &alignment, spp, |_| ()).0
    };
    let [src, dst] = views;
    let clock = alignment.clock.settled(first.least_delays, spp.symmetric);
    // Only the last pass may release the pages that it has read.
    let (mut src_walk, mut dst_walk) = (src.walk_once()?, dst.walk_once()?);
    let mut own = OwnFlows::of(reading.shard);
    let totals = path::measure(
        &mut src_walk,
        &mut dst_walk,
        alignment,
        first,
        spp,
        |mut batch| {
            own.retain_in_path(&mut batch);
            sink(batch)
        },
    )?;
    for view in [src, dst] {
        view.recording().require_whole_passes()?;
    }
    Ok(PathReport {
        captures: CaptureInfo::of_both([&src_walk, &dst_walk], totals.totals.flows_shed),
        identification,
        common_packets,
        clock,
        totals,
    })
}
