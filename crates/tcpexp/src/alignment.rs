//! The first pass over two captures: what they have in common, and their clocks.

use tcpexp_flow::Packets;
use tcpexp_pair::path::{self, FirstPass};
use tcpexp_pair::spp::{
    self, Alignment, ClockModel, Clocks, NothingInCommon, PairedFlow, Point, Survey,
};
use tcpexp_units::Timestamp;

use crate::selection::{Range, Reading};
use crate::view::View;
use crate::walk::Walk;
use crate::{CaptureInfo, Error, Recording};

/// What depends on all flows in measurements between two captures.
pub(crate) const BETWEEN_TWO: &str = "delays and losses between two captures depend";

/// Two captures, and what the first passes over them learn.
pub(crate) struct Aligned<'a> {
    /// Source first.
    pub(crate) views: [View<'a>; 2],
    pub(crate) alignment: Alignment,
    /// `None` if the pass for the smallest delays is still to be made.
    pub(crate) first: Option<FirstPass>,
}

/// The pass that finds the smallest delays and the packets that the captures missed. Passes the
/// flows found at both points to `flows`. Also returns the contents and condition of the captures.
pub(crate) fn first_pass(
    [mut src, mut dst]: [Walk<'_>; 2],
    alignment: &Alignment,
    options: spp::Options,
    flows: impl FnMut(Vec<PairedFlow>) + Send,
) -> (FirstPass, [CaptureInfo; 2]) {
    let mut first = path::first_pass(&mut src, &mut dst, alignment.clone(), options, flows);
    // A pcapng file usually has its drop counters at the end, so they are known after a pass.
    let infos = [&src, &dst].map(CaptureInfo::of);
    first.unusable = [0, 1].map(|point: usize| infos[point].unusable());
    (first, infos)
}

/// The views of the two captures of a measurement, source first.
///
/// Limits in time are moments on the source's clock. In the destination, they are the same moments
/// on its own clock, so both views contain the same traffic wherever the captures begin and however
/// far their clocks are apart. This takes a pass over both captures.
pub(crate) fn both<'a>(
    src: &'a Recording,
    dst: &'a Recording,
    reading: &'a Reading,
    clocks: Clocks,
) -> Result<[View<'a>; 2], Error> {
    for recording in [src, dst] {
        recording.require_all_flows(BETWEEN_TWO)?;
    }
    let [src, dst] = [src, dst].map(|recording| View::of_all_times(recording, reading));
    let Some(range) = reading.range_in(src.recording())? else {
        return Ok([src, dst]);
    };
    let clock = align(src, dst, clocks)?.clock;
    let at_dst = Range {
        from: at_destination(&clock, range.from),
        to: at_destination(&clock, range.to),
    };
    Ok([src.within(Some(range)), dst.within(Some(at_dst))])
}

/// Converts a time of the source's clock to the destination's clock.
fn at_destination(clock: &ClockModel, at: Timestamp) -> Timestamp {
    // An open end stays open.
    if at == Timestamp::MIN || at == Timestamp::MAX {
        return at;
    }
    let place = |at| clock.reader(Point::Dst).place(0, at).at;
    let mut guess = at + clock.offset().middle;
    // The clock model converts the other way only. Each step leaves the error times the skew, which
    // is far below 1/1000.
    for _ in 0..2 {
        guess = guess - (place(guess) - at);
    }
    guess
}

/// The first pass over both captures.
pub(crate) fn align(src: View<'_>, dst: View<'_>, clocks: Clocks) -> Result<Alignment, Error> {
    for view in [src, dst] {
        view.recording().require_all_flows(BETWEEN_TWO)?;
    }
    let (src_survey, dst_survey) = rayon::join(|| survey(src), || survey(dst));
    let aligned = Alignment::with_clocks(src_survey?, dst_survey?, clocks);
    aligned.map_err(|source| incomparable(src, dst, source))
}

/// The first pass over both captures of a measurement with these options.
pub(crate) fn align_for(
    src: View<'_>,
    dst: View<'_>,
    options: spp::Options,
) -> Result<Alignment, Error> {
    let within = align(src, dst, options.clocks)?.within(options.max_owd);
    within.map_err(|source| incomparable(src, dst, source))
}

pub(crate) fn incomparable(src: View<'_>, dst: View<'_>, source: NothingInCommon) -> Error {
    Error::Compare {
        src: src.name().to_owned(),
        dst: dst.name().to_owned(),
        source,
    }
}

fn survey(view: View<'_>) -> Result<Survey, Error> {
    // Another pass follows, so this pass does not release its pages.
    let mut walk = view.walk()?;
    let mut survey = Survey::default();
    walk.show(usize::MAX, |sighted| survey.observe(sighted));
    CaptureInfo::of(&walk).require_packets(view.recording())?;
    Ok(survey)
}
