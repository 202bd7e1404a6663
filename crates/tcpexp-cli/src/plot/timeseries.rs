//! `tcpexp plot timeseries DATA…`.

use std::collections::BTreeSet;

use anyhow::anyhow;
use tcpexp::{Counted, FLOW_COLUMN, SIZE_COLUMN, SOURCE_COLUMN, Selection};
use tcpexp_chart::{
    Flows, LINE_COLUMN, Levels, PanelKind, TimePanel, column_panel, losses, rebinned,
    timeseries_figure, window_panel,
};
use tcpexp_table::{Frame, Series};
use tcpexp_units::TimeDelta;

use super::ChartKind;
use super::data::DataArgs;
use super::figure::FigureArgs;
use super::no_values::{NoValues, is_unreadable, is_without_values, without_panels};
use super::pool::PoolArgs;
use super::run_time::{SINCE_ORIGIN, SINCE_START, count_from_origins, origin};
use crate::known_names;
use crate::report::short;
use crate::shared_args::wrong_usage;
use crate::values::parse_time;

/// Column with the name of a series of a test tool.
const SERIES: &str = "series";

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

    /// Name lines by the values of these columns instead of addresses, and omit flows that send
    /// almost nothing [default: the parameters that differ, else the files, if there are several runs]
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
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

/// A panel, and the rows that it comes from.
struct Drawn {
    panel: TimePanel,
    rows: Counted,
    /// True if it draws rates.
    is_rate: bool,
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
        let data = self.data.open()?.pooled(self.pool.pooling());
        let kinds = kinds(self, &data);
        let further = u32::try_from(kinds.len().saturating_sub(1)).unwrap_or(0);
        let mut figure = self
            .figure
            .create(HEIGHTS_MM[0] + further * HEIGHTS_MM[1], self.data.quiet)?;
        figure.style.labels = self.labels;
        let group = self.group(&data);
        let source = Source {
            data: &data,
            group: &group,
            bin: self.bin,
        };
        let has_rates = kinds.iter().any(|kind| is_rate(kind, &data));
        if self.bin.is_some() && !has_rates {
            return Err(wrong_usage(
                "--bin applies to panels of rates only, such as throughput",
            ));
        }
        let mut flows = source.flows()?;
        let drawn = source.panels(&kinds, !self.panel.is_empty(), &mut flows)?;
        let origin = drawn.first().and_then(|first| origin(&first.rows.frame));
        let mut notes = self.notes(&drawn);
        if origin.is_some() && !data.tables().are_of_one_run() {
            notes.push("time since the start of each run".to_owned());
        }
        notes.extend(flows.only().map(str::to_owned));
        let note = (!notes.is_empty()).then(|| notes.join(", "));
        let mut panels: Vec<TimePanel> = drawn.into_iter().map(|drawn| drawn.panel).collect();
        let lost = source.table("loss", "time")?;
        if let (Some(first), Some(lost)) = (panels.first_mut(), lost) {
            first.lost = losses(&lost.frame);
        }
        if !group.is_empty() && !flows.is_one() {
            // With several flows, the owner of a span or a loss would be unclear.
            for panel in &mut panels {
                panel.spans.clear();
                panel.lost.clear();
            }
        }
        flows.name_lines(&mut panels);
        figure
            .noting(note)
            .finish(|style| timeseries_figure(&panels, origin, style))
    }
}

impl TimeseriesArgs {
    /// The columns that name lines. All runs may have the same addresses.
    fn group(&self, data: &Selection) -> Vec<String> {
        if !self.group.is_empty() || data.tables().are_of_one_run() {
            return self.group.clone();
        }
        let parameters = data.distinguishing_selected();
        if !parameters.is_empty() || !data.tables().has_table_of_several_runs() {
            return parameters;
        }
        // Runs without parameters have the names of their files.
        let file = SOURCE_COLUMN.to_owned();
        if has_several_flows(data) {
            vec![FLOW_COLUMN.to_owned(), file]
        } else {
            vec![file]
        }
    }

    /// The flows that count, and the width of the bins of rates: `rates in bins of 100 ms`.
    fn notes(&self, drawn: &[Drawn]) -> Vec<String> {
        // The panels of a run count the same flows.
        let is_pooled = |drawn: &&Drawn| drawn.rows.is_pooled;
        let pooled = drawn.iter().find(is_pooled);
        let others = drawn.iter().filter(|drawn| !is_pooled(drawn));
        let mut notes: Vec<String> = Vec::new();
        for note in pooled
            .into_iter()
            .chain(others)
            .filter_map(|drawn| drawn.rows.note.as_ref())
        {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes.extend(drawn.iter().filter_map(|drawn| drawn.rows.errors.clone()));
        let mut widths = BTreeSet::new();
        for drawn in drawn.iter().filter(|drawn| drawn.is_rate) {
            let frame = &drawn.rows.frame;
            let column = frame.column("width_ns");
            widths.extend((0..frame.rows()).filter_map(|row| column?.whole(row)));
        }
        if let (Some(bin), false) = (self.bin, widths.is_empty()) {
            widths = BTreeSet::from([bin.as_nanos()]);
        }
        if !widths.is_empty() {
            let widths = widths.into_iter().map(TimeDelta::from_nanos).map(short);
            let widths: Vec<String> = widths.collect();
            notes.push(format!("rates in bins of {}", widths.join(" or ")));
        }
        notes.extend(drawn.iter().filter_map(|drawn| drawn.panel.left_out()));
        notes
    }
}

/// True if several flows of a run count.
fn has_several_flows(data: &Selection) -> bool {
    let columns = [SOURCE_COLUMN, "flow_id"].map(str::to_owned);
    let counted = data.counted("flows", &columns, &[], &[]);
    counted.is_ok_and(|counted| {
        let runs = Levels::of(&counted.frame, &columns[..1]);
        Levels::of(&counted.frame, &columns).len() > runs.len()
    })
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
    /// The flows of the dataset, the largest first; none of single tables, whose flows have numbers in the
    /// order of their panels.
    fn flows(&self) -> anyhow::Result<Flows> {
        let flows = self.table("flows", SIZE_COLUMN)?;
        let flows = flows.map(|flows| Flows::by_size(&flows.frame, SIZE_COLUMN));
        Ok(flows.transpose()?.unwrap_or_default())
    }

    /// Draws the panels. Default panels without values are left out, because the user did not ask for
    /// them.
    fn panels(
        &self,
        kinds: &[PanelKind],
        are_asked: bool,
        flows: &mut Flows,
    ) -> anyhow::Result<Vec<Drawn>> {
        let mut drawn = Vec::new();
        let mut missing = Vec::new();
        for kind in kinds {
            match self.panel(kind, flows) {
                Ok(panel) => drawn.push(panel),
                Err(error) if are_asked || !is_without_values(&error) => return Err(error),
                Err(error) => missing.push(error),
            }
        }
        match drawn.is_empty().then(|| without_panels(&missing)).flatten() {
            Some(why) => Err(anyhow!(why)),
            None => Ok(drawn),
        }
    }

    fn panel(&self, kind: &PanelKind, flows: &mut Flows) -> anyhow::Result<Drawn> {
        // The panel of the window combines the estimate, the kernel's log and the recoveries.
        if *kind == PanelKind::Cwnd {
            let sender = self.table("sender", "cwnd_segments")?;
            let logs = self.table("logs", "cwnd_segments")?;
            let events = self.table("events", "end_time")?;
            let tables = [&sender, &logs, &events];
            let [of_sender, of_logs, of_events] =
                tables.map(|rows| rows.as_ref().map(|rows| &rows.frame));
            let panel = window_panel(of_sender, of_logs, of_events, flows)?;
            if let (false, Some(rows)) = (panel.lines.is_empty(), sender.or(logs)) {
                return Ok(Drawn {
                    panel,
                    rows,
                    is_rate: false,
                });
            }
        }
        let optional = optional_columns();
        let mut first_error = None;
        for (table, column) in sources(kind, self.data)? {
            // Queue data comes from the counters of the queue or from the delays of packets.
            match self.column(&table, &column, &optional, flows) {
                Ok(drawn) if !drawn.panel.is_empty() => return Ok(drawn),
                Ok(_) => {}
                Err(error) if is_unreadable(&error) => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| NoValues(kind.name().to_owned()).into()))
    }

    /// The panel of a column.
    fn column(
        &self,
        table: &str,
        column: &str,
        optional: &[String],
        flows: &mut Flows,
    ) -> anyhow::Result<Drawn> {
        let rows = self.read(table, column, optional)?;
        let is_rate = PanelKind::Column(column.to_owned()).is_rate();
        let wider = self.bin.filter(|_| is_rate);
        let wider = wider.map(|bin| rebinned(&rows.frame, column, bin));
        let wider = wider.transpose()?;
        let mut panel = column_panel(wider.as_ref().unwrap_or(&rows.frame), column, flows)?;
        if let Some(unit) = rows.stated_unit(column)? {
            panel.quantity = panel.quantity.counted_in(unit);
        }
        Ok(Drawn {
            panel,
            rows,
            is_rate,
        })
    }

    /// Returns the rows of the table with this name; `None` if it has no such column or no matching rows.
    fn table(&self, name: &str, column: &str) -> anyhow::Result<Option<Counted>> {
        let names = self.data.tables().names();
        let is_it = names
            .into_iter()
            .any(|(known, columns)| (known == name) && columns.contains(column));
        let mut optional = optional_columns();
        optional.extend(["event", "kind", "end_time"].map(str::to_owned));
        match is_it.then(|| self.read(name, column, &optional)) {
            Some(Err(error)) if !is_unreadable(&error) => Ok(None),
            read => read.transpose(),
        }
    }

    /// Reads the rows of a table; each row has the name of its line if groups name the lines.
    fn read(&self, table: &str, column: &str, optional: &[String]) -> anyhow::Result<Counted> {
        let group: Vec<&str> = self.group.iter().map(String::as_str).collect();
        let (_, columns) = self.data.resolve(&group, &[table])?;
        let required = [&[column.to_owned()][..], &columns].concat();
        let mut rows = self.data.counted(table, &required, optional, &group)?;
        if !self.data.tables().are_of_one_run() {
            count_from_origins(&mut rows.frame);
        }
        if !columns.is_empty() {
            // Lines of one name have one colour, so both ways of a path would look like one queue.
            rows = self.data.of_main_queues((table, column), &group, rows);
            let levels = Levels::of(&rows.frame, &with_series(&rows.frame, columns));
            let name = |row| Some(levels.label(levels.of_row(row)));
            let names = Series::texts((0..rows.frame.rows()).map(name));
            rows.frame.add(LINE_COLUMN, names);
        }
        Ok(rows)
    }
}

/// The columns that name lines: in a table of several series, each line also has the name of its series.
fn with_series(frame: &Frame, mut columns: Vec<String>) -> Vec<String> {
    let series = [SERIES.to_owned()];
    let is_of_series = frame.column(SERIES).is_some() && frame.column("flow_id").is_none();
    if is_of_series && !columns.contains(&series[0]) && Levels::of(frame, &series).len() > 1 {
        columns.extend(series);
    }
    columns
}

/// Columns that the panels use if a table has them.
fn optional_columns() -> Vec<String> {
    let mut columns = PanelKind::optional_columns();
    columns.extend([SINCE_ORIGIN, SINCE_START].map(str::to_owned));
    columns
}

#[cfg(test)]
mod tests {
    use tcpexp::Tables;

    use super::*;

    #[test]
    fn retransmissions_do_not_make_a_flow_larger() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.csv");
        let rows = "flow_id,direction,start_time,duplicate_ack_packets,payload_bytes,unique_bytes\n\
            0,forward,1,0,9000,100\n1,forward,2,0,800,800\n";
        std::fs::write(&path, rows).unwrap();
        let data = Selection::of(Tables::find(&[path]).unwrap());
        let source = Source {
            data: &data,
            group: &[],
            bin: None,
        };
        let flows = format!("{:?}", source.flows().unwrap());
        assert!(flows.contains(r#"["flow 1", "flow 0"]"#), "{flows}");
    }
}
