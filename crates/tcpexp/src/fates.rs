//! Fates of the data in two captures: delivered or lost on the path.

use tcpexp_measure::sender::DataFates;
use tcpexp_pair::path::{self, FirstPass, PathBatch};
use tcpexp_pair::spp::{self, Point};

use crate::alignment::align;
use crate::view::View;
use crate::{CaptureInfo, Error};

/// Fates of the data that passes either capture first, by [`Point::index`].
///
/// Reads both captures twice. Returns empty fates if the captures have nothing in common; each
/// capture then describes its senders alone.
pub(crate) fn fates(src: View<'_>, dst: View<'_>) -> Result<[DataFates; 2], Error> {
    let mut fates = <[DataFates; 2]>::default();
    match each(src, dst, |batch| collect(&mut fates, batch)) {
        Ok(_) | Err(Error::Compare { .. }) => Ok(fates),
        Err(error) => Err(error),
    }
}

/// Passes the fates of all packets to `show`, and returns the summaries of the captures, source
/// first.
pub(crate) fn each(
    src: View<'_>,
    dst: View<'_>,
    mut show: impl FnMut(&PathBatch) + Send,
) -> Result<[CaptureInfo; 2], Error> {
    let alignment = align(src, dst)?;
    let recordings = [src, dst].map(|view| view.recording());
    let (mut src, mut dst) = (src.walk_once()?, dst.walk_once()?);
    // The empty first pass omits the smallest delays, which only queueing delays need.
    let (first, options) = (FirstPass::default(), spp::Options::default());
    path::measure(&mut src, &mut dst, alignment, first, options, |batch| {
        show(&batch);
        Ok::<(), Error>(())
    })?;
    for recording in recordings {
        recording.require_whole_passes()?;
    }
    Ok([CaptureInfo::of(&src), CaptureInfo::of(&dst)])
}

/// Adds the flows and packets of `batch` to the fates of each capture's data.
pub(crate) fn collect(fates: &mut [DataFates; 2], batch: &PathBatch) {
    for flow in &batch.flows {
        for point in Point::BOTH {
            let place = point.index();
            fates[place].add_flow(flow.local[place].flow);
        }
    }
    for packet in &batch.packets {
        fates[packet.path_direction.upstream().index()].add(packet);
    }
}
