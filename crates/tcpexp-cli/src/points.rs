//! `tcpexp path` with more than two captures.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use tcpexp::{
    CaptureInfo, PathBatch, PathSegment, PointsReport, Recording, SegmentReport, given_up_warning,
    not_held_warning, path_along,
};
use tcpexp_pair::path::PathFlow;
use tcpexp_pair::spp::{PairedFlow, PathDirection, Point};
use tcpexp_table::{
    FLOW_TABLE_WIDTH, FlowLabel, Labelled, Ordered, PointsFlowRow, PointsRow, SegmentTotal,
    TopPoints, points_columns, points_flow_columns,
};
use tcpexp_units::{TimeDelta, counted};

use crate::basis::{Basis, Seen};
use crate::capture_warnings::capture_warnings;
use crate::failure;
use crate::labels::Labels;
use crate::path_args::PathArgs;
use crate::progress::Progress;
use crate::report;
use crate::shared_args::{shown_names, wrong_usage};
use crate::sheet::Sheet;
use crate::shown;
use crate::side_table::SideTable;

/// Passes over both captures of two neighbours, and of two other points.
const PASSES_NEAR: u64 = 4;
const PASSES_FAR: u64 = 3;

pub(crate) fn run(args: &PathArgs) -> anyhow::Result<()> {
    if args.plot.is_some() {
        return Err(wrong_usage(
            "--plot draws one segment: give the two captures around it",
        ));
    }
    let paths = [&args.src, &args.dst].into_iter().chain(&args.more);
    let paths: Vec<&PathBuf> = paths.collect();
    let whole = PathSegment {
        from: 0,
        to: paths.len() - 1,
    };
    // Opens the outputs first, to report an error before standard input is read.
    let mut results = Results::new(args, whole)?;
    let points: Result<Vec<Recording>, _> =
        paths.iter().map(|path| args.reading.open(path)).collect();
    let points = points?;
    let progress = Progress::watch_each(&passes(args, &points), args.output.quiet);
    let report = path_along(&points, &args.options(), |segment, batch| {
        results.take(args, segment, batch)
    })?;
    drop(progress);
    for warning in warnings(&report, &points) {
        failure::print_line(&format!("warning: {warning}"));
    }
    let seen = results.seen.remove(&whole).unwrap_or_default();
    if seen.flows == 0 {
        let why = match &report.whole {
            Some(whole) if args.select.flow.is_empty() => {
                report::why_empty(&Basis::of_segment(whole), &seen)
            }
            _ => format!("no flow matches {}", shown_names(&args.select.flow)),
        };
        bail!(
            "no packet measured between {} and {}: {why}",
            shown::path(paths[whole.from]),
            shown::path(paths[whole.to])
        );
    }
    results.finish(&report, &points, args.output.quiet)
}

/// The number of passes over each capture.
fn passes<'a>(args: &PathArgs, points: &'a [Recording]) -> Vec<(&'a Recording, u64)> {
    let last = points.len() - 1;
    let of_point = |place: usize| {
        let near = if place == 0 || place == last { 1 } else { 2 };
        let far = points.len() as u64 - 1 - near;
        let limited = args.reading.extra_passes(2);
        let others = if place == 0 { last as u64 } else { 1 };
        near * PASSES_NEAR + far * PASSES_FAR + limited * others
    };
    let places = points.iter().enumerate();
    places
        .map(|(place, recording)| (recording, of_point(place)))
        .collect()
}

/// Accumulated results.
struct Results {
    /// Selected flows that have not ended, of the current segment.
    labels: Labels,
    sheet: Sheet<PointsRow>,
    flows: Option<SideTable<PointsFlowRow>>,
    table: TopPoints,
    seen: HashMap<PathSegment, Seen>,
}

impl Results {
    fn new(args: &PathArgs, whole: PathSegment) -> anyhow::Result<Self> {
        let create_flows = |path: &PathBuf| SideTable::create(path, points_flow_columns());
        Ok(Self {
            labels: Labels::default(),
            sheet: Sheet::create(&args.output, points_columns())?,
            flows: args.flows.as_ref().map(create_flows).transpose()?,
            table: TopPoints::new(whole, args.select.limit).sorted_by(&args.sort),
            seen: HashMap::new(),
        })
    }

    fn take(
        &mut self,
        args: &PathArgs,
        segment: PathSegment,
        batch: PathBatch,
    ) -> anyhow::Result<()> {
        for flow in &batch.flows {
            self.begin(args, flow);
        }
        for packet in batch.packets {
            if let Some(flow) = self.labels.get(&packet.flow) {
                let packet = Labelled {
                    flow: Arc::clone(flow),
                    row: packet,
                };
                self.sheet.add([PointsRow { segment, packet }])?;
            }
        }
        let seen = self.seen.entry(segment).or_default();
        seen.add_samples(&batch.samples);
        let mut ended = batch.ended.into_iter();
        ended.try_for_each(|flow| self.end(segment, flow))
    }

    fn begin(&mut self, args: &PathArgs, flow: &PairedFlow) {
        if args
            .select
            .wants(flow.number, flow.initiator, flow.responder)
        {
            let label = Arc::new(FlowLabel::of_pair(flow));
            self.labels.insert(flow.flow, label);
        }
    }

    fn end(&mut self, segment: PathSegment, flow: PathFlow) -> anyhow::Result<()> {
        self.table.count(segment);
        if self.labels.remove(&flow.summary.flow.flow).is_none() {
            return Ok(());
        }
        self.seen
            .entry(segment)
            .or_default()
            .add_flow(&flow.summary);
        if let Some(flows) = &mut self.flows {
            flows.add(PointsFlowRow::of(segment, flow.clone()))?;
        }
        self.table.add(segment, flow);
        Ok(())
    }

    fn finish(
        self,
        report: &PointsReport,
        points: &[Recording],
        quiet: bool,
    ) -> anyhow::Result<()> {
        let totals: Vec<SegmentTotal<'_>> = measured(report).map(total).collect();
        let mut text = self.table.into_text(&totals, FLOW_TABLE_WIDTH);
        if !quiet {
            text += "\n";
            let names = (1..).zip(points);
            let names: Vec<String> = names
                .map(|(number, point)| format!("{number}: {}", point.name().display()))
                .collect();
            report::line(&mut text, "points", &names.join(", "));
            let none = Seen::default();
            for segment in &report.segments {
                let seen = self.seen.get(&segment.segment).unwrap_or(&none);
                text += "\nsegment ";
                text += &segment.segment.to_string();
                text += "\n";
                text += &report::remarks(&Basis::of_segment(segment), seen);
            }
            text += "\n";
            report::line(&mut text, "one-way delay", &delay_errors(report));
            if let Some(whole) = report.whole.as_ref().filter(|whole| !whole.by_segments) {
                report::line(&mut text, "sum of delays", &off_sum(whole.segment));
            }
        }
        let flows = self.flows.map(SideTable::complete).transpose()?;
        self.sheet.finish(&text, flows)
    }
}

/// The segments in the order along the path, then the whole path.
fn measured(report: &PointsReport) -> impl Iterator<Item = &SegmentReport> {
    report.segments.iter().chain(&report.whole)
}

/// Why the delays of the segments do not sum to those of the whole path.
fn off_sum(whole: PathSegment) -> String {
    format!(
        "the packets of the two ends determine the clocks of {whole}, since a capture between them is shorter: \
         the delays of the segments sum to those of {whole} within their errors only"
    )
}

fn total(measured: &SegmentReport) -> SegmentTotal<'_> {
    SegmentTotal {
        segment: measured.segment,
        path_directions: &measured.report.totals.path_directions,
        is_offset_known: measured.report.clock.offset().error().is_some(),
    }
}

fn warnings(report: &PointsReport, points: &[Recording]) -> Vec<String> {
    let first = report
        .segments
        .first()
        .map(|first| &first.report.captures[0]);
    let others = report.segments.iter().map(|one| &one.report.captures[1]);
    let captures: Vec<&CaptureInfo> = first.into_iter().chain(others).collect();
    let mut warnings = Vec::new();
    for (capture, point) in captures.into_iter().zip(points) {
        warnings.extend(capture_warnings(capture, point.name()));
    }
    for one in measured(report) {
        let given_up = given_up_warning(one.report.totals.totals.given_up_early);
        let not_held = not_held_warning(one.report.totals.totals.not_held);
        let both = given_up.into_iter().chain(not_held);
        warnings.extend(both.map(|what| format!("{}: {what}", one.segment)));
        if let Some(apart) = one.contradiction {
            warnings.push(format!(
                "{}: the packets of the two points alone show a clock offset that differs by {apart} from the sum of the segments, more than both errors: one-way delays of the whole path are unknown",
                one.segment
            ));
        }
    }
    for (place, point) in points.iter().enumerate() {
        let missed = missed(report, place);
        if missed > 0 {
            warnings.push(format!(
                "{}: the capture missed at least {}, not counted as lost",
                point.name().display(),
                counted(missed, "packet")
            ));
        }
    }
    for one in measured(report) {
        for way in PathDirection::BOTH {
            let path = &one.report.totals.path_directions[way.index()];
            if path.lost_or_missed() > 0 {
                warnings.push(format!(
                    "{} {}: the path lost between {} and {} packets, since a capture missed packets",
                    one.segment,
                    way.name(),
                    path.lost(),
                    path.lost() + path.lost_or_missed()
                ));
            }
        }
    }
    warnings
}

/// Number of packets that the capture of a point certainly missed.
///
/// A packet that passed the point unseen can be known from both of its segments, so the larger count
/// of each direction is used.
fn missed(report: &PointsReport, place: usize) -> u64 {
    let mut missed = [0; 2];
    for one in measured(report) {
        let PathSegment { from, to } = one.segment;
        let (point, towards) = match place {
            place if place == from => (Point::Src, PathDirection::Back),
            place if place == to => (Point::Dst, PathDirection::Out),
            _ => continue,
        };
        let totals = &one.report.totals;
        let arrived = totals.path_directions[towards.index()].missed();
        let left = totals.totals.unseen[point.index()];
        for (way, packets) in [(towards, arrived), (towards.opposite(), left)] {
            missed[way.index()] = packets.max(missed[way.index()]);
        }
    }
    missed.into_iter().sum()
}

/// Describes the errors of the delays on each segment.
fn delay_errors(report: &PointsReport) -> String {
    let errors = measured(report).map(|one| {
        let text = |error: Option<TimeDelta>| {
            let error = error.map_or("an unknown time".to_owned(), |error| error.to_string());
            format!("{error} on {}", one.segment)
        };
        let totals = &one.report.totals;
        (
            text(totals.one_way_delay_error()),
            text(totals.queueing_delay_error()),
        )
    });
    let (one_way, queueing): (Vec<String>, Vec<String>) = errors.unzip();
    format!(
        "off by up to {}, the error of the clocks' offset, with opposite signs in the two directions; queueing delays are off by up to {}, and by more next to clock steps and at the captures' ends",
        one_way.join(", "),
        queueing.join(", ")
    )
}
