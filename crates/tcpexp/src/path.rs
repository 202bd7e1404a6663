//! What became of each packet between two captures.

use tcpexp_measure::path::{self, PathBatch, PathTotals};
use tcpexp_measure::spp::{ClockModel, Identification};

use crate::rtt::align;
use crate::{CaptureInfo, Error, PathOptions, Recording};

/// What is known of a path when its captures have been measured.
#[derive(Debug)]
pub struct PathReport {
    /// The two captures, source first.
    pub captures: [CaptureInfo; 2],
    /// By what packets were known again.
    pub identification: Identification,
    /// Packets of the first pass's sample found in both captures.
    pub common_packets: u64,
    /// The clocks' offset, skew and steps. Each one-way delay is off by the error of the offset at
    /// most: see [`Offset::error`](tcpexp_measure::spp::Offset::error).
    pub clock: ClockModel,
    /// All flows together, and what was not used.
    pub totals: PathTotals,
}

/// Finds out what became of each packet between two captures of the same traffic.
///
/// Reads both captures three times, each on a thread of its own: for how they lie to each other,
/// for the smallest delays and what the captures missed, and for the packets. `sink` gets flows,
/// packets and summaries as they come; its error ends the measurement.
pub fn path<E: From<Error> + Send>(
    src: &Recording,
    dst: &Recording,
    options: &PathOptions,
    sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
) -> Result<PathReport, E> {
    let PathOptions { tunnels, spp } = *options;
    let alignment = align(src, dst, tunnels)?;
    let identification = alignment.identification.clone();
    let common_packets = alignment.common_packets;
    let (mut src_walk, mut dst_walk) = (src.walk(tunnels)?, dst.walk(tunnels)?);
    let mut first = path::first_pass(&mut src_walk, &mut dst_walk, alignment.clone(), spp);
    first.add_dropped([&src_walk, &dst_walk].map(|walk| CaptureInfo::of(walk).dropped()));
    let clock = alignment.clock.settled(first.least_owd, spp.symmetric);
    let (mut src_walk, mut dst_walk) = (src.walk_once(tunnels)?, dst.walk_once(tunnels)?);
    let totals = path::measure(&mut src_walk, &mut dst_walk, alignment, first, spp, sink)?;
    Ok(PathReport {
        captures: CaptureInfo::of_both([&src_walk, &dst_walk], totals.totals.flows_shed),
        identification,
        common_packets,
        clock,
        totals,
    })
}
