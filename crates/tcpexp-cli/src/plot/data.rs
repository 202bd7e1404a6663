//! Arguments for the tables and rows of a chart.

use std::path::PathBuf;

use anyhow::{Context, bail};
use tcpexp::{FlowName, Grouped, Selection, Tables};
use tcpexp_chart::{Levels, Quantity};
use tcpexp_table::{Filter, Frame};
use tcpexp_units::counted;

use crate::known_names;
use crate::shared_args::{StoreArgs, wrong_usage};
use crate::{failure, fetched};

/// Maximum number of excluded runs with a warning each.
const MAX_EXCLUSION_WARNINGS: usize = 3;
/// Maximum number of groups that a reader can distinguish in one chart.
const MAX_GROUPS: usize = 49;

#[derive(Clone, clap::Args)]
pub(crate) struct DataArgs {
    /// Sweeps, datasets or tables to read
    #[arg(required = true)]
    pub(crate) data: Vec<PathBuf>,

    /// Table to draw [default: the first table with the columns of the chart]
    #[arg(long, value_name = "NAME", value_parser = known_names::tables())]
    #[arg(hide_possible_values = true, help_heading = "Rows and columns")]
    pub(crate) table: Option<String>,

    /// Draw only the rows that meet this condition, for example `cc=cubic,reno` or `delay_ms>=20`;
    /// repeatable
    ///
    /// A value that contains a comma is in double quotes: `--filter 'rtt="16ms, 82ms"'`. Text such as
    /// 16ms compares by its size.
    #[arg(long, value_name = "COLUMN=VALUE", help_heading = "Rows and columns")]
    pub(crate) filter: Vec<Filter>,

    /// Draw only these flows: a number or port, or a part of "address:port > address:port"
    #[arg(long, value_name = "FLOW", help_heading = "Rows and columns")]
    pub(crate) flow: Vec<FlowName>,

    /// Print no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}

impl DataArgs {
    /// Finds the tables, and warns about excluded runs.
    pub(crate) fn open(&self) -> anyhow::Result<Selection> {
        let tables = Tables::find(&fetched::all_local(&self.data)?)?;
        self.warn_of_runs(&tables.left_out.iter().collect::<Vec<_>>());
        let selection = Selection::of(tables).table(self.table.clone());
        let selection = selection.filters(self.filter.clone());
        Ok(selection.flows(self.flow.clone()))
    }

    /// Warns about runs without numbers.
    pub(crate) fn warn_of_runs(&self, left_out: &[&(String, String)]) {
        for (run, reason) in left_out.iter().take(MAX_EXCLUSION_WARNINGS) {
            self.warn(&format!("run {run} is left out: {reason}"));
        }
        if left_out.len() > MAX_EXCLUSION_WARNINGS {
            let more = left_out.len() - MAX_EXCLUSION_WARNINGS;
            self.warn(&format!("left out: {}", counted(more, "more run")));
        }
    }

    /// Warns about files that this chart does not use.
    pub(crate) fn warn_of_others(&self, data: &Selection, rows: &Grouped) {
        for path in data.tables().files_beside(&rows.table) {
            let (path, column) = (path.display(), &rows.column);
            self.warn(&format!("{path} is left out: it has no column {column}"));
        }
    }

    fn warn(&self, what: &str) {
        if !self.quiet {
            failure::print_line(&format!("warning: {what}"));
        }
    }
}

/// Groups rows by columns; fails if the groups are too many for one chart.
pub(crate) fn levels(frame: &Frame, columns: &[String]) -> anyhow::Result<Levels> {
    let levels = Levels::of(frame, columns);
    if levels.len() > MAX_GROUPS {
        bail!(
            "{} groups by {} are too many for one chart: select some with --filter",
            levels.len(),
            columns.join(", ")
        );
    }
    Ok(levels)
}

/// The groups of each grouping of the rows.
pub(crate) fn grouped<const N: usize>(rows: &Grouped) -> anyhow::Result<[Levels; N]> {
    let all: anyhow::Result<Vec<Levels>> = rows
        .groups
        .iter()
        .map(|columns| levels(&rows.frame, columns))
        .collect();
    let all: Result<[Levels; N], _> = all?.try_into();
    Ok(all.expect("the chart asked for this number of groupings"))
}

/// Returns the quantity of the drawn column, in the requested unit.
pub(crate) fn quantity(rows: &Grouped, unit: Option<&str>) -> anyhow::Result<Quantity> {
    let quantity = Quantity::of_column(&rows.column);
    let quantity = match rows.stated_unit()? {
        Some(stated) => quantity.counted_in(stated),
        None => quantity,
    };
    match unit {
        None => Ok(quantity),
        Some(unit) => quantity
            .shown_in(unit)
            .map_err(|error| wrong_usage(&error))
            .context("wrong unit"),
    }
}
