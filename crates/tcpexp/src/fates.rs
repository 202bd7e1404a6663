//! What two captures tell of each other's data: what of it was lost on its way.

use tcpexp_measure::path::{self, FirstPass, PathBatch};
use tcpexp_measure::sender::DataFates;
use tcpexp_measure::spp::{self, Point};
use tcpexp_wire::Tunnels;

use crate::rtt::align;
use crate::{CaptureInfo, Error, Recording};

/// What became of the data that passes either capture first, by [`Point::index`].
///
/// Reads both captures twice. Nothing is known where the captures have nothing in common: then
/// each tells of senders by itself.
pub(crate) fn fates(
    src: &Recording,
    dst: &Recording,
    tunnels: Tunnels,
) -> Result<[DataFates; 2], Error> {
    let mut fates = <[DataFates; 2]>::default();
    match each(src, dst, tunnels, |batch| collect(&mut fates, batch)) {
        Ok(_) | Err(Error::Compare { .. }) => Ok(fates),
        Err(error) => Err(error),
    }
}

/// Shows what became of all packets; tells about the captures, source first.
pub(crate) fn each(
    src: &Recording,
    dst: &Recording,
    tunnels: Tunnels,
    mut show: impl FnMut(&PathBatch) + Send,
) -> Result<[CaptureInfo; 2], Error> {
    let alignment = align(src, dst, tunnels)?;
    let (mut src, mut dst) = (src.walk_once(tunnels)?, dst.walk_once(tunnels)?);
    // No queueing delays are asked for, so that it need not be known which packet was fastest.
    let (first, options) = (FirstPass::default(), spp::Options::default());
    path::measure(&mut src, &mut dst, alignment, first, options, |batch| {
        show(&batch);
        Ok::<(), Error>(())
    })?;
    Ok([CaptureInfo::of(&src), CaptureInfo::of(&dst)])
}

/// Adds what is told of flows and packets to what is known of either capture's data.
pub(crate) fn collect(fates: &mut [DataFates; 2], batch: &PathBatch) {
    for flow in &batch.flows {
        for point in Point::BOTH {
            let place = point.index();
            fates[place].add_flow(flow.local[place].flow);
        }
    }
    for packet in &batch.packets {
        fates[packet.way.upstream().index()].add(packet);
    }
}
