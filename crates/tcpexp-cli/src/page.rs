//! `tcpexp report DIR`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use tcpexp_runs::compare::not_run;
use tcpexp_runs::only::Only;

use crate::output::Output;
use crate::planned::{missing, planned_runs};
use crate::shared_args::{StoreArgs, check_extension};
use crate::{fetched, shown};

/// Write an interactive HTML report of runs or datasets
///
/// DIR is a sweep, one of its runs, a dataset of `tcpexp analyze`, or a folder of datasets. The page is one file with all
/// data and scripts, and needs no network.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n\
\x20 tcpexp report results -o results.html")]
pub(crate) struct ReportArgs {
    /// Directory of a sweep, a run, a dataset, or a folder of datasets
    dir: PathBuf,

    /// Show only the cells with these parameter values, such as `cc=cubic,reno,rate_mbps=10`
    #[arg(long, value_name = "NAME=VALUE")]
    only: Option<Only>,

    /// File of the page (.html); `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,

    /// Print errors only (no effect, since this command prints nothing else)
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    check_extension(&args.output, &[".html", ".htm"])?;
    let only = args.only.clone().unwrap_or_default();
    let dir = fetched::local(&args.dir)?;
    let mut page = tcpexp::report(&dir, &only)?;
    // A run without a cell was cut short.
    let ended = page
        .runs
        .iter()
        .filter_map(|run| Some((run.name.as_str(), run.cell.as_deref()?)));
    if let Some(runs) = missing(&not_run(&planned_runs(&dir), ended, &only)) {
        let end = if runs.ends_with('…') { "" } else { "." };
        page.summary = format!("{} {runs}{end}", page.summary);
    }
    let html = page.html().context("cannot write the data of the page")?;
    let place = (args.output.as_os_str() != "-").then_some(args.output.as_path());
    let mut output = Output::create(place)?;
    output
        .write_all(html.as_bytes())
        .with_context(|| format!("cannot write {}", shown::path(&args.output)))?;
    output.finish()
}
