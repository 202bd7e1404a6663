//! Selects the tables and rows of a chart.

use std::path::PathBuf;

use anyhow::{Context, bail};
use tcpexp::{FLOW_COLUMN, Query, SOURCE_COLUMN, Tables};
use tcpexp_chart::{Levels, Quantity};
use tcpexp_table::{Filter, Frame};

use super::pool::{PoolArgs, flows_query, optional_columns, pool};
use crate::failure;
use crate::shared_args::wrong_usage;

/// Maximum number of excluded runs with a warning each.
const MAX_EXCLUSION_WARNINGS: usize = 3;
/// Maximum number of groups that a reader can distinguish in one chart.
const MAX_GROUPS: usize = 49;

#[derive(Clone, clap::Args)]
pub(crate) struct DataArgs {
    /// Sweeps, datasets, or tables
    #[arg(required = true)]
    pub(crate) data: Vec<PathBuf>,

    /// The table to draw [default: the first with the columns that are drawn]
    #[arg(long, value_name = "NAME", help_heading = "Rows and columns")]
    pub(crate) table: Option<String>,

    /// Only these rows: `cc=cubic,reno` or `delay_ms>=20`; may be given several times
    #[arg(long, value_name = "COLUMN=VALUE", help_heading = "Rows and columns")]
    pub(crate) filter: Vec<Filter>,
}

/// Rows with the column to draw and the columns that group them.
pub(crate) struct Grouped {
    table: String,
    pub(crate) frame: Frame,
    pub(crate) column: String,
    pub(crate) groups: Vec<Vec<String>>,
    /// Description of the pooled flows and directions, if the chart pools rows.
    pub(crate) note: Option<String>,
}

/// Default for rows without requested groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsualGroups {
    Yes,
    No,
}

/// Tables, with the filters of the command line.
pub(crate) struct Data<'a> {
    args: &'a DataArgs,
    pub(crate) tables: Tables,
    /// Filter for one flow, in tables with flows.
    flow: Option<Filter>,
    /// Rule for the rows that count, in charts that pool rows.
    pool: Option<&'a PoolArgs>,
}

impl DataArgs {
    pub(crate) fn open(&self) -> anyhow::Result<Data<'_>> {
        let tables = Tables::find(&self.data)?;
        let left_out = &tables.left_out;
        for (run, reason) in left_out.iter().take(MAX_EXCLUSION_WARNINGS) {
            failure::print_line(&format!("warning: run {run} is left out: {reason}"));
        }
        if left_out.len() > MAX_EXCLUSION_WARNINGS {
            let more = left_out.len() - MAX_EXCLUSION_WARNINGS;
            failure::print_line(&format!("warning: {more} more runs are left out"));
        }
        Ok(Data {
            args: self,
            tables,
            flow: None,
            pool: None,
        })
    }
}

impl<'a> Data<'a> {
    /// Restricts the rows to those that count, by the same rule for all charts.
    pub(crate) fn pooled(self, pool: &'a PoolArgs) -> Self {
        Self {
            pool: Some(pool),
            ..self
        }
    }
}

impl Data<'_> {
    /// Returns the columns in filters.
    pub(crate) fn filtered_columns(&self) -> impl Iterator<Item = &str> {
        self.args.filter.iter().map(|filter| filter.column.as_str())
    }

    /// Restricts the rows to the flow with this number.
    pub(crate) fn of_flow(self, flow: Option<u32>) -> Self {
        let filter = flow.and_then(|flow| format!("flow_id={flow}").parse().ok());
        Self {
            flow: filter,
            ..self
        }
    }

    /// Returns the candidate tables: the requested table, or those of `usual` that exist.
    fn candidates(&self, usual: &[&str]) -> Vec<String> {
        if let Some(table) = &self.args.table {
            return vec![table.clone()];
        }
        let names = self.tables.names();
        let usual = usual
            .iter()
            .filter(|table| names.iter().any(|(name, _)| name == *table));
        let usual: Vec<String> = usual.map(|table| (*table).to_owned()).collect();
        // A single file may be any table.
        if names.iter().any(|(name, _)| name.is_empty()) {
            Vec::new()
        } else {
            usual
        }
    }

    /// Returns the first table with all `columns`, and the full names of the columns. The first
    /// column is the column to draw.
    pub(crate) fn resolve(
        &self,
        columns: &[&str],
        usual: &[&str],
    ) -> anyhow::Result<(String, Vec<String>)> {
        let mut tables = self.candidates(usual);
        let first: Vec<String> = tables.first().cloned().into_iter().collect();
        let named = |tables: &[String]| -> Vec<String> {
            let full = |column: &&str| {
                let found = self.tables.resolve(tables, column);
                found.unwrap_or_else(|| (*column).to_owned())
            };
            columns.iter().map(full).collect()
        };
        let choose = |tables: &[String]| {
            let required = named(tables);
            let query = Query {
                tables: tables.to_vec(),
                required: required.clone(),
                ..Query::default()
            };
            let table = self.tables.choose(&query).map(str::to_owned);
            table.map(|table| (table, required))
        };
        // Tries each usual table, then any table.
        for table in &tables {
            if let Ok(found) = choose(std::slice::from_ref(table)) {
                return Ok(found);
            }
        }
        if self.args.table.is_none() {
            tables.clear();
        }
        let named = self.tables.names();
        for (table, _) in named {
            if tables.is_empty()
                && let Ok(found) = choose(&[table.to_owned()])
            {
                return Ok(found);
            }
        }
        // In a dataset with many tables, the error lists the columns of the first candidate.
        Ok(choose(first.as_slice())?)
    }

    /// Reads the rows of the first table that has the column and all group columns.
    pub(crate) fn grouped(
        &self,
        column: &str,
        groups: &[(&[String], UsualGroups)],
        usual: &[&str],
        optional: &[&str],
    ) -> anyhow::Result<Grouped> {
        let given = groups.iter().flat_map(|(columns, _)| columns.iter());
        let wanted: Vec<&str> = [column]
            .into_iter()
            .chain(given.map(String::as_str))
            .collect();
        let (table, named) = self.resolve(&wanted, usual)?;
        let mut named = named.into_iter();
        let column = named.next().context("there is no column to draw")?;
        let mut of_groups: Vec<Vec<String>> = groups
            .iter()
            .map(|(columns, _)| named.by_ref().take(columns.len()).collect())
            .collect();
        let used: Vec<String> = of_groups.iter().flatten().cloned().collect();
        for (columns, (_, default)) in of_groups.iter_mut().zip(groups) {
            if columns.is_empty() && *default == UsualGroups::Yes {
                *columns = self.usual_groups(&table);
                columns.retain(|column| !used.contains(column));
            }
        }
        let mut required = vec![column.clone()];
        required.extend(of_groups.iter().flatten().cloned());
        let mut optional: Vec<String> = optional.iter().map(|name| (*name).to_owned()).collect();
        optional.extend(self.pool.iter().flat_map(|_| optional_columns()));
        let mut rows = Grouped {
            frame: self.read(&table, &required, &optional)?,
            table,
            column,
            groups: of_groups,
            note: None,
        };
        if let Some(args) = self.pool {
            rows.note = self.pool_rows(args, &wanted[1..], &mut rows.frame)?;
        }
        Ok(rows)
    }

    /// Keeps the rows that count, and describes them.
    ///
    /// `None` for tables without flows, and without a table of each flow's payload.
    fn pool_rows(
        &self,
        args: &PoolArgs,
        groups: &[&str],
        rows: &mut Frame,
    ) -> anyhow::Result<Option<String>> {
        let query = flows_query();
        let is_of_flows = rows.column("flow_id").is_some() && rows.column("direction").is_some();
        if !is_of_flows || self.tables.choose(&query).is_err() {
            return Ok(None);
        }
        let flows = self.tables.read(&query)?;
        pool(args, self.filtered_columns(), groups, &flows, rows).map(Some)
    }

    /// The rows of a table that are drawn.
    pub(crate) fn read(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
    ) -> anyhow::Result<Frame> {
        let mut filters = Vec::new();
        for filter in &self.args.filter {
            let tables = [table.to_owned()];
            let full = self.tables.resolve(&tables, &filter.column);
            let Some(column) = full else {
                let query = Query {
                    tables: tables.to_vec(),
                    required: vec![filter.column.clone()],
                    ..Query::default()
                };
                self.tables.choose(&query)?;
                bail!("no table has {}", filter.column);
            };
            let mut filter = filter.clone();
            filter.column = column;
            filters.push(filter);
        }
        // Round-trip times have one row per reference point, and bins one row per capture. A chart
        // needs the rows of one point; mixing two points in one line would be misleading.
        let asks = |column: &str| filters.iter().any(|filter| filter.column == column);
        let has = |column: &str| {
            let resolved = self.tables.resolve(&[table.to_owned()], column);
            resolved.as_deref() == Some(column)
        };
        let of_flow = self.flow.iter().filter(|flow| has(&flow.column));
        let of_flow: Vec<Filter> = of_flow.cloned().collect();
        let usual = [
            ("rtt", "reference", "reference=src"),
            ("throughput", "capture", "capture=dst"),
        ]
        .into_iter()
        .find(|(of, column, _)| *of == table && !asks(column) && has(column))
        // Pooling chooses the point by the direction of each flow.
        .filter(|_| self.pool.is_none() || !self.knows_flows());
        filters.extend(of_flow);
        let query = Query {
            tables: vec![table.to_owned()],
            required: required.to_vec(),
            optional: optional.to_vec(),
            filters,
        };
        if let Some((_, _, usual)) = usual {
            let usual: Filter = usual.parse().map_err(|error: String| wrong_usage(&error))?;
            let mut narrow = query.clone();
            narrow.filters.push(usual);
            let frame = self.tables.read(&narrow)?;
            // With one capture, the rows of the other point do not exist.
            if frame.rows() > 0 {
                return Ok(frame);
            }
        }
        let frame = self.tables.read(&query)?;
        if frame.rows() == 0 {
            let filters: Vec<String> = query.filters.iter().map(ToString::to_string).collect();
            bail!(
                "no row of {} meets {}",
                name_of(table),
                filters.join(" and ")
            );
        }
        Ok(frame)
    }

    /// True if a table has the payload of each flow.
    fn knows_flows(&self) -> bool {
        let query = Query {
            tables: vec!["flows".to_owned()],
            required: vec!["unique_bytes".to_owned()],
            ..Query::default()
        };
        self.tables.choose(&query).is_ok()
    }

    /// Warns about files that this chart does not use.
    pub(crate) fn warn_of_others(&self, rows: &Grouped) {
        for path in self.tables.files_beside(&rows.table) {
            let (path, column) = (path.display(), &rows.column);
            failure::print_line(&format!(
                "warning: {path} is left out: it is no table of {column}"
            ));
        }
    }

    /// Returns the default groups: the parameters that a sweep varies, else the files if there are
    /// several, else the flows.
    pub(crate) fn usual_groups(&self, table: &str) -> Vec<String> {
        let tables = [table.to_owned()];
        let has = |column: &&String| self.tables.resolve(&tables, column).as_ref() == Some(*column);
        let varied: Vec<String> = self.tables.varied.iter().filter(has).cloned().collect();
        if !varied.is_empty() {
            return varied;
        }
        if self.args.data.len() > 1 {
            return vec![SOURCE_COLUMN.to_owned()];
        }
        let ends = ["initiator", "responder"].map(str::to_owned);
        if ends.iter().all(|column| has(&column)) {
            return vec![FLOW_COLUMN.to_owned()];
        }
        Vec::new()
    }
}

fn name_of(table: &str) -> &str {
    if table.is_empty() { "the table" } else { table }
}

/// Returns, for each flow, the bins of the direction that carries more, which is that of its data.
pub(crate) fn of_data(rows: &Grouped) -> anyhow::Result<Frame> {
    let whose = ["file", FLOW_COLUMN, "direction"].map(str::to_owned);
    let ways = Levels::of(&rows.frame, &whose);
    let flows = Levels::of(&rows.frame, &whose[..2]);
    let Some(numbers) = rows.frame.column(&rows.column) else {
        bail!("there is no column {}", rows.column);
    };
    let mut carried = vec![0.0; ways.len()];
    let mut most = vec![(f64::MIN, 0); flows.len()];
    for row in 0..rows.frame.rows() {
        carried[ways.of_row(row)] += numbers.number(row).unwrap_or(0.0);
    }
    for row in 0..rows.frame.rows() {
        let (way, flow) = (ways.of_row(row), flows.of_row(row));
        if carried[way] > most[flow].0 {
            most[flow] = (carried[way], way);
        }
    }
    let keep: Vec<bool> = (0..rows.frame.rows())
        .map(|row| most[flows.of_row(row)].1 == ways.of_row(row))
        .collect();
    Ok(rows.frame.filtered(&keep))
}

/// Returns the note for a chart that pools the values of several runs.
pub(crate) fn sample_note(rows: &Grouped) -> Option<String> {
    let pool = rows.note.as_ref()?;
    let runs = match Levels::of(&rows.frame, &[SOURCE_COLUMN.to_owned()]).len() {
        1 => "all values of one run".to_owned(),
        runs => format!("all values of {runs} runs together"),
    };
    Some(format!("{runs}, {pool}"))
}

/// Groups rows by columns; fails if the groups are too many for one chart.
pub(crate) fn levels(frame: &Frame, columns: &[String]) -> anyhow::Result<Levels> {
    let levels = Levels::of(frame, columns);
    if levels.len() > MAX_GROUPS {
        bail!(
            "{} groups by {} are too many for one chart: choose some with --filter",
            levels.len(),
            columns.join(", ")
        );
    }
    Ok(levels)
}

/// Returns the quantity of a column, in the requested unit.
pub(crate) fn quantity(column: &str, unit: Option<&str>) -> anyhow::Result<Quantity> {
    let quantity = Quantity::of_column(column);
    match unit {
        None => Ok(quantity),
        Some(unit) => quantity
            .shown_in(unit)
            .map_err(|error| wrong_usage(&error))
            .context("wrong unit"),
    }
}
