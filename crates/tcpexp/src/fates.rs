//! Fates of the data in two captures: delivered or lost on the path.

use tcpexp_measure::sender::DataFates;
use tcpexp_pair::path::{self, FirstPass, PathBatch, PathTotals};
use tcpexp_pair::spp::{self, Alignment, Clocks, Point};

use crate::alignment::align;
use crate::view::View;
use crate::{CaptureInfo, Error};

/// Fates of the data that passes either capture first, by [`Point::index`].
///
/// Reads both captures twice, and a third time if one of them missed packets or a clock step is
/// unknown. Returns empty fates if
/// the captures have nothing in common; each capture then describes its senders alone.
pub(crate) fn fates(src: View<'_>, dst: View<'_>) -> Result<[DataFates; 2], Error> {
    match gather(src, dst, collect) {
        Ok((fates, _)) => Ok(fates),
        Err(Error::Compare { .. }) => Ok(Default::default()),
        Err(error) => Err(error),
    }
}

/// Gathers the fates of all packets with `add`, and returns them with the summaries of the captures,
/// source first.
pub(crate) fn gather<T: Default + Send>(
    src: View<'_>,
    dst: View<'_>,
    add: impl Fn(&mut T, &PathBatch) + Sync,
) -> Result<(T, [CaptureInfo; 2]), Error> {
    let alignment = align(src, dst, Clocks::Separate)?;
    // The first pass omits the smallest delays, which only queueing delays need, and expects that
    // the captures missed nothing.
    let assumed = FirstPass::default();
    let (gathered, infos, totals) = pass(src, dst, alignment.clone(), assumed, &add)?;
    let missed = totals.totals.unseen;
    let unusable = [0, 1].map(|place: usize| infos[place].unusable());
    let contradicted = totals.totals.contradicted;
    if missed == [0; 2] && unusable == [0; 2] && contradicted.is_none() {
        return Ok((gathered, infos));
    }
    // A capture that misses packets proves fewer losses, and so does an unknown clock step.
    let known = FirstPass {
        missed,
        unusable,
        contradicted,
        ..FirstPass::default()
    };
    let (gathered, infos, _) = pass(src, dst, alignment, known, &add)?;
    Ok((gathered, infos))
}

fn pass<T: Default + Send>(
    src: View<'_>,
    dst: View<'_>,
    alignment: Alignment,
    first: FirstPass,
    add: &(impl Fn(&mut T, &PathBatch) + Sync),
) -> Result<(T, [CaptureInfo; 2], PathTotals), Error> {
    let recordings = [src, dst].map(|view| view.recording());
    let (mut src, mut dst) = (src.walk_once()?, dst.walk_once()?);
    let mut gathered = T::default();
    let options = spp::Options::default();
    let totals = path::measure(&mut src, &mut dst, alignment, first, options, |batch| {
        add(&mut gathered, &batch);
        Ok::<(), Error>(())
    })?;
    for recording in recordings {
        recording.require_whole_passes()?;
    }
    Ok((
        gathered,
        [CaptureInfo::of(&src), CaptureInfo::of(&dst)],
        totals,
    ))
}

/// Adds the flows and packets of `batch` to the fates of each capture's data.
pub(crate) fn collect(fates: &mut [DataFates; 2], batch: &PathBatch) {
    for flow in &batch.flows {
        for point in Point::BOTH {
            let place = point.index();
            fates[place].add_flow(flow.flow, flow.local[place]);
        }
    }
    for packet in &batch.packets {
        fates[packet.path_direction.upstream().index()].add(packet);
    }
}
