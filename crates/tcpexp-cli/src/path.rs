//! `tcpexp path SRC DST [MORE]...`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use tcpexp::{PathReport, is_noted_error, path};
use tcpexp_chart::queueing_figure;
use tcpexp_pair::path::{CaptureLoss, PathBatch, PathFlow, PathPacket};
use tcpexp_pair::spp::{Fate, PairedFlow};
use tcpexp_table::{
    FLOW_TABLE_WIDTH, FlowLabel, Labelled, Ordered, PathFlowRow, TopPath, path_columns,
    path_flow_columns,
};

use crate::basis::Seen;
use crate::failure;
use crate::labels::Labels;
use crate::path_args::PathArgs;
use crate::picture::Chart;
use crate::points;
use crate::progress::Progress;
use crate::report;
use crate::shared_args::{shown_names, wrong_usage};
use crate::sheet::Sheet;
use crate::side_table::SideTable;

pub(crate) fn run(args: &PathArgs) -> anyhow::Result<()> {
    let captures = [&args.src, &args.dst].into_iter().chain(&args.more);
    if captures.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(wrong_usage(if args.more.is_empty() {
            "only one of the two captures can be standard input"
        } else {
            "only one of the captures can be standard input"
        }));
    }
    if !args.more.is_empty() {
        if args.part.shard.is_some() || args.learned.is_given() {
            return Err(wrong_usage(
                "--shard and --survey need exactly two captures",
            ));
        }
        return points::run(args);
    }
    // Opens the outputs first, to report an error before standard input is read.
    let mut results = Results::new(args)?;
    let (src, dst) = (args.reading.open(&args.src)?, args.reading.open(&args.dst)?);
    let options = args.options().survey(args.learned.read()?);
    let progress = Progress::watch(
        &[&src, &dst],
        3 - args.learned.saves(2) + args.reading.extra_passes(2),
        args.output.quiet,
    );
    let report = path(&src, &dst, &options, |batch| results.take(args, batch))?;
    drop(progress);
    let names = [src.name(), dst.name()];
    for warning in report::warnings(&(&report).into(), &results.seen, names, args.max_owd) {
        failure::print_line(&format!("warning: {warning}"));
    }
    // A part may be empty although the whole is not.
    if results.seen.flows == 0 && args.part.shard.is_none() {
        let why = if args.select.flow.is_empty() {
            report::why_empty(&(&report).into(), &results.seen)
        } else {
            format!("no flow matches {}", shown_names(&args.select.flow))
        };
        bail!(
            "no packet measured between {} and {}: {why}",
            src.name().display(),
            dst.name().display()
        );
    }
    results.finish(&report, args.output.quiet)
}

/// Accumulated results.
struct Results {
    /// Selected flows that have not ended.
    labels: Labels,
    sheet: Sheet<Labelled<PathPacket>>,
    flows: Option<SideTable<PathFlowRow>>,
    chart: Option<Chart>,
    table: TopPath,
    seen: Seen,
}

impl Results {
    fn new(args: &PathArgs) -> anyhow::Result<Self> {
        let create_flows = |path: &PathBuf| SideTable::create(path, path_flow_columns());
        Ok(Self {
            labels: Labels::default(),
            sheet: Sheet::create(&args.output, path_columns())?,
            flows: args.flows.as_ref().map(create_flows).transpose()?,
            chart: args.plot.as_ref().map(Chart::create).transpose()?,
            table: TopPath::new(args.select.limit).sorted_by(&args.sort),
            seen: Seen::default(),
        })
    }

    fn take(&mut self, args: &PathArgs, batch: PathBatch) -> anyhow::Result<()> {
        for flow in &batch.flows {
            self.begin(args, flow);
        }
        // The summaries of flows suffice for the text table.
        if self.sheet.takes_rows() || self.chart.is_some() {
            batch
                .packets
                .into_iter()
                .try_for_each(|packet| self.add(packet))?;
        }
        self.seen.add_samples(&batch.samples);
        batch.ended.into_iter().try_for_each(|flow| self.end(flow))
    }

    fn begin(&mut self, args: &PathArgs, flow: &PairedFlow) {
        let (initiator, responder) = (flow.initiator, flow.responder);
        if args.select.wants(flow.number, initiator, responder) {
            let label = Arc::new(FlowLabel::of_pair(flow));
            self.labels.insert(flow.flow, label);
            if let Some(chart) = &mut self.chart {
                chart.begin(flow.flow, initiator, responder);
            }
        }
    }

    fn add(&mut self, packet: PathPacket) -> anyhow::Result<()> {
        let Some(flow) = self.labels.get(&packet.flow) else {
            return Ok(());
        };
        if let Some(chart) = &mut self.chart {
            draw(chart, &packet);
        }
        self.sheet.add([Labelled {
            flow: Arc::clone(flow),
            row: packet,
        }])
    }

    fn end(&mut self, flow: PathFlow) -> anyhow::Result<()> {
        self.table.count();
        let number = flow.summary.flow.flow;
        if self.labels.remove(&number).is_none() {
            return Ok(());
        }
        self.seen.add_flow(&flow.summary);
        if let Some(chart) = &mut self.chart {
            chart.end(number);
        }
        if let Some(flows) = &mut self.flows {
            flows.add(PathFlowRow::of(flow.clone()))?;
        }
        self.table.add(flow);
        Ok(())
    }

    fn finish(self, report: &PathReport, quiet: bool) -> anyhow::Result<()> {
        let is_offset_known = report.clock.offset().error().is_some();
        let ways = &report.totals.path_directions;
        let mut text = self
            .table
            .into_text(ways, is_offset_known, FLOW_TABLE_WIDTH);
        if !quiet {
            text += "\n";
            text += &report::remarks(&report.into(), &self.seen);
            let losses = CaptureLoss::of(&report.totals);
            for doubt in losses.iter().filter_map(CaptureLoss::doubt) {
                report::line(&mut text, "losses", &doubt);
            }
            report::line(&mut text, "one-way delay", &delay_errors(report));
        }
        let flows = self.flows.map(SideTable::complete).transpose()?;
        let draw = |chart: Chart| chart.draw(queueing_figure, chart_note(report));
        let chart = self.chart.map(draw).transpose()?;
        self.sheet.finish(&text, flows.into_iter().chain(chart))
    }
}

fn draw(chart: &mut Chart, packet: &PathPacket) {
    let (flow, direction) = (packet.flow, packet.direction);
    let Some(sent_at) = packet.sent_at else {
        return;
    };
    if let Some(delay) = packet.queueing_delay {
        chart.add(flow, direction, sent_at, delay);
    } else if packet.fate == Fate::Lost {
        // A lost packet has no delay, so a mark shows when it left.
        chart.lose(flow, direction, sent_at, packet.packets);
    }
}

/// The note below the chart, on losses and on the errors of delays. `None` if all losses are certain and
/// the errors are small.
fn chart_note(report: &PathReport) -> Option<String> {
    let mut notes = undrawn_losses(report);
    notes.extend(noted_error(report));
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Losses have no mark if the capture is known to miss packets and may have missed these.
fn undrawn_losses(report: &PathReport) -> Vec<String> {
    let losses = CaptureLoss::of(&report.totals);
    let shown = losses.iter().filter(|loss| loss.is_shown());
    let shown: Vec<String> = shown.map(ToString::to_string).collect();
    let undrawn = (!shown.is_empty())
        .then(|| format!("marks show certain losses only: {}", shown.join("; ")));
    let notes = undrawn
        .into_iter()
        .chain(losses.iter().filter_map(CaptureLoss::doubt));
    notes.collect()
}

/// The error of the queueing delays, if it is unknown, or as large as the errors that other charts state.
fn noted_error(report: &PathReport) -> Option<String> {
    let totals = &report.totals;
    let mut ways = totals.path_directions.iter();
    if ways.all(|way| way.queueing_delay.is_none()) {
        return None;
    }
    let Some(error) = totals.queueing_delay_error() else {
        return Some(format!(
            "the error of the queueing delays is unknown, because {}",
            unbounded(report)
        ));
    };
    let delays = totals.path_directions.iter();
    let mut medians = delays.filter_map(|way| Some(way.queueing_delay.as_ref()?.median));
    medians
        .any(|median| is_noted_error(error, median))
        .then(|| format!("queueing delays are off by up to {error}"))
}

/// Describes the errors of the delays.
fn delay_errors(report: &PathReport) -> String {
    let totals = &report.totals;
    let one_way = match totals.one_way_delay_error() {
        Some(error) => format!(
            "off by up to {error}, the error of the clocks' offset, with opposite signs in the two directions"
        ),
        None => format!("unknown, because {}", unbounded(report)),
    };
    match totals.queueing_delay_error() {
        Some(error) => format!(
            "{one_way}; queueing delays are off by up to {error}, and by more next to clock steps and at the captures' ends"
        ),
        None => format!("{one_way}; the error of queueing delays is unknown for the same reason"),
    }
}

/// The reason why the offset of the clocks has no bound.
fn unbounded(report: &PathReport) -> &'static str {
    let ways = &report.totals.path_directions;
    if ways.iter().all(|way| way.one_way_delay.is_some()) {
        "the fastest packets of the two directions contradict each other about the clocks' offset"
    } else {
        "packets in one direction do not bound the clocks' offset or its changes"
    }
}
