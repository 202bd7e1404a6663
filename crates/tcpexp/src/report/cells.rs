//! The table of a sweep's cells, for its page.

use std::path::Path;

use serde_json::{Map, Value};
use tcpexp_chart::page::{PageParameter, PageRow, PageRun, PageTable, TableColumn};
use tcpexp_runs::compare::{CompareOptions, Comparison};
use tcpexp_runs::only::Only;
use tcpexp_table::compare::{CompareRow, compare_columns, main_compare_columns, shown_rows};
use tcpexp_table::{Format, RowsWriter};

use crate::Error;

/// The rows of `tcpexp compare` for the sweep in `dir` with these runs, without empty columns.
pub(super) fn cell_table(
    dir: &Path,
    only: &Only,
    varied: &[PageParameter],
    runs: &[PageRun],
) -> Result<PageTable, Error> {
    let comparison = Comparison::of(
        dir,
        &CompareOptions {
            only: only.clone(),
            ..CompareOptions::default()
        },
    );
    let comparison = comparison.map_err(|source| Error::CompareRuns {
        path: dir.to_owned(),
        source,
    })?;
    let columns = compare_columns(&comparison.parameters());
    let schema = columns.schema();
    let unwritten = |source| Error::Table {
        path: dir.to_owned(),
        source,
    };
    // The rows go through the writer of `tcpexp compare`, so the page has the same values.
    let mut writer = RowsWriter::new(Format::Json, columns, Vec::new()).map_err(unwritten)?;
    let rows = comparison.rows();
    let shown: Vec<CompareRow> = shown_rows(&rows).into_iter().cloned().collect();
    writer.write(shown).map_err(unwritten)?;
    let lines = writer.finish().map_err(unwritten)?;
    let rows: Vec<Map<String, Value>> = serde_json::Deserializer::from_slice(&lines)
        .into_iter()
        .filter_map(Result::ok)
        .collect();
    let is_known = |name: &String| {
        rows.iter()
            .any(|row| row.get(name).is_some_and(|v| !v.is_null()))
    };
    let distinguishing = varied.iter().filter(|one| one.is_distinguishing);
    let varied = distinguishing.map(|parameter| parameter.name.clone());
    let main: Vec<String> = varied.chain(main_compare_columns()).collect();
    let fields = schema
        .fields()
        .iter()
        .filter(|field| is_known(field.name()));
    let columns: Vec<TableColumn> = fields
        .map(|field| TableColumn {
            name: field.name().clone(),
            definition: field
                .metadata()
                .get("description")
                .cloned()
                .unwrap_or_default(),
            is_main: main.contains(field.name()),
        })
        .collect();
    let row = |row: &Map<String, Value>| {
        let of_row = |run: &PageRun| run.cell.as_deref() == row.get("cell").and_then(Value::as_str);
        let values = columns.iter().map(|column| row.get(&column.name).cloned());
        PageRow {
            runs: (0..runs.len()).filter(|&run| of_row(&runs[run])).collect(),
            values: values.map(Option::unwrap_or_default).collect(),
        }
    };
    let rows = rows.iter().map(row).collect();
    Ok(PageTable::new("Cells", columns, rows))
}
