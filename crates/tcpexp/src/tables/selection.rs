//! Selection of a table and of its rows.

use std::collections::BTreeSet;

use tcpexp_metrics::pooling::Pooling;
use tcpexp_table::{Filter, Frame};

use super::totals::{OF_RATES, sources_with_flows, without_totals};
use super::words::listed;
use super::{FLOW_COLUMN, FLOW_ID, Query, Tables};
use crate::{Error, FlowName, TablesError};

/// Tables with several rows for one event, one per measurement point: the column of the point, and
/// the point whose rows are read unless a filter names one. A chart of two points would draw two
/// values as one line.
const POINTS: [(&str, &str, &str); 2] = [
    ("rtt", "reference", "src"),
    ("throughput", "capture", "dst"),
];

/// The tables and rows of a chart.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub(super) tables: Tables,
    pub(super) table: Option<String>,
    pub(super) filters: Vec<Filter>,
    pub(super) flows: Vec<FlowName>,
    pub(super) pooling: Option<Pooling>,
}

impl Selection {
    /// Selects all rows of all tables.
    pub fn of(tables: Tables) -> Self {
        Self {
            tables,
            ..Self::default()
        }
    }

    /// Restricts the selection to the table with this name. Default: the first table with the
    /// requested columns.
    #[must_use]
    pub fn table(self, table: Option<String>) -> Self {
        Self { table, ..self }
    }

    /// Restricts the rows by `filters`, whose columns may lack their units.
    #[must_use]
    pub fn filters(self, filters: Vec<Filter>) -> Self {
        Self { filters, ..self }
    }

    /// Restricts the rows to the flows that one of these names selects, in tables with flows.
    /// Default: all flows.
    #[must_use]
    pub fn flows(self, flows: Vec<FlowName>) -> Self {
        Self { flows, ..self }
    }

    /// Restricts the rows to those that count in pooled figures.
    #[must_use]
    pub fn pooled(self, pooling: Pooling) -> Self {
        Self {
            pooling: Some(pooling),
            ..self
        }
    }

    /// Returns the tables to select from.
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns the first table with all `columns`, and the full names of the columns. Tries the
    /// tables in `usual` before all others.
    pub fn resolve(
        &self,
        columns: &[&str],
        usual: &[&str],
    ) -> Result<(String, Vec<String>), Error> {
        let preferred = self.preferred(usual);
        for table in &preferred {
            if let Ok(found) = self.choose(std::slice::from_ref(table), columns) {
                return Ok(found);
            }
        }
        if self.table.is_none() {
            for (table, _) in self.tables.names() {
                if let Ok(found) = self.choose(&[table.to_owned()], columns) {
                    return Ok(found);
                }
            }
        }
        // In a dataset with many tables, the error lists the columns of the first candidate.
        let first = preferred.get(..1).unwrap_or_default();
        if self.table.is_some() {
            return self.choose(first, columns);
        }
        let is_nowhere = |column: &&&str| self.tables_with(column).is_empty();
        let nowhere: Vec<&str> = columns.iter().filter(is_nowhere).copied().collect();
        if !nowhere.is_empty() {
            return self.choose(first, &nowhere);
        }
        Err(self.in_several_tables(columns).into())
    }

    /// The names of the tables that have a column, which may lack its unit.
    fn tables_with(&self, column: &str) -> Vec<String> {
        let names = self.tables.names().into_iter();
        let names = names.map(|(name, _)| name.to_owned());
        names
            .filter(|name| self.choose(std::slice::from_ref(name), &[column]).is_ok())
            .collect()
    }

    /// The error for columns that are in different tables.
    fn in_several_tables(&self, columns: &[&str]) -> TablesError {
        let mut names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        names.dedup();
        let of_column = |name: &String| {
            let tables = self.tables_with(name);
            let tables = tables.iter().map(|table| match table.as_str() {
                "" => "an unnamed table".to_owned(),
                table => table.to_owned(),
            });
            format!("{name} is in {}", listed(&tables.collect::<Vec<_>>()))
        };
        let tables: Vec<String> = names.iter().map(of_column).collect();
        TablesError::NoSingleTable {
            wanted: listed(&names),
            tables: tables.join("; "),
        }
    }

    /// Reads the selected rows of a table, with the columns that it must have and those that it may
    /// have.
    pub fn read(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
    ) -> Result<Frame, Error> {
        Ok(self.read_at_point(table, required, optional)?.0)
    }

    /// Reads the selected rows as [`read`](Self::read) does. Also returns the filter of the measurement
    /// point by which rows are left out.
    pub(super) fn read_at_point(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
    ) -> Result<(Frame, Option<Filter>), Error> {
        let filters = self.full_filters(table)?;
        let point = self.point_filter(table, &filters);
        let mut query = Query {
            tables: vec![table.to_owned()],
            required: required.to_vec(),
            optional: optional.to_vec(),
            filters,
        };
        let selects_flows = !self.flows.is_empty() && self.has(table, FLOW_ID);
        if selects_flows {
            query.required.push(FLOW_ID.to_owned());
            query.optional.push(FLOW_COLUMN.to_owned());
        }
        let has_totals = self.has(table, FLOW_ID) && self.has(table, OF_RATES) && !selects_flows;
        let mut with_flows = BTreeSet::new();
        if has_totals {
            query.optional.push(FLOW_ID.to_owned());
            // A filter may leave only the totals of a file that has flows.
            let all = Query {
                tables: query.tables.clone(),
                optional: vec![FLOW_ID.to_owned()],
                ..Query::default()
            };
            with_flows = sources_with_flows(&self.tables.read(&all)?);
        }
        let read = |query: &Query| {
            let frame = self.tables.read(query)?;
            Ok::<_, Error>(if selects_flows {
                self.of_flows(&frame)
            } else if has_totals {
                without_totals(frame, &with_flows)
            } else {
                frame
            })
        };
        if let Some(point) = point {
            let mut at_point = query.clone();
            at_point.filters.push(point.clone());
            let frame = read(&at_point)?;
            // With one capture, the rows of the other point do not exist.
            if frame.rows() > 0 {
                return Ok((frame, Some(point)));
            }
        }
        let frame = read(&query)?;
        if frame.rows() > 0 {
            return Ok((frame, None));
        }
        let mut filters: Vec<String> = query.filters.iter().map(ToString::to_string).collect();
        if selects_flows {
            let flows: Vec<String> = self.flows.iter().map(ToString::to_string).collect();
            filters.push(format!("--flow {}", flows.join(" or ")));
        }
        let table = if table.is_empty() { "the table" } else { table }.to_owned();
        let error = if filters.is_empty() {
            TablesError::EmptyTable { table }
        } else {
            TablesError::NoRows {
                table,
                filters: filters.join(" and "),
            }
        };
        Err(error.into())
    }

    /// The rows of the selected flows.
    fn of_flows(&self, frame: &Frame) -> Frame {
        let number = frame.column(FLOW_ID);
        let ends = frame.column(FLOW_COLUMN);
        let is_wanted = |row: usize| {
            let number = number.and_then(|numbers| numbers.whole(row));
            let number = number.and_then(|number| u32::try_from(number).ok());
            let ends = ends.and_then(|ends| ends.text(row)).unwrap_or_default();
            number.is_some_and(|number| self.flows.iter().any(|flow| flow.fits(number, ends)))
        };
        let keep: Vec<bool> = (0..frame.rows()).map(is_wanted).collect();
        frame.filtered(&keep)
    }

    /// Returns the candidate tables: the requested table, or those of `usual` that exist.
    fn preferred(&self, usual: &[&str]) -> Vec<String> {
        if let Some(table) = &self.table {
            return vec![table.clone()];
        }
        let names = self.tables.names();
        let is_there = |table: &str| names.iter().any(|(name, _)| *name == table);
        // A single file may be any table.
        if is_there("") {
            return Vec::new();
        }
        let usual = usual.iter().filter(|table| is_there(table));
        usual.map(|table| (*table).to_owned()).collect()
    }

    /// Returns the first of `tables` with all `columns`, and the full names of the columns.
    fn choose(&self, tables: &[String], columns: &[&str]) -> Result<(String, Vec<String>), Error> {
        let full = |column: &&str| {
            let found = self.tables.resolve(tables, column);
            found.unwrap_or_else(|| (*column).to_owned())
        };
        let required: Vec<String> = columns.iter().map(full).collect();
        let query = Query {
            tables: tables.to_vec(),
            required: required.clone(),
            ..Query::default()
        };
        let table = self.tables.choose(&query)?.to_owned();
        Ok((table, required))
    }

    /// Returns the filters with the full names of their columns.
    fn full_filters(&self, table: &str) -> Result<Vec<Filter>, Error> {
        let tables = [table.to_owned()];
        let full = |filter: &Filter| {
            let (_, columns) = self.choose(&tables, &[&filter.column])?;
            let mut filter = filter.clone();
            filter.column.clone_from(&columns[0]);
            Ok(filter)
        };
        self.filters.iter().map(full).collect()
    }

    /// Returns the filter of the measurement point whose rows are read; `None` if `filters` or
    /// pooling choose it.
    fn point_filter(&self, table: &str, filters: &[Filter]) -> Option<Filter> {
        // Pooling chooses the point by the direction of each flow.
        if self.pooling.is_some() && self.has_payloads() {
            return None;
        }
        let is_named = |column: &str| filters.iter().any(|filter| filter.column == column);
        let (_, column, point) = POINTS
            .into_iter()
            .find(|(of, column, _)| *of == table && !is_named(column) && self.has(table, column))?;
        parsed(column, point)
    }

    pub(super) fn has(&self, table: &str, column: &str) -> bool {
        // `resolve` also accepts names without a unit, so the full name is compared.
        let found = self.tables.resolve(&[table.to_owned()], column);
        found.as_deref() == Some(column)
    }

    /// True if a table has the payload of each flow.
    fn has_payloads(&self) -> bool {
        let query = Query {
            tables: vec!["flows".to_owned()],
            required: vec!["unique_bytes".to_owned()],
            ..Query::default()
        };
        self.tables.choose(&query).is_ok()
    }
}

fn parsed(column: &str, value: &str) -> Option<Filter> {
    format!("{column}={value}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::*;

    const RTT: &str = "flow_id,reference,rtt_ns\n0,src,40\n0,dst,41\n1,src,90\n";
    const FLOWS: &str = "flow_id,goodput_bps\n0,7\n1,8\n";

    fn selection() -> (tempfile::TempDir, Selection) {
        let (dir, tables) = folder(&[("rtt", RTT), ("flows", FLOWS)]);
        (dir, Selection::of(tables))
    }

    fn numbers(frame: &Frame, column: &str) -> Vec<Option<i64>> {
        let column = frame.column(column).unwrap();
        (0..frame.rows()).map(|row| column.whole(row)).collect()
    }

    #[test]
    fn the_first_usual_table_with_all_columns_is_chosen() {
        let (_dir, selection) = selection();
        let found = |columns: &[&str], usual: &[&str]| {
            let (table, columns) = selection.resolve(columns, usual).unwrap();
            format!("{table}: {}", columns.join(" "))
        };
        assert_eq!(found(&["flow_id"], &["flows", "rtt"]), "flows: flow_id");
        assert_eq!(
            found(&["rtt", "flow_id"], &["flows"]),
            "rtt: rtt_ns flow_id"
        );
        assert_eq!(found(&["goodput"], &[]), "flows: goodput_bps");
        assert!(selection.resolve(&["goodput", "rtt"], &[]).is_err());
        let error = |columns: &[&str]| {
            let error = selection.resolve(columns, &["flows"]).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            error(&["goodput", "rtt", "flow_id"]),
            "no single table has goodput, rtt and flow_id: goodput is in flows; rtt is in rtt; flow_id is in rtt and \
             flows"
        );
        // The table of flows has no round-trip times, but another table has.
        assert_eq!(
            error(&["rtt", "rate"]),
            "no table has the column rate: flows has flow_id, goodput_bps"
        );
        let only = selection.clone().table(Some("flows".to_owned()));
        assert!(only.resolve(&["rtt"], &["rtt"]).is_err());
    }

    #[test]
    fn rows_are_those_of_one_point_unless_a_filter_names_one() {
        let (_dir, selection) = selection();
        let read = |filters: &[&str], flow: Option<&str>| {
            let flows = flow.map(|flow| flow.parse().unwrap());
            let filters = filters.iter().map(|filter| filter.parse().unwrap());
            let selection = selection.clone().filters(filters.collect());
            let selection = selection.flows(flows.into_iter().collect());
            let frame = selection.read("rtt", &["rtt_ns".to_owned()], &[]);
            frame.map(|frame| numbers(&frame, "rtt_ns"))
        };
        assert_eq!(read(&[], None).unwrap(), [Some(40), Some(90)]);
        assert_eq!(read(&[], Some("1")).unwrap(), [Some(90)]);
        assert_eq!(read(&["reference=dst"], None).unwrap(), [Some(41)]);
        assert_eq!(read(&["rtt>=80"], None).unwrap(), [Some(90)]);
        let error = read(&["rtt>=80"], Some("0")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no row of rtt meets rtt_ns>=80 and --flow 0"
        );
    }
}
