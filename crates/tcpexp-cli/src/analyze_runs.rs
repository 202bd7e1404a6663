//! `tcpexp analyze DIR`, for a run, a sweep, a dataset or a folder of datasets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use tcpexp::{
    AnalyzeOptions, DatasetDir, MANIFEST_FILE_NAME, Manifest, RUN_DATASET, RecordedDataset,
    SweepColumns, analyze_run_into, columns_beside, recorded_runs,
};
use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::{FILE_NAME as RUN_RECORD, RunRecord, Status};
use tcpexp_units::counted;

use crate::analyze_args::{self, AnalyzeArgs};
use crate::output;
use crate::shared_args::wrong_usage;
use crate::temporary::RemovedOnInterrupt;
use crate::{failure, jobs, report, shown};

/// Analyses all runs in a directory; each run gets its own dataset.
pub(crate) fn run(args: &AnalyzeArgs, src: &Path) -> anyhow::Result<()> {
    // The dataset of a run is made from the record beside it, which names the traffic.
    let of_run = src.join("..");
    let is_of_run = src.join(MANIFEST_FILE_NAME).is_file() && of_run.join(RUN_RECORD).is_file();
    let src = if is_of_run { &of_run } else { src };
    let is_sweep = src.join(RUN_RECORD).is_file() || src.join(RUNS).is_dir();
    // The record of a run, or the manifest of a dataset, names the captures, parameters and logs, and
    // the dataset has a fixed place.
    let takes_no = [
        (args.dst.is_some(), "a second capture"),
        (args.output.is_some(), "-o"),
        (!args.param.is_empty(), "--param"),
        (!args.log.is_empty(), "--log"),
        (args.part.shard.is_some(), "--shard"),
        // A sweep's captures are opened by the library, on disk.
        (is_sweep && args.reading.no_mmap, "--no-mmap"),
        (
            is_sweep && !args.reading.stores.storage_option.is_empty(),
            "--storage-option",
        ),
    ];
    if let Some((_, what)) = takes_no.iter().find(|(is_given, _)| *is_given) {
        let where_from = if is_sweep {
            "a run or a sweep"
        } else {
            "datasets"
        };
        return Err(wrong_usage(&format!(
            "{what} cannot be used with {where_from}"
        )));
    }
    let options = analyze_args::options(args)?;
    if is_sweep {
        sweep(args, src, &options)
    } else {
        datasets(args, src, &options)
    }
}

fn sweep(args: &AnalyzeArgs, src: &Path, options: &AnalyzeOptions) -> anyhow::Result<()> {
    let runs = recorded_runs(src)?;
    // The columns come from all runs of the sweep, so that a run analysed alone fits the others.
    let columns = columns_beside(src)?;
    let (complete, others): (Vec<_>, Vec<_>) = runs
        .into_iter()
        .partition(|(_, record)| record.status == Status::Complete);
    if complete.is_empty() {
        bail!("{} has no complete run", src.display());
    }
    let analysed = jobs::each_of(&complete, args.jobs, |(dir, record)| {
        one_run(dir, record, &columns, options)
    })?;
    let names = complete.iter().map(|(_, record)| record.run.clone());
    finish(args.quiet, names.zip(analysed), &others)
}

/// Analyses the captures of datasets again; each dataset is replaced.
fn datasets(args: &AnalyzeArgs, src: &Path, options: &AnalyzeOptions) -> anyhow::Result<()> {
    let datasets = RecordedDataset::all_in(src)?;
    let analysed = jobs::each_of(&datasets, args.jobs, |dataset| {
        let (out, _removed) =
            RemovedOnInterrupt::make(|| DatasetDir::create(&dataset.path), DatasetDir::temporary)?;
        Ok(dataset.analyze(options, |capture| args.reading.prepared(capture), out)?)
    })?;
    for (dataset, made) in datasets.iter().zip(&analysed).filter(|_| !args.quiet) {
        for (option, before, now) in made.iter().flat_map(|made| dataset.changed_options(made)) {
            let dataset = shown::path(&dataset.path);
            failure::print_line(&format!(
                "warning: {dataset}: the option {option} was {before} and is {now}"
            ));
        }
    }
    let names = datasets.iter().map(|dataset| shown::path(&dataset.path));
    finish(args.quiet, names.zip(analysed), &[])
}

/// Reports the datasets of several runs by name, and the runs without one.
pub(crate) fn finish(
    quiet: bool,
    analysed: impl Iterator<Item = (String, anyhow::Result<Manifest>)>,
    others: &[(PathBuf, RunRecord)],
) -> anyhow::Result<()> {
    // The map sorts by name, so messages do not depend on the order of the directories.
    let analysed: BTreeMap<_, _> = analysed.collect();
    let all = analysed.len();
    let mut manifests = Vec::new();
    let mut failed = 0;
    for (run, made) in analysed {
        match made {
            Ok(manifest) => {
                for warning in manifest.warnings.iter().filter(|_| !quiet) {
                    failure::print_line(&format!("warning: {run}: {warning}"));
                }
                manifests.push(manifest);
            }
            // A run that fails does not stop the others.
            Err(error) => {
                failed += 1;
                failure::print_line(&format!("{run}: {}", failure::chain(&error)));
            }
        }
    }
    if !quiet {
        output::print_last(&written_runs(&manifests, others))?;
    }
    if failed > 0 {
        bail!("the analysis of {failed} of {} failed", counted(all, "run"));
    }
    Ok(())
}

pub(crate) fn one_run(
    dir: &Path,
    record: &RunRecord,
    columns: &SweepColumns,
    options: &AnalyzeOptions,
) -> anyhow::Result<Manifest> {
    let place = dir.join(RUN_DATASET);
    let (out, _removed) =
        RemovedOnInterrupt::make(|| DatasetDir::create(&place), DatasetDir::temporary)?;
    Ok(analyze_run_into(dir, record, columns, options, out)?)
}

/// Returns the totals of the datasets of several runs as text.
fn written_runs(manifests: &[Manifest], others: &[(PathBuf, RunRecord)]) -> String {
    let mut tables: Vec<(&str, u64, u64)> = Vec::new();
    for table in manifests.iter().flat_map(|manifest| &manifest.tables) {
        match tables.iter_mut().find(|(file, ..)| *file == table.file) {
            Some((_, rows, bytes)) => {
                *rows += table.rows;
                *bytes += table.bytes;
            }
            None => tables.push((&table.file, table.rows, table.bytes)),
        }
    }
    let mut text = tcpexp_table::dataset::written_text(tables.into_iter());
    text.push('\n');
    report::line(&mut text, "runs", &format!("{} analysed", manifests.len()));
    for (_, record) in others {
        let status = match record.status {
            Status::Invalid => "invalid",
            Status::Failed => "failed",
            Status::Complete => "complete",
        };
        let reason = record.reason.as_deref().unwrap_or("no reason given");
        report::line(
            &mut text,
            "left out",
            &format!("{} {status}: {reason}", record.run),
        );
    }
    text
}
