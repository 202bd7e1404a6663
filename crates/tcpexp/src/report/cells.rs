//! The table of a sweep's cells, for its page.

use std::path::Path;

use serde_json::{Map, Value};
use tcpexp_chart::page::{PageColumn, PageTable};
use tcpexp_runs::compare::{CompareOptions, Comparison};
use tcpexp_table::compare::compare_columns;
use tcpexp_table::{Format, RowsWriter};

use crate::Error;

/// The rows of `tcpexp compare` for the sweep in `dir`, without empty columns.
pub(super) fn cell_table(dir: &Path) -> Result<PageTable, Error> {
    let comparison = Comparison::of(dir, &CompareOptions::default());
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
    writer.write(comparison.rows()).map_err(unwritten)?;
    let lines = writer.finish().map_err(unwritten)?;
    let rows: Vec<Map<String, Value>> = serde_json::Deserializer::from_slice(&lines)
        .into_iter()
        .filter_map(Result::ok)
        .collect();
    let is_known = |name: &String| {
        rows.iter()
            .any(|row| row.get(name).is_some_and(|v| !v.is_null()))
    };
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .filter(|field| is_known(field.name()))
        .collect();
    let values = |row: &Map<String, Value>| {
        let values = fields.iter().map(|field| row.get(field.name()).cloned());
        values.map(Option::unwrap_or_default).collect()
    };
    Ok(PageTable {
        title: "Cells".into(),
        rows: rows.iter().map(values).collect(),
        columns: fields
            .iter()
            .map(|field| PageColumn {
                name: field.name().clone(),
                definition: field
                    .metadata()
                    .get("description")
                    .cloned()
                    .unwrap_or_default(),
            })
            .collect(),
    })
}
