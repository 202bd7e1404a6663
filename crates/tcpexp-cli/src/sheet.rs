//! The main table of a command, written to a file or to the terminal.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use tcpexp_table::{Columns, RowsWriter};

use crate::caller::{Wanted, taker};
use crate::output::{self, Output, without_wrapping};
use crate::shared_args::{Format, OutputArgs, wrong_usage};
use crate::shown;

/// The table of one command: all rows in a data format, or a text table.
pub(crate) struct Sheet<R> {
    out: Out<R>,
    name: PathBuf,
    shows_text: bool,
}

enum Out<R> {
    /// Text output; empty until the text is complete.
    Text(Output),
    Rows(Box<RowsWriter<R, Output>>),
}

impl<R: Sync> Sheet<R> {
    /// Creates the output that `args` specify.
    pub(crate) fn create(args: &OutputArgs, columns: Columns<R>) -> anyhow::Result<Self> {
        if let Some(caller) = taker(Wanted::Rows) {
            let (columns, each) = caller.table(columns)?;
            let out = Output::create(None)?;
            return Ok(Self {
                name: out.name().to_owned(),
                shows_text: !out.is_stdout() && !args.quiet,
                out: Out::Rows(Box::new(RowsWriter::handing(columns, each, out))),
            });
        }
        let format = match args.format()? {
            Format::Table => None,
            Format::Json => Some(tcpexp_table::Format::Json),
            Format::Csv => Some(tcpexp_table::Format::Csv),
            Format::Parquet => Some(tcpexp_table::Format::Parquet),
            Format::Arrow => Some(tcpexp_table::Format::Arrow),
            Format::Spp => {
                return Err(wrong_usage("the format spp requires rtt with two captures"));
            }
        };
        let path = args.output.as_deref();
        if let Some(binary @ (tcpexp_table::Format::Parquet | tcpexp_table::Format::Arrow)) = format
            && output::is_terminal(path)
        {
            bail!("a terminal cannot show {binary}: use -o FILE, or redirect the output");
        }
        let out = Output::create(path)?;
        let name = out.name().to_owned();
        let shows_text = format.is_none() || (!out.is_stdout() && !args.quiet);
        Ok(Self {
            out: match format {
                None => Out::Text(out),
                Some(format) => Out::Rows(Box::new(RowsWriter::new(format, columns, out)?)),
            },
            name,
            shows_text,
        })
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, rows: impl IntoIterator<Item = R>) -> anyhow::Result<()> {
        match &mut self.out {
            Out::Text(_) => Ok(()),
            Out::Rows(table) => table
                .write(rows)
                .map_err(without_wrapping)
                .with_context(|| format!("cannot write {}", self.name.display())),
        }
    }

    /// True if the output takes rows, false if it takes only the text.
    pub(crate) fn takes_rows(&self) -> bool {
        matches!(self.out, Out::Rows(_))
    }

    /// True if [`finish`](Self::finish) prints its text.
    pub(crate) const fn shows_text(&self) -> bool {
        self.shows_text
    }

    /// Completes the output, and finishes the `others` of the command with it. Prints `text` unless the
    /// output is rows on standard output or quiet.
    pub(crate) fn finish(
        self,
        text: &str,
        others: impl IntoIterator<Item = Output>,
    ) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", self.name.display());
        let shows_text = self.shows_text;
        let (out, is_text) = match self.out {
            Out::Text(mut out) => {
                out.write_all(shown::lines(text).as_bytes())
                    .with_context(cannot)?;
                (out, true)
            }
            Out::Rows(table) => {
                let out = table.finish().map_err(without_wrapping);
                (out.with_context(cannot)?, false)
            }
        };
        output::finish_all([out].into_iter().chain(others))?;
        // Printed last, so that a failed write prints no table.
        if shows_text && !is_text {
            output::print_last(text)?;
        }
        Ok(())
    }
}
