//! `tcpexp export FORMAT DIR`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tcpexp::flent_file;
use tcpexp_runs::folders::{RUNS, run_dirs};
use tcpexp_runs::record::{FILE_NAME, RunRecord, Status};
use tcpexp_units::counted;

use crate::output::{self, Output};
use crate::shared_args::check_extension;
use crate::{failure, fetched, report, shown};

/// Write the runs of a sweep in the format of another tool
///
/// A data file of Flent contains the goodput of each TCP sender, in the bins of the run's dataset, and
/// the round-trip times of ping. The means equal those of `tcpexp compare`. The metadata names a Flent
/// test with these series (`tcp_nup`, `tcp_ndown`, `rrul_be_nflows` or `ping`), so Flent's plots of that
/// test work.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp export flent results/runs/0001-7a33de94-r01 -o run.flent.gz\n\
\x20 tcpexp export flent results -o flent")]
pub(crate) struct ExportArgs {
    /// Format of the files
    format: ExportFormat,

    /// Directory of a run, or of a sweep to write one file per complete run
    dir: PathBuf,

    /// File to write (.flent.gz), or the directory for the files of a sweep
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,

    /// Print no summary and no warnings
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Data files of Flent, version 4
    Flent,
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let ExportFormat::Flent = args.format;
    let dir = fetched::local(&args.dir)?;
    if !dir.join(RUNS).is_dir() {
        // Flent finds by the extension that a file is packed.
        check_extension(&args.output, &[".flent.gz"])?;
        write(args, &dir, &args.output)?;
        return summary(args, 1);
    }
    let runs = run_dirs(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    let mut written = 0;
    for run in runs.iter().filter(|run| run.join(FILE_NAME).is_file()) {
        let record = RunRecord::read(run)?;
        if record.status != Status::Complete {
            if !args.quiet {
                failure::print_line(&format!("warning: {} is not complete", record.run));
            }
            continue;
        }
        let name = format!("{}.flent.gz", record.run);
        write(args, run, &args.output.join(name))?;
        written += 1;
    }
    if written == 0 {
        bail!("no run of {} is complete", dir.display());
    }
    summary(args, written)
}

fn write(args: &ExportArgs, run: &Path, to: &Path) -> anyhow::Result<()> {
    let file = flent_file(run)?;
    if !args.quiet && !file.left_out.is_empty() {
        let names = file.left_out.join(", ");
        let line = format!(
            "warning: {}: Flent has no series for {names}",
            run.display()
        );
        failure::print_line(&line);
    }
    let cannot = || format!("cannot write {}", to.display());
    let mut output = Output::create(Some(to))?;
    // Contains neither a name nor a time, so that equal runs give equal bytes.
    let mut packed: GzEncoder<_> = GzBuilder::new().write(&mut output, Compression::default());
    serde_json::to_writer(&mut packed, &file.json)
        .map_err(std::io::Error::from)
        .and_then(|()| packed.finish()?.flush())
        .with_context(cannot)?;
    output.finish()
}

fn summary(args: &ExportArgs, written: usize) -> anyhow::Result<()> {
    if args.quiet {
        return Ok(());
    }
    let mut text = String::new();
    let files = counted(written, "file");
    let place = shown::path(&args.output);
    report::line(&mut text, "written", &format!("{files} of Flent: {place}"));
    output::print(&text)
}
