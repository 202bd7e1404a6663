//! `tcpexp plot timeseries DATA…`.

use tcpexp::chart::{
    Flows, PanelKind, TimePanel, column_panel, losses, recoveries, timeseries_figure, window_panel,
};
use tcpexp::table::Frame;

use super::data::{Data, DataArgs};
use super::figure::FigureArgs;
use crate::failure;

/// Height of the first panel with the legend, and of each further one.
const HEIGHTS_MM: [u32; 2] = [55, 32];

/// Quantities over time, one panel above the other
///
/// Congestion window and RTT of a flow, with recoveries, losses and what the kernel logged:
///     tcpexp plot timeseries run1 --flow 0 -o flow.svg
/// of single tables:
///     tcpexp plot timeseries cwnd.parquet rtt.parquet --panel cwnd,rtt -o flow.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TimeseriesArgs {
    #[command(flatten)]
    data: DataArgs,

    /// What to draw, from above: cwnd, rtt, throughput, queue, owd, or any column [default: those
    /// of cwnd, rtt and throughput that are there]
    #[arg(
        long,
        value_name = "PANEL,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    panel: Vec<PanelKind>,

    /// Only this flow: its number
    #[arg(long, value_name = "FLOW", help_heading = "Rows and columns")]
    flow: Option<u32>,

    #[command(flatten)]
    figure: FigureArgs,
}

pub(crate) fn run(args: &TimeseriesArgs) -> anyhow::Result<()> {
    let data = args.data.open()?.of_flow(args.flow);
    let kinds = kinds(args, &data);
    let further = u32::try_from(kinds.len().saturating_sub(1)).unwrap_or(0);
    let figure = args
        .figure
        .create(HEIGHTS_MM[0] + further * HEIGHTS_MM[1])?;
    let mut flows = Flows::default();
    let mut panels = kinds
        .iter()
        .map(|kind| panel(kind, &data, &mut flows))
        .collect::<anyhow::Result<Vec<TimePanel>>>()?;
    let lost = table(&data, "loss", "time_ns").map(|lost| losses(&lost));
    if let (Some(first), Some(lost)) = (panels.first_mut(), lost) {
        first.lost = lost;
    }
    flows.name_lines(&mut panels);
    if flows.left_out > 0 {
        let left_out = flows.left_out;
        failure::tell(&format!(
            "warning: {left_out} lines are left out for want of colours: choose with --flow or --filter"
        ));
    }
    figure.finish(|style| timeseries_figure(&panels, None, style))
}

/// The panels asked for, or the usual ones that are there.
fn kinds(args: &TimeseriesArgs, data: &Data<'_>) -> Vec<PanelKind> {
    const USUAL: usize = 3;
    if !args.panel.is_empty() {
        return args.panel.clone();
    }
    let is_there = |kind: &PanelKind| sources(kind, data).is_ok();
    let usual = &PanelKind::NAMED[..USUAL];
    let mut found: Vec<PanelKind> = usual
        .iter()
        .filter(|kind| is_there(kind))
        .cloned()
        .collect();
    if found.is_empty() {
        found.extend(PanelKind::NAMED.into_iter().find(is_there));
    }
    if found.is_empty() {
        found.push(PanelKind::Rtt);
    }
    found
}

/// The tables and columns that a panel may be of. Fails if there is none.
fn sources(kind: &PanelKind, data: &Data<'_>) -> anyhow::Result<Vec<(String, String)>> {
    const USUAL: [&str; 5] = ["sender", "rtt", "throughput", "owd", "queue"];
    let found = kind.sources().into_iter().map(|(table, column)| {
        let usual = table.map_or(USUAL.to_vec(), |table| vec![table]);
        let (table, columns) = data.resolve(&[&column], &usual)?;
        Ok((table, columns[0].clone()))
    });
    let (found, mut errors): (Vec<_>, Vec<_>) = found.partition(anyhow::Result::is_ok);
    if found.is_empty() && !errors.is_empty() {
        errors.truncate(1);
        return errors.into_iter().collect();
    }
    found.into_iter().collect()
}

fn panel(kind: &PanelKind, data: &Data<'_>, flows: &mut Flows) -> anyhow::Result<TimePanel> {
    if *kind == PanelKind::Cwnd {
        let sender = table(data, "sender", "cwnd_segments");
        let logs = table(data, "logs", "cwnd_segments");
        if sender.is_some() || logs.is_some() {
            let mut panel = window_panel(sender.as_ref(), logs.as_ref(), flows)?;
            let events = table(data, "events", "ended_ns");
            panel.spans = events.map_or(Vec::new(), |events| recoveries(&events));
            return Ok(panel);
        }
    }
    let optional = PanelKind::optional_columns();
    let mut first_error = None;
    for (table, column) in sources(kind, data)? {
        let frame = data.read(&table, std::slice::from_ref(&column), &optional);
        // A queue is known by its counters or by the delays of packets.
        match frame.and_then(|frame| Ok(column_panel(&frame, &column, flows)?)) {
            Ok(panel) if !panel.lines.is_empty() => return Ok(panel),
            Ok(_) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| anyhow::anyhow!("there is nothing in {}", kind.name())))
}

/// The rows of a table of this name that has this column, if there is one.
fn table(data: &Data<'_>, name: &str, column: &str) -> Option<Frame> {
    let is_it = data
        .tables
        .names()
        .into_iter()
        .any(|(known, columns)| (known == name) && columns.contains(column));
    let mut optional = PanelKind::optional_columns();
    optional.extend(["event", "kind", "ended_ns"].map(str::to_owned));
    is_it.then(|| data.read(name, &[column.to_owned()], &optional).ok())?
}
