//! `tcpexp plot timeseries DATA…`.

use std::collections::BTreeSet;

use tcpexp::{FlowName, Selection};
use tcpexp_chart::{
    Flows, LINE_COLUMN, Levels, PanelKind, TIMES, TimePanel, column_panel, losses, rebinned,
    timeseries_figure, window_panel,
};
use tcpexp_table::{Frame, Series};
use tcpexp_units::{TimeDelta, Timestamp};

use super::ChartKind;
use super::data::DataArgs;
use super::figure::FigureArgs;
use crate::known_names;
use crate::report::short;
use crate::shared_args::wrong_usage;
use crate::values::parse_time;

/// Heights of the first panel, with the legend, and of each further panel.
const HEIGHTS_MM: [u32; 2] = [55, 32];

/// Quantities over time, in panels above one another
///
/// Congestion window and RTT of a flow, with recoveries, losses and the kernel's log:
///     tcpexp plot timeseries run1 --flow 0 -o flow.svg
/// The same quantities from single tables:
///     tcpexp plot timeseries cwnd.parquet rtt.parquet --panel cwnd,rtt -o flow.svg
/// RTT in the runs of a sweep:
///     tcpexp plot timeseries results --filter rate=2 --panel rtt --group cc -o rtt.svg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct TimeseriesArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Panels, from top to bottom: cwnd, rtt, throughput, queue, owd, or any column [default: cwnd,
    /// rtt and throughput, if the tables have them]
    #[arg(
        long,
        value_name = "PANEL,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    panel: Vec<PanelKind>,

    /// Draw only these flows: a number or port, or a part of "address:port > address:port"
    #[arg(long, value_name = "FLOW", help_heading = "Rows and columns")]
    flow: Vec<FlowName>,

    /// Name lines by the values of these columns instead of addresses, and omit flows that send
    /// almost nothing
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    group: Vec<String>,

    /// Width of the bins of rates, a multiple of the width in the table (ms, s, min) [default: as in
    /// the table]
    #[arg(long, value_name = "WIDTH", value_parser = parse_time, help_heading = "Rows and columns")]
    bin: Option<TimeDelta>,

    /// Write the names of lines beside their ends, in place of a legend
    #[arg(long, help_heading = "Appearance")]
    labels: bool,

    #[command(flatten)]
    figure: FigureArgs,
}

/// The tables, and the columns that name lines.
struct Source<'a> {
    data: &'a Selection,
    group: &'a [String],
    /// Width of the bins of rates, if not as in the table.
    bin: Option<TimeDelta>,
}

impl ChartKind for TimeseriesArgs {
    fn draw(&self) -> anyhow::Result<()> {
        let data = self.data.open()?.flows(self.flow.clone());
        let kinds = kinds(self, &data);
        let further = u32::try_from(kinds.len().saturating_sub(1)).unwrap_or(0);
        let mut figure = self
            .figure
            .create(HEIGHTS_MM[0] + further * HEIGHTS_MM[1])?;
        figure.style.labels = self.labels;
        let mut flows = Flows::default();
        let source = Source {
            data: &data,
            group: &self.group,
            bin: self.bin,
        };
        let has_rates = kinds.iter().any(|kind| is_rate(kind, &data));
        if self.bin.is_some() && !has_rates {
            return Err(wrong_usage(
                "--bin is for panels of rates, such as throughput",
            ));
        }
        let mut panels = kinds
            .iter()
            .map(|kind| source.panel(kind, &mut flows))
            .collect::<anyhow::Result<Vec<TimePanel>>>()?;
        let lost = source.table("loss", "time").map(|lost| losses(&lost));
        if let (Some(first), Some(lost)) = (panels.first_mut(), lost) {
            first.lost = lost;
        }
        if !self.group.is_empty() && !flows.is_one() {
            // With several flows, the owner of a span or a loss would be unclear.
            for panel in &mut panels {
                panel.spans.clear();
                panel.lost.clear();
            }
        }
        flows.name_lines(&mut panels);
        let note = has_rates.then(|| source.bins()).flatten();
        let origin = source.origin(&kinds);
        figure
            .noting(note)
            .finish(|style| timeseries_figure(&panels, origin, style))
    }
}

/// Returns the requested panels, else those default panels that have data.
fn kinds(args: &TimeseriesArgs, data: &Selection) -> Vec<PanelKind> {
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
    // A table without the usual quantities may have a queue or delays.
    if found.is_empty() {
        found.extend(PanelKind::NAMED.into_iter().find(is_there));
    }
    if found.is_empty() {
        // Drawing this panel fails with an error that states what the tables lack.
        found.push(PanelKind::Rtt);
    }
    found
}

/// Returns the tables and columns that can provide a panel. Fails if there are none.
fn sources(kind: &PanelKind, data: &Selection) -> anyhow::Result<Vec<(String, String)>> {
    const USUAL: [&str; 5] = ["sender", "rtt", "throughput", "owd", "queue"];
    let found = kind.sources().into_iter().map(|(table, column)| {
        let usual = table.map_or(USUAL.to_vec(), |table| vec![table]);
        let (table, columns) = data.resolve(&[&column], &usual)?;
        Ok((table, columns[0].clone()))
    });
    let (found, mut errors): (Vec<_>, Vec<_>) = found.partition(anyhow::Result::is_ok);
    // One source is enough for a panel, so an error counts only if each source fails.
    if found.is_empty() && !errors.is_empty() {
        errors.truncate(1);
        return errors.into_iter().collect();
    }
    found.into_iter().collect()
}

/// True if the panel draws a column of rates, also if named in part, such as `goodput`.
fn is_rate(kind: &PanelKind, data: &Selection) -> bool {
    let mut columns = sources(kind, data).into_iter().flatten();
    columns.any(|(_, column)| PanelKind::Column(column).is_rate())
}

impl Source<'_> {
    /// The width of the bins of rates: `rates in bins of 100 ms`.
    fn bins(&self) -> Option<String> {
        if let Some(bin) = self.bin {
            return Some(format!("rates in bins of {}", short(bin)));
        }
        let frame = self.data.read("throughput", &["width_ns".to_owned()], &[]);
        let frame = frame.ok()?;
        let widths = frame.column("width_ns")?;
        let widths: BTreeSet<i64> = (0..frame.rows())
            .filter_map(|row| widths.whole(row))
            .collect();
        let widths: Vec<String> = widths
            .into_iter()
            .map(|nanos| short(TimeDelta::from_nanos(nanos)))
            .collect();
        (!widths.is_empty()).then(|| format!("rates in bins of {}", widths.join(" or ")))
    }

    /// Time zero of the run, from which the tables of a dataset count `time_s`. `None` for tables
    /// without that column and for several runs.
    fn origin(&self, kinds: &[PanelKind]) -> Option<Timestamp> {
        let sources = sources(kinds.first()?, self.data).ok()?;
        let (table, _) = sources.into_iter().next()?;
        let names = self.data.tables().names();
        let (_, columns) = names.into_iter().find(|(name, _)| *name == table)?;
        let time = TIMES.into_iter().find(|time| columns.contains(*time))?;
        if !columns.contains("time_s") {
            return None;
        }
        let wanted = [time, "time_s"].map(str::to_owned);
        let frame = self.data.read(&table, &wanted, &[]).ok()?;
        let (times, seconds) = frame.column(time).zip(frame.column("time_s"))?;
        let mut origins = (0..frame.rows()).filter_map(|row| {
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let since = TimeDelta::from_nanos((seconds.number(row)? * 1e9).round() as i64);
            Some(Timestamp::from_nanos(times.whole(row)?) - since)
        });
        let first = origins.next()?;
        // The seconds are rounded to an f64.
        let is_same = |origin: Timestamp| (origin - first).abs() <= TimeDelta::from_micros(1);
        origins.all(is_same).then_some(first)
    }

    fn panel(&self, kind: &PanelKind, flows: &mut Flows) -> anyhow::Result<TimePanel> {
        // The panel of the window combines the estimate, the kernel's log and the recoveries.
        if *kind == PanelKind::Cwnd {
            let sender = self.table("sender", "cwnd_segments");
            let logs = self.table("logs", "cwnd_segments");
            if sender.is_some() || logs.is_some() {
                let events = self.table("events", "end_time");
                let tables = [&sender, &logs, &events].map(Option::as_ref);
                return Ok(window_panel(tables[0], tables[1], tables[2], flows)?);
            }
        }
        let optional = PanelKind::optional_columns();
        let mut first_error = None;
        for (table, column) in sources(kind, self.data)? {
            let frame = self.read(&table, &column, &optional);
            // Queue data comes from the counters of the queue or from the delays of packets.
            let panel = frame.and_then(|frame| {
                let is_rate = PanelKind::Column(column.clone()).is_rate();
                let wider = self.bin.filter(|_| is_rate);
                let wider = wider
                    .map(|bin| rebinned(&frame, &column, bin))
                    .transpose()?;
                Ok(column_panel(&wider.unwrap_or(frame), &column, flows)?)
            });
            match panel {
                Ok(panel) if !panel.lines.is_empty() => return Ok(panel),
                Ok(_) => {}
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error
            .unwrap_or_else(|| anyhow::anyhow!("there are no values for {}", kind.name())))
    }

    /// Returns the rows of the table with this name, if it has the column.
    fn table(&self, name: &str, column: &str) -> Option<Frame> {
        let names = self.data.tables().names();
        let is_it = names
            .into_iter()
            .any(|(known, columns)| (known == name) && columns.contains(column));
        let mut optional = PanelKind::optional_columns();
        optional.extend(["event", "kind", "end_time"].map(str::to_owned));
        // A table without matching rows, as after a filter, is no error here: its lines are left
        // out.
        is_it.then(|| self.read(name, column, &optional).ok())?
    }

    /// Reads the rows of a table; each row has the name of its line if groups name the lines.
    fn read(&self, table: &str, column: &str, optional: &[String]) -> anyhow::Result<Frame> {
        if self.group.is_empty() {
            return Ok(self.data.read(table, &[column.to_owned()], optional)?);
        }
        let group: Vec<&str> = self.group.iter().map(String::as_str).collect();
        let (_, group) = self.data.resolve(&group, &[table])?;
        let required = [&[column.to_owned()][..], &group].concat();
        let mut frame = self.data.read(table, &required, optional)?;
        let levels = Levels::of(&frame, &group);
        let name = |row| Some(levels.label(levels.of_row(row)));
        let names = Series::texts((0..frame.rows()).map(name));
        frame.add(LINE_COLUMN, names);
        Ok(frame)
    }
}
