//! `tcpexp import FORMAT FILE`.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::bail;
use tcpexp::{LogFile, LogReport};
use tcpexp_flow::FlowId;
use tcpexp_logs::import::{Batch, Entry, Format, ImportedFlow, Report, SeriesSample};
use tcpexp_table::{
    FLOW_TABLE_WIDTH, ImportTable, IntervalRow, IntervalTable, Labelled, SenderEvent,
    SenderEventRow, SenderLabel, SenderSampleRow, SeriesTable, interval_columns, sender_columns,
    sender_event_columns, series_columns,
};

use crate::sender_args::{ImportArgs, ImportFormat};
use crate::shared_args::wrong_usage;
use crate::sheet::Sheet;
use crate::side_table::SideTable;
use crate::{failure, fetched, import_runs, report, warnings};

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let format = match args.log_format {
        ImportFormat::Teacup => return import_runs::teacup(args),
        ImportFormat::Log(format) => format.of_import(),
    };
    match format {
        Format::Iperf3 => intervals(args),
        Format::Flent if args.log.is_dir() => import_runs::flent(args),
        Format::Flent => series(args),
        format => senders(args, format),
    }
}

/// Imports a log with sender state.
fn senders(args: &ImportArgs, format: Format) -> anyhow::Result<()> {
    let counts_only = matches!(format, Format::Ss | Format::Siftr | Format::Web10g);
    if args.events.is_some() && counts_only {
        return Err(wrong_usage(&format!(
            "a log of {} contains no events",
            format.name()
        )));
    }
    let mut results = Senders {
        labels: Labels::default(),
        sheet: Sheet::create(&args.output, sender_columns())?,
        events: match &args.events {
            Some(path) => Some(SideTable::create(path, sender_event_columns())?),
            None => None,
        },
        table: ImportTable::default(),
    };
    let log = LogFile::open(&fetched::local(&args.log)?)?;
    let name = fetched::in_text(&log.name().display().to_string());
    let report = log.read(format, |batch| results.take(batch))?;
    if args.events.is_some() && format == Format::TcpProbe && report.lines.event_lines == 0 {
        return Err(wrong_usage(&format!(
            "{name} contains no events: only a kernel trace has them, not /proc/net/tcpprobe or a CSV"
        )));
    }
    warn(args, &results.sheet, &report, &name);
    if args.events.is_some() && format == Format::TcpInfo {
        failure::print_line(&format!(
            "warning: {name}: this log counts retransmissions without their times: the table of events has changes \
             of the congestion state only"
        ));
    }
    let text = results.table.into_text(args.limit, FLOW_TABLE_WIDTH);
    let events = results.events.map(SideTable::complete).transpose()?;
    let text = with_remarks(args, text, &report.lines);
    results.sheet.finish(&text, events)
}

/// Accumulated results.
struct Senders {
    labels: Labels,
    sheet: Sheet<SenderSampleRow>,
    events: Option<SideTable<SenderEventRow>>,
    table: ImportTable,
}

impl Senders {
    fn take(&mut self, batch: Batch) -> anyhow::Result<()> {
        self.labels.learn(&batch.flows);
        for row in batch.samples {
            let flow = self.labels.of(row.flow);
            self.table.sample(&flow, &row);
            if self.sheet.takes_rows() {
                self.sheet.add([Labelled { flow, row }])?;
            }
        }
        for totals in &batch.counters {
            let flow = self.labels.of(totals.flow);
            self.table.totals(&flow, totals);
        }
        let mut events = Vec::new();
        for change in batch.state_changes {
            let flow = self.labels.of(change.flow);
            self.table.state_change(&flow, change.direction);
            let row = SenderEvent::StateChange(change);
            events.push((change.at, Labelled { flow, row }));
        }
        for retransmit in batch.retransmits {
            let flow = self.labels.of(retransmit.flow);
            self.table.retransmit(&flow, retransmit.direction);
            let row = SenderEvent::Retransmit(retransmit);
            events.push((retransmit.at, Labelled { flow, row }));
        }
        // A batch of a log groups events by kind; the table needs them in time order.
        events.sort_by_key(|(at, _)| *at);
        match &mut self.events {
            Some(table) => table.add(events.into_iter().map(|(_, event)| event)),
            None => Ok(()),
        }
    }
}

/// Imports a log of a load generator.
fn intervals(args: &ImportArgs) -> anyhow::Result<()> {
    if args.events.is_some() {
        return Err(wrong_usage("a log of iperf3 contains no events"));
    }
    let mut labels = Labels::default();
    let mut sheet: Sheet<IntervalRow> = Sheet::create(&args.output, interval_columns())?;
    let mut table = IntervalTable::default();
    let log = LogFile::open(&fetched::local(&args.log)?)?;
    let name = fetched::in_text(&log.name().display().to_string());
    let report = log.read(Format::Iperf3, |batch| {
        labels.learn(&batch.flows);
        for row in batch.intervals {
            let flow = labels.of(row.flow);
            table.add(&flow, &row);
            sheet.add([Labelled { flow, row }])?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    if report.lines.used == 0 {
        bail!("{name} has no intervals");
    }
    warn(args, &sheet, &report, &name);
    let text = table.into_text(args.limit, FLOW_TABLE_WIDTH);
    sheet.finish(&with_remarks(args, text, &report.lines), [])
}

/// Imports the series of a test tool.
fn series(args: &ImportArgs) -> anyhow::Result<()> {
    if args.events.is_some() {
        return Err(wrong_usage("a data file of Flent contains no events"));
    }
    let mut sheet: Sheet<SeriesSample> = Sheet::create(&args.output, series_columns())?;
    let mut table = SeriesTable::default();
    let log = LogFile::open(&fetched::local(&args.log)?)?;
    let name = fetched::in_text(&log.name().display().to_string());
    let report = log.read(Format::Flent, |batch| {
        for row in &batch.series {
            table.add(row);
        }
        for row in &batch.series_samples {
            table.add_sample(row);
        }
        sheet.add(batch.series)
    })?;
    warn(args, &sheet, &report, &name);
    let text = table.into_text(args.limit, FLOW_TABLE_WIDTH);
    sheet.finish(&with_remarks(args, text, &report.lines), [])
}

/// Labels of the flows found so far in a log.
#[derive(Default)]
struct Labels(HashMap<FlowId, Arc<SenderLabel>>);

impl Labels {
    fn learn(&mut self, flows: &[ImportedFlow]) {
        let labels = flows
            .iter()
            .map(|flow| (flow.flow, Arc::new(SenderLabel::from(flow))));
        self.0.extend(labels);
    }

    fn of(&self, flow: FlowId) -> Arc<SenderLabel> {
        let label = self.0.get(&flow);
        Arc::clone(label.expect("a flow stands no later than its first row"))
    }
}

/// Prints the warnings about a log, except those that the printed remarks state too.
fn warn<R: Sync>(args: &ImportArgs, sheet: &Sheet<R>, report: &LogReport, name: &str) {
    if sheet.shows_text() && !args.output.quiet {
        warnings::of_compression(report, name);
    } else {
        warnings::of_log(report, name);
    }
}

fn with_remarks(args: &ImportArgs, mut text: String, lines: &Report) -> String {
    if !args.output.quiet {
        text.push('\n');
        text += &remarks(lines);
    }
    text
}

/// Returns the counts of used and skipped lines as text.
fn remarks(lines: &Report) -> String {
    let mut text = String::new();
    let mut counts = vec![
        format!("{} read", lines.lines),
        format!("{} used", lines.used),
    ];
    let skipped = match lines.entry {
        Entry::Line => "headers, comments",
        Entry::Interval | Entry::Value => "times without a value",
    };
    if lines.passed_over > 0 {
        counts.push(format!("{} skipped ({skipped})", lines.passed_over));
    }
    let entry = lines.entry.name();
    report::line(&mut text, &format!("{entry}s"), &counts.join(", "));
    let mut heading = "not used";
    for (reason, count) in &lines.reasons {
        report::line(&mut text, heading, &format!("{count}: {reason}"));
        heading = "";
    }
    if let Some(first) = &lines.first_unusable {
        let what = format!("{entry} {}: {}", first.line, first.begins.trim());
        report::line(&mut text, "first of them", &what);
    }
    for gap in lines.gaps() {
        report::line(&mut text, "incomplete", &gap);
    }
    text
}
