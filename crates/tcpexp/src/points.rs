//! Fate and delay of each packet between several captures along a path.

use std::collections::VecDeque;

use tcpexp_pair::path::{self, FirstPass, FromPath, PathBatch, PathSegment, SeenAt, SeenBeyond};
use tcpexp_pair::spp::{Alignment, ClockModel, JointClocks, LeastDelays, Options, PathClocks};
use tcpexp_units::TimeDelta;

use crate::alignment::{align_for, both, first_pass};
use crate::numbering::{Numbering, OfSegment};
use crate::selection::Reading;
use crate::view::View;
use crate::ways::{Ways, WaysOfPair};
use crate::{CaptureInfo, Error, PathOptions, PathReport, Recording};

/// Result of [`path_along`].
#[derive(Debug)]
pub struct PointsReport {
    /// The segments between neighbours, in the order along the path.
    pub segments: Vec<SegmentReport>,
    /// The whole path, from the first point to the last; `None` with two points, which have one
    /// segment.
    pub whole: Option<SegmentReport>,
}

/// Result of [`path_along`] between two of the points.
#[derive(Debug)]
pub struct SegmentReport {
    /// The two points.
    pub segment: PathSegment,
    /// The measurement between them. The offset of the whole path's clocks is the sum of the
    /// segments' offsets, and its error the sum of their errors. If a capture between the ends is much
    /// shorter, the packets of the ends determine the clocks.
    pub report: PathReport,
    /// By how much the sum of the segments' offsets differs from the offset that the packets of the
    /// two points alone show, if this exceeds the errors of both. The offset then has no bounds.
    pub contradiction: Option<TimeDelta>,
    /// True if the segments between the two points determine their clocks: then the delays of the
    /// segments sum to those between the points. False if a capture between the ends is much shorter.
    pub by_segments: bool,
}

/// Measures the fate and the delays of each packet between several captures along a path.
///
/// `points` are in the order along the path. `sink` receives the results of the whole path, then
/// those of each segment between neighbours; a segment's flows, packets and summaries are those of
/// [`path`](fn@crate::path) with these differences:
///
/// - A flow has one number and one initiator in all segments: those of the first capture. Flows
///   that the first capture does not show are numbered after its flows.
/// - All times are on the clock of the first point, without its steps. The delays of a packet that
///   all captures show sum to that of the whole path exactly, unless a clock between the ends was
///   set: then up to the error of the estimated step. If a capture between the ends is so much shorter
///   that the packets of the ends alone determine their clocks better, they sum up to the errors of
///   the offsets: see [`SegmentReport::by_segments`].
/// - A packet that the next capture lacks and a later one shows is [`Missed`](crate::Fate::Missed).
///   This assumes that every packet passes all points.
///
/// The options of a part of the flows and of a survey have no effect: both are for two captures.
///
/// Returns an error if the captures are in another order than their packets pass them.
///
/// Reads each capture up to four times for each pair of points, since each pair shows packets that
/// the captures between them missed. Memory grows by one bit per record and pair.
pub fn path_along<E: From<Error> + Send>(
    points: &[Recording],
    options: &PathOptions,
    mut sink: impl FnMut(PathSegment, PathBatch) -> Result<(), E> + Send,
) -> Result<PointsReport, E> {
    let PathOptions { reading, spp } = options;
    let spp = *spp;
    let views = views(points, reading, spp)?;
    let last = points.len().saturating_sub(1);
    let pairs = pairs_of(&views, last, spp)?;
    let mut numbering = Numbering::default();
    let mut seen = Vec::new();
    let mut report = PointsReport {
        segments: Vec::new(),
        whole: None,
    };
    for pair in pairs {
        let segment = pair.segment;
        let is_whole = segment == PathSegment { from: 0, to: last };
        let mut flows = OfSegment::new(segment);
        let mut at_other = <[SeenAt; 2]>::default();
        let measured = pair.measure::<E>(&views, beyond(segment, &seen), spp, |batch| {
            if !segment.joins_neighbours() {
                for packet in &batch.packets {
                    at_other[packet.path_direction.index()].add(packet);
                }
            }
            let batch = numbering.rename(&mut flows, batch);
            if is_whole || segment.joins_neighbours() {
                sink(segment, batch)?;
            }
            Ok(())
        })?;
        if segment.from == 0 {
            numbering.count(&flows, &measured.report.totals.totals);
        }
        if segment.joins_neighbours() {
            report.segments.push(measured);
        } else {
            seen.push((segment, at_other));
            report.whole = report.whole.or(is_whole.then_some(measured));
        }
    }
    for point in points {
        point.require_whole_passes()?;
    }
    Ok(report)
}

/// Compares all pairs of points up to `last`, in the order of [`path_along`]'s passes over them.
fn pairs_of(views: &[View<'_>], last: usize, spp: Options) -> Result<Vec<Pair>, Error> {
    let mut near = VecDeque::new();
    let mut clocks = Vec::new();
    for from in 0..last {
        let (alignment, clock) = settled(views, PathSegment { from, to: from + 1 }, spp)?;
        near.push_back(alignment);
        clocks.push(clock);
    }
    let clocks = PathClocks::new(clocks);
    // The evidence on a segment comes from the pairs before it.
    let order = (0..last).flat_map(|from| {
        (from + 1..=last)
            .rev()
            .map(move |to| PathSegment { from, to })
    });
    let mut pairs = Vec::new();
    let mut ways = Ways::default();
    for segment in order {
        let known = if segment.joins_neighbours() {
            near.pop_front()
        } else {
            None
        };
        let alignment = match known {
            Some(alignment) => alignment,
            None => align_for(views[segment.from], views[segment.to], spp)?,
        };
        let (pair, of_pair) = Pair::of(views, segment, alignment, &clocks, spp)?;
        if !ways.agree([segment.from, segment.to], of_pair) {
            let [from, to] = ends(views, segment).map(|view| view.name().to_owned());
            return Err(Error::Order { from, to });
        }
        pairs.push(pair);
    }
    share_misses(&mut pairs);
    Ok(pairs)
}

/// The views of all captures, with the limits in time of the first.
fn views<'a>(
    points: &'a [Recording],
    reading: &'a Reading,
    spp: Options,
) -> Result<Vec<View<'a>>, Error> {
    let Some((first, others)) = points.split_first() else {
        return Ok(Vec::new());
    };
    let mut views = Vec::new();
    for other in others {
        let [src, dst] = both(first, other, reading, spp.clocks)?;
        if views.is_empty() {
            views.push(src);
        }
        views.push(dst);
    }
    Ok(views)
}

/// What two captures have in common, and their clocks as the fastest packets show them.
fn settled(
    views: &[View<'_>],
    segment: PathSegment,
    spp: Options,
) -> Result<(Alignment, ClockModel), Error> {
    let [src, dst] = ends(views, segment);
    let alignment = align_for(src, dst, spp)?;
    let (first, _) = first_pass([src.walk()?, dst.walk()?], &alignment, spp, |_| ());
    let clock = alignment.clock.settled(first.least_delays, spp.symmetric);
    Ok((alignment, clock))
}

fn ends<'a>(views: &[View<'a>], segment: PathSegment) -> [View<'a>; 2] {
    [views[segment.from], views[segment.to]]
}

/// Two points, before the last pass over their captures.
struct Pair {
    segment: PathSegment,
    alignment: Alignment,
    first: FirstPass,
    clocks: JointClocks,
    least: LeastDelays,
}

impl Pair {
    fn of(
        views: &[View<'_>],
        segment: PathSegment,
        alignment: Alignment,
        clocks: &PathClocks,
        spp: Options,
    ) -> Result<(Self, WaysOfPair), Error> {
        let [src, dst] = ends(views, segment);
        let points = [segment.from, segment.to];
        let unsettled = clocks.between(points, alignment.clock.clone());
        let (mut src, mut dst) = (src.walk()?, dst.walk()?);
        let mut ways = WaysOfPair::default();
        let (mut first, mut least) = path::first_pass_along(
            &mut src,
            &mut dst,
            alignment.clone(),
            unsettled.timelines,
            spp,
            |flows, outcomes| ways.add(flows, outcomes),
        );
        first.unusable = [&src, &dst].map(|walk| CaptureInfo::of(walk).unusable());
        let settled = alignment.clock.settled(first.least_delays, spp.symmetric);
        let clocks = clocks.between(points, settled);
        // The offset of the segments is settled, but that of the two points alone was not. The minima must
        // be on the timeline of the rows.
        if !(unsettled.by_segments && clocks.by_segments) {
            (_, least) = path::first_pass_along(
                &mut views[segment.from].walk()?,
                &mut views[segment.to].walk()?,
                alignment.clone(),
                clocks.timelines.clone(),
                spp,
                |_, _| (),
            );
        }
        let pair = Self {
            segment,
            alignment,
            first,
            clocks,
            least,
        };
        Ok((pair, ways))
    }

    fn measure<E: From<Error> + Send>(
        self,
        views: &[View<'_>],
        beyond: [SeenBeyond; 2],
        spp: Options,
        sink: impl FnMut(PathBatch) -> Result<(), E> + Send,
    ) -> Result<SegmentReport, E> {
        let [src, dst] = ends(views, self.segment);
        let identification = self.alignment.identification.clone();
        let common_packets = self.alignment.common_packets;
        let clock = self.clocks.clock.clone();
        let contradiction = self.clocks.contradiction;
        let by_segments = self.clocks.by_segments;
        let from_path = FromPath {
            clocks: self.clocks,
            least: self.least,
            beyond,
        };
        let (mut src, mut dst) = (src.walk()?, dst.walk()?);
        let totals = path::measure_along(
            &mut src,
            &mut dst,
            self.alignment,
            self.first,
            from_path,
            spp,
            sink,
        )?;
        Ok(SegmentReport {
            segment: self.segment,
            report: PathReport {
                captures: CaptureInfo::of_both([&src, &dst], totals.totals.flows_shed),
                identification,
                common_packets,
                clock,
                totals,
            },
            contradiction,
            by_segments,
        })
    }
}

/// A capture that misses packets of one pair may miss packets of every pair.
fn share_misses(pairs: &mut [Pair]) {
    let points = pairs.iter().map(|pair| pair.segment.to + 1).max();
    let mut missed = vec![0; points.unwrap_or(0)];
    for pair in &*pairs {
        let PathSegment { from, to } = pair.segment;
        for (point, packets) in [from, to].into_iter().zip(pair.first.missed) {
            missed[point] = packets.max(missed[point]);
        }
    }
    for pair in pairs {
        let PathSegment { from, to } = pair.segment;
        pair.first.missed = [missed[from], missed[to]];
    }
}

/// The packets of a segment that captures beyond it show, by
/// [`PathDirection::index`](tcpexp_pair::spp::PathDirection::index).
fn beyond(segment: PathSegment, seen: &[(PathSegment, [SeenAt; 2])]) -> [SeenBeyond; 2] {
    let mut beyond = <[SeenBeyond; 2]>::default();
    for (other, [out, back]) in seen {
        if other.from == segment.from && other.to > segment.to {
            beyond[0].add(out);
        }
        if other.to == segment.to && other.from < segment.from {
            beyond[1].add(back);
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::{Middle, Path, Scenario, TcpLoad, simulate};
    use tcpexp_units::Skew;

    use super::*;

    /// The first `records` records of a capture.
    fn cut(capture: &[u8], records: usize) -> &[u8] {
        const FILE_HEADER: usize = 24;
        const RECORD_HEADER: usize = 16;
        let end = (0..records).fold(FILE_HEADER, |at, _| {
            let length: [u8; 4] = capture[at + 8..at + 12].try_into().unwrap();
            at + RECORD_HEADER + usize::try_from(u32::from_le_bytes(length)).unwrap()
        });
        &capture[..end]
    }

    #[test]
    fn fastest_packet_of_a_path_has_no_queueing_delay_after_a_capture_between_its_ends_has_ended() {
        let captures = simulate(&Scenario {
            tcp: vec![TcpLoad {
                bytes: 5_000_000,
                ..TcpLoad::default()
            }],
            middles: vec![Middle {
                skew: Skew::from_ppt(-30_000_000),
                ..Middle::default()
            }],
            skew: Skew::from_ppt(40_000_000),
            ..Scenario::default()
        });
        let capture = |name: &str, bytes: &[u8]| Recording::spool(name.into(), bytes).unwrap();
        let points = [
            capture("src", &captures.src),
            capture("mid", cut(&captures.middles[0], 30)),
            capture("dst", &captures.dst),
        ];
        let whole = PathSegment { from: 0, to: 2 };
        let mut least = [None; 2];
        let report = path_along(&points, &PathOptions::default(), |segment, batch| {
            let packets = batch.packets.iter().filter(|_| segment == whole);
            for packet in packets {
                let least = &mut least[packet.path_direction.index()];
                let delay = packet.queueing_delay;
                *least = [*least, delay].into_iter().flatten().min();
            }
            Ok::<(), Error>(())
        });
        assert!(!report.unwrap().whole.unwrap().by_segments);
        assert_eq!(least, [Some(TimeDelta::ZERO); 2]);
    }

    #[test]
    fn captures_in_another_order_than_the_path_are_refused() {
        let captures = simulate(&Scenario {
            middles: vec![Middle {
                path: Path {
                    delay: TimeDelta::from_millis(11),
                    ..Path::default()
                },
                ..Middle::default()
            }],
            ..Scenario::default()
        });
        let capture = |name: &str, bytes: &[u8]| Recording::spool(name.into(), bytes).unwrap();
        let src = || capture("src", &captures.src);
        let mid = || capture("mid", &captures.middles[0]);
        let dst = || capture("dst", &captures.dst);
        let along = |points: [Recording; 3]| {
            path_along(&points, &PathOptions::default(), |_, _| Ok::<(), Error>(()))
        };
        assert!(along([src(), mid(), dst()]).is_ok());
        assert!(along([dst(), mid(), src()]).is_ok());
        for wrong in [[mid(), src(), dst()], [src(), dst(), mid()]] {
            let refused = along(wrong).unwrap_err();
            assert!(matches!(refused, Error::Order { .. }), "{refused}");
        }
    }
}
