//! Rows on standard output that a reader follows.

use anyhow::{Context, bail};
use tcpexp_table::{Columns, RowsWriter};

use crate::output::without_wrapping;
use crate::shared_args::{Format, wrong_usage};
use crate::standard_output::StandardOutput;

/// Begins a table of rows; `None` for text.
pub(crate) fn rows_in<R: Sync>(
    format: Option<Format>,
    columns: Columns<R>,
) -> anyhow::Result<Option<Box<RowsWriter<R, StandardOutput>>>> {
    let out = StandardOutput;
    let rows = match format {
        None | Some(Format::Table) => return Ok(None),
        Some(Format::Csv) => RowsWriter::new(tcpexp_table::Format::Csv, columns, out),
        Some(Format::Json) => RowsWriter::new(tcpexp_table::Format::Json, columns, out),
        Some(Format::Arrow) if StandardOutput::is_terminal() => {
            bail!("a terminal cannot show arrow: redirect the output")
        }
        Some(Format::Arrow) => RowsWriter::arrow_stream(columns, out),
        Some(Format::Parquet) => {
            return Err(wrong_usage(
                "--live cannot write parquet, which is readable only when it is complete",
            ));
        }
        Some(Format::Spp) => {
            return Err(wrong_usage("--live cannot write the format spp"));
        }
    };
    let rows = rows
        .map_err(without_wrapping)
        .context("cannot write standard output")?;
    Ok(Some(Box::new(rows)))
}
