//! The first pass over two captures: what they have in common, and their clocks.

use tcpexp_flow::Packets;
use tcpexp_pair::path::{self, FirstPass};
use tcpexp_pair::spp::{self, Alignment, Clocks, NothingInCommon, PairedFlow, Point, Survey};

use crate::same_times::at_destination;
use crate::selection::Reading;
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
/// far their clocks are apart, also after clock steps. This takes a pass over both captures. Returns an
/// error if a step makes the selected times ambiguous.
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
    let at_dst = at_destination(&clock, range).map_err(|step| Error::ClockSet {
        path: match step.point {
            Point::Src => src.name().to_owned(),
            Point::Dst => dst.name().to_owned(),
        },
        by: step.size,
    })?;
    Ok([src.within(Some(range)), dst.within(Some(at_dst))])
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
    let info = CaptureInfo::of(&walk);
    info.require_packets(view.recording())?;
    for interface in &info.interfaces {
        survey.count_in(interface.resolution.unit());
    }
    Ok(survey)
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::{ClockStep, Scenario, TcpLoad, simulate};
    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::{Moment, PathOptions, path};

    /// Number of packets sent, received and lost in one second after the destination's clock was set.
    fn fates(by: TimeDelta) -> [u64; 3] {
        let captures = simulate(&Scenario {
            // Eight seconds.
            rate_bps: 10_000_000,
            tcp: vec![TcpLoad {
                bytes: 10_000_000,
                ..TcpLoad::default()
            }],
            clock_step: Some(ClockStep {
                point: tcpexp_testkit::Point::Dst,
                at: TimeDelta::from_seconds(2),
                by,
            }),
            ..Scenario::default()
        });
        let capture = |bytes: &[u8]| Recording::spool("capture".into(), bytes).unwrap();
        let [src, dst] = [&captures.src, &captures.dst].map(|bytes| capture(bytes));
        let options = PathOptions::default()
            .from(Moment::AfterStart(TimeDelta::from_seconds(4)))
            .to(Moment::AfterStart(TimeDelta::from_seconds(5)));
        let mut fates = [0; 3];
        path(&src, &dst, &options, |batch| {
            for direction in batch.ended.iter().flat_map(|flow| &flow.directions) {
                fates[0] += direction.sent();
                fates[1] += direction.counts.matched;
                fates[2] += direction.lost();
            }
            Ok::<(), Error>(())
        })
        .unwrap();
        fates
    }

    #[test]
    fn limits_in_time_select_the_same_packets_after_a_clock_step() {
        let half = TimeDelta::from_millis(500);
        let without_step = fates(TimeDelta::ZERO);
        for by in [half, -half] {
            let with_step = fates(by);
            // The limits are exact to the error of the step.
            let are_equal = with_step
                .iter()
                .zip(without_step)
                .all(|(with, without)| with.abs_diff(without) <= 2);
            assert!(are_equal, "{by}: {with_step:?}, not {without_step:?}");
        }
    }
}
