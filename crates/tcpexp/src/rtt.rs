//! Round-trip times between two captures.

use tcpexp_flow::Packets;
use tcpexp_pair::spp::{self, Alignment, Batch, ClockModel, Identification, Survey, Totals};
use tcpexp_wire::Tunnels;

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
/// Reads both captures twice, each capture on its own thread. `sink` receives flows, samples and
/// summaries as they become known. The sink's error ends the measurement.
pub fn rtt<E: From<Error> + Send>(
    src: &Recording,
    dst: &Recording,
    options: &RttOptions,
    sink: impl FnMut(Batch) -> Result<(), E> + Send,
) -> Result<RttReport, E> {
    let alignment = align(src, dst, options.tunnels)?;
    let identification = alignment.identification.clone();
    let clock = alignment.clock.clone();
    let common_packets = alignment.common_packets;
    let (mut src_walk, mut dst_walk) = (
        src.walk_once(options.tunnels)?,
        dst.walk_once(options.tunnels)?,
    );
    let totals = spp::measure(&mut src_walk, &mut dst_walk, alignment, options.spp, sink)?;
    Ok(RttReport {
        captures: CaptureInfo::of_both([&src_walk, &dst_walk], totals.flows_shed),
        identification,
        common_packets,
        // The smallest delays of all packets bound the offset, and they are known after the last
        // pass.
        clock: clock.settled(totals.least_owd, options.spp.symmetric),
        totals,
    })
}

/// The first pass over both captures.
pub(crate) fn align(
    src: &Recording,
    dst: &Recording,
    tunnels: Tunnels,
) -> Result<Alignment, Error> {
    let (src_survey, dst_survey) = rayon::join(|| survey(src, tunnels), || survey(dst, tunnels));
    Alignment::between(src_survey?, dst_survey?).map_err(|source| Error::Compare {
        src: src.name().to_owned(),
        dst: dst.name().to_owned(),
        source,
    })
}

fn survey(recording: &Recording, tunnels: Tunnels) -> Result<Survey, Error> {
    // Another pass follows, so this pass does not release its pages.
    let mut walk = recording.walk(tunnels)?;
    let mut survey = Survey::default();
    walk.show(usize::MAX, |sighted| survey.observe(sighted));
    CaptureInfo::of(&walk).require_packets(recording)?;
    Ok(survey)
}
