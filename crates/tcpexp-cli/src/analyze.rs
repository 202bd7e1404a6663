//! `tcpexp analyze SRC [DST] -o DIR`.

use std::path::Path;

use tcpexp::{ANALYZE_PASSES, AnalyzeInputs, DatasetDir, LogSource, Manifest, TableEntry, analyze};
use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::FILE_NAME as RUN_RECORD;

use crate::analyze_args::{AnalyzeArgs, options};
use crate::output;
use crate::progress::Progress;
use crate::shared_args::wrong_usage;
use crate::store_options::of_this_run;
use crate::temporary::RemovedOnInterrupt;
use crate::{analyze_pairs, analyze_runs, failure, fetched, report, shown};

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    if let Some((pairs, output)) = args.task.pairs.as_ref().zip(args.output.as_ref()) {
        return analyze_pairs::run(args, pairs, output);
    }
    // clap does not check this if captures are named: they exclude --pairs.
    if args.task.task.is_some() {
        return Err(wrong_usage("--task requires --pairs"));
    }
    let Some(src) = &args.src else {
        return Err(wrong_usage("name a capture, or a table with --pairs"));
    };
    let is_run = src.join(RUN_RECORD).is_file() || src.join(RUNS).is_dir();
    // A directory without runs holds the parts of one capture, whose dataset needs a place.
    let is_capture = args.output.is_some() || args.dst.is_some();
    if src.is_dir() && (is_run || !is_capture) {
        return analyze_runs::run(args, src);
    }
    if args.jobs.is_some() {
        return Err(wrong_usage(
            "--jobs requires the directory of a sweep, or --pairs",
        ));
    }
    let Some(output) = &args.output else {
        return Err(wrong_usage("the dataset needs a directory: use -o DIR"));
    };
    if let Some(dst) = &args.dst {
        args.sender.require_fitting(src, dst)?;
    } else if args.symmetric {
        return Err(wrong_usage("--symmetric requires two captures"));
    } else if args.one_clock {
        return Err(wrong_usage("--one-clock requires two captures"));
    }
    let options = options(args)?;
    // Creates the directory first, to report an error before standard input is read.
    let (dir, _removed) = RemovedOnInterrupt::make(
        || DatasetDir::create_with(output, &of_this_run()),
        DatasetDir::temporary,
    )?;
    let (src, dst) = args.reading.open_both(src, args.dst.as_deref())?;
    let captures: Vec<_> = [Some(&src), dst.as_ref()].into_iter().flatten().collect();
    let passes = ANALYZE_PASSES[usize::from(dst.is_none())] - args.learned.saves(1)
        + args.reading.extra_passes(captures.len());
    let progress = Progress::watch(&captures, passes, args.quiet);
    let logs = logs(args)?;
    let inputs = AnalyzeInputs {
        logs: &logs,
        ..AnalyzeInputs::new(&src, dst.as_ref())
    };
    let manifest = analyze(inputs, &options, dir)?;
    // The progress bar must leave the terminal before other text appears.
    drop(progress);
    // The manifest keeps the warnings, so none is lost.
    if args.quiet {
        return Ok(());
    }
    for warning in &manifest.warnings {
        failure::print_line(&format!("warning: {warning}"));
    }
    output::print(&written(output, &manifest))
}

/// Copies logs in object stores to local files. The dataset names their URLs.
pub(crate) fn logs(args: &AnalyzeArgs) -> anyhow::Result<Vec<LogSource>> {
    let local = |log: &LogSource| {
        Ok(LogSource {
            path: fetched::local(&log.path)?,
            ..log.clone()
        })
    };
    args.log.iter().map(local).collect()
}

/// The list of tables in a dataset.
pub(crate) fn written_tables(output: &Path, tables: &[TableEntry]) -> String {
    let tables = tables.iter();
    let tables = tables.map(|table| (table.file.as_str(), table.rows, table.bytes));
    let mut text = tcpexp_table::dataset::written_text(tables);
    text.push('\n');
    report::line(&mut text, "dataset", &shown::path(output));
    text
}

/// The list of written tables, and the records that were skipped.
pub(crate) fn written(output: &Path, manifest: &Manifest) -> String {
    let mut text = written_tables(output, &manifest.tables);
    for capture in &manifest.captures {
        let skipped: Vec<String> = capture
            .skipped
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        if !skipped.is_empty() {
            let heading = format!("skipped at {}", capture.point);
            report::line(&mut text, &heading, &skipped.join(", "));
        }
    }
    text
}
