//! A table in addition to the main table of a command.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tcpexp_table::{Columns, RowsWriter};

use crate::caller::{Wanted, taker};
use crate::output::{Output, without_wrapping};
use crate::shared_args::Format;

/// A table written to a file; the file extension selects the format.
pub(crate) struct SideTable<R> {
    name: PathBuf,
    table: RowsWriter<R, Output>,
}

impl<R: Sync> SideTable<R> {
    /// Creates the table; fails immediately if the file cannot be created.
    pub(crate) fn create(path: &Path, columns: Columns<R>) -> anyhow::Result<Self> {
        let table = if let Some(caller) = taker(Wanted::SideRows) {
            let (columns, each) = caller.table(columns)?;
            RowsWriter::handing(columns, each, Output::create(None)?)
        } else {
            let format = Format::of_table(path)?;
            RowsWriter::new(format, columns, Output::create(Some(path))?)?
        };
        Ok(Self {
            name: path.to_owned(),
            table,
        })
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, rows: impl IntoIterator<Item = R>) -> anyhow::Result<()> {
        let written = self.table.write(rows).map_err(without_wrapping);
        written.with_context(|| format!("cannot write {}", self.name.display()))
    }

    /// Completes the table. The file gets its final name when the output is finished.
    pub(crate) fn complete(self) -> anyhow::Result<Output> {
        let written = self.table.finish().map_err(without_wrapping);
        written.with_context(|| format!("cannot write {}", self.name.display()))
    }
}
