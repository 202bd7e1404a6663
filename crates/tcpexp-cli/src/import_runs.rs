//! `tcpexp import FORMAT DIR`: experiments of other tools as the runs of a sweep.

use std::path::Path;

use anyhow::{Context, bail};
use tcpexp::{AnalyzeOptions, ForeignRun, SweepColumns, flent_runs, partial, teacup_runs};
use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::Status;
use tcpexp_units::counted;

use crate::analyze_runs::{finish, one_run};
use crate::sender_args::ImportArgs;
use crate::shared_args::wrong_usage;
use crate::temporary::TemporaryDir;
use crate::{failure, jobs, output, report, shown};

/// Imports the experiments of TEACUP and analyses their captures.
pub(crate) fn teacup(args: &ImportArgs) -> anyhow::Result<()> {
    let out = output_of(args)?;
    let staged = beside(out)?;
    let runs = teacup_runs(&args.log, staged.path())?;
    let columns = SweepColumns::of_records(runs.iter().map(|run| &run.record));
    write_records(&runs, staged.path())?;
    staged.rename(out).with_context(|| cannot_write(out))?;
    let (complete, others): (Vec<_>, Vec<_>) = runs
        .into_iter()
        .map(|run| (out.join(RUNS).join(&run.record.run), run.record))
        .partition(|(_, record)| record.status == Status::Complete);
    let options = AnalyzeOptions::default();
    let analysed = jobs::each_of(&complete, None, |(dir, record)| {
        one_run(dir, record, &columns, &options)
    })?;
    let names = complete.iter().map(|(_, record)| record.run.clone());
    finish(args.output.quiet, names.zip(analysed), &others)
}

/// Imports the data files of Flent.
pub(crate) fn flent(args: &ImportArgs) -> anyhow::Result<()> {
    let out = output_of(args)?;
    let staged = beside(out)?;
    let runs = flent_runs(&args.log, staged.path())?;
    let failed: Vec<_> = runs
        .iter()
        .filter(|run| run.record.status == Status::Failed)
        .collect();
    for run in &failed {
        let reason = run.record.reason.as_deref().unwrap_or_default();
        failure::print_line(&format!("warning: {}: {reason}", run.record.run));
    }
    if failed.len() == runs.len() {
        bail!("none of {} can be used", counted(runs.len(), "data file"));
    }
    write_records(&runs, staged.path())?;
    staged.rename(out).with_context(|| cannot_write(out))?;
    if !args.output.quiet {
        let mut text = String::new();
        let imported = runs.len() - failed.len();
        report::line(&mut text, "runs", &format!("{imported} imported"));
        if !failed.is_empty() {
            report::line(&mut text, "failed", &failed.len().to_string());
        }
        output::print(&text)?;
    }
    Ok(())
}

/// The directory to write, which must be new or empty.
fn output_of(args: &ImportArgs) -> anyhow::Result<&Path> {
    if args.events.is_some() {
        return Err(wrong_usage(
            "--events takes a log, not a directory of experiments",
        ));
    }
    if args.output.format.is_some() {
        return Err(wrong_usage(
            "--format is for logs: the tables of experiments are Parquet files",
        ));
    }
    let Some(out) = args.output.output.as_deref() else {
        return Err(wrong_usage(
            "experiments need a directory for the results: -o DIR",
        ));
    };
    if out == Path::new("-") {
        return Err(wrong_usage(
            "experiments need a directory for the results, not standard output",
        ));
    }
    let is_empty = || {
        out.read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
    };
    if out.exists() && !is_empty() {
        bail!("{} is not empty: name a new directory", shown::path(out));
    }
    Ok(out)
}

/// A directory beside the final place of the results, so that nothing half-written looks whole.
fn beside(out: &Path) -> anyhow::Result<TemporaryDir> {
    TemporaryDir::make(partial::folder_of(out), 0o777).with_context(|| cannot_write(out))
}

fn cannot_write(out: &Path) -> String {
    format!("cannot write {}", shown::path(out))
}

fn write_records(runs: &[ForeignRun], out: &Path) -> anyhow::Result<()> {
    for run in runs {
        for warning in &run.warnings {
            failure::print_line(&format!("warning: {}: {warning}", run.record.run));
        }
        run.record.write(&out.join(RUNS).join(&run.record.run))?;
    }
    Ok(())
}
