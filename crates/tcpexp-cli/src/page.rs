//! `tcpexp report DIR`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use crate::output::Output;

/// One page about a run or a sweep, with charts that can be filtered and zoomed
///
/// DIR is a sweep, one run of it, or a dataset of `tcpexp analyze`. The page is one HTML file with
/// all its data and scripts in it: any browser opens it from disk, without a network.
#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// A sweep, a run, or a dataset
    dir: PathBuf,

    /// The page's file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let page = tcpexp::report(&args.dir)?;
    let html = page.html().context("cannot put the data into the page")?;
    let place = (args.output.as_os_str() != "-").then_some(args.output.as_path());
    let mut output = Output::create(place)?;
    output
        .write_all(html.as_bytes())
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    output.finish()
}
