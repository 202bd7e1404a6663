//! `tcpexp analyze --pairs FILE -o DIR`.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tcpexp::{
    AnalyzeOptions, CapturePair, DatasetDir, KnownPart, PairTask, StoreOption, TaskOutcome,
    pairs_of,
};
use tcpexp_store::as_url;
use tcpexp_table::PairName;
use tcpexp_units::counted;

use crate::analyze_args::{self, AnalyzeArgs};
use crate::caller::{PairEnd, PairOutcome, caller};
use crate::output;
use crate::progress::Progress;
use crate::task_args::Task;
use crate::temporary::RemovedOnInterrupt;
use crate::{failure, fetched, jobs, report, shown, store_options};

pub(crate) fn run(args: &AnalyzeArgs, table: &Path, folder: &Path) -> anyhow::Result<()> {
    let options = analyze_args::options(args)?;
    let pairs = wanted(table, args.task.task)?;
    if as_url(folder).is_none() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot write {}", folder.display()))?;
    }
    let progress = Progress::count(pairs.iter().map(bytes).sum(), args.quiet);
    let done = jobs::each_of(&pairs, args.jobs, |pair| {
        let done = one_pair(pair, args, &options, folder);
        progress.advance(bytes(pair));
        done
    })?;
    // The progress bar must leave the terminal before other text appears.
    drop(progress);
    let [
        mut analysed,
        mut known,
        mut failed,
        mut failed_before,
        mut unwritten,
    ] = [0; 5];
    let mut first_problem = None;
    for (pair, done) in pairs.iter().zip(done) {
        let name = &pair.pair.name;
        if let (Some(caller), Ok(done)) = (caller(), &done) {
            caller.end_pair(done.outcome(&pair.pair));
        }
        match done.map(|done| (done.outcome, done.known)) {
            Ok((None, Some(KnownPart::Failure))) => failed_before += 1,
            Ok((None, _)) => known += 1,
            Ok((Some(TaskOutcome::Analyzed(manifest)), _)) => {
                analysed += 1;
                for warning in manifest.warnings.iter().filter(|_| !args.quiet) {
                    failure::print_line(&format!("warning: {name}: {warning}"));
                }
            }
            // The reason is in a file. `merge` makes a table from these files.
            Ok((Some(TaskOutcome::Failed(error)), _)) => {
                failed += 1;
                if !args.quiet {
                    failure::print_line(&format!("{name}: {}", failure::chain(&error.into())));
                }
            }
            Err(error) => {
                unwritten += 1;
                let problem = error.context(name.to_string());
                failure::print_line(&failure::chain(&problem));
                first_problem.get_or_insert(problem);
            }
        }
    }
    if !args.quiet {
        let mut text = String::new();
        report::line(&mut text, "datasets", &shown::path(folder));
        let mut known = format!("{analysed} analysed, {known} already there, {failed} failed");
        // These pairs are not tried again, and no other line names them.
        if failed_before > 0 {
            known = format!("{known}, {failed_before} failed earlier");
        }
        report::line(&mut text, "pairs", &known);
        output::print_last(&text)?;
    }
    // A program that calls the command gets the error only, without the lines above.
    if let Some(problem) = first_problem {
        let pairs = counted(pairs.len(), "pair");
        return Err(problem.context(format!("the analysis of {unwritten} of {pairs} failed")));
    }
    Ok(())
}

/// The pairs of the task.
fn wanted(table: &Path, task: Option<Task>) -> anyhow::Result<Vec<CapturePair>> {
    let mut pairs = read(table)?;
    match task {
        None => {}
        Some(Task::One(number)) => {
            pairs.retain(|pair| pair.pair.number == number);
            if pairs.is_empty() {
                bail!("{} has no pair {number}", table.display());
            }
        }
        Some(Task::Share { number, count }) => {
            pairs = pairs.into_iter().skip(number - 1).step_by(count).collect();
        }
    }
    Ok(pairs)
}

fn bytes(pair: &CapturePair) -> u64 {
    pair.bytes.iter().sum()
}

/// All pairs of a table of `tcpexp pairs`, in the order of their numbers. `stores` are the options of
/// object stores, if the table is a URL.
///
/// # Errors
///
/// Fails if the table cannot be read, or has no pairs.
pub fn read_pairs(
    table: &Path,
    stores: impl IntoIterator<Item = StoreOption>,
) -> anyhow::Result<Vec<CapturePair>> {
    store_options::set_to(stores);
    let _copies = fetched::OfThisRun;
    read(table)
}

fn read(table: &Path) -> anyhow::Result<Vec<CapturePair>> {
    let rows = rows(table)?;
    let pairs = pairs_of(&rows).with_context(|| format!("cannot use {}", shown::path(table)))?;
    if pairs.is_empty() {
        bail!("{} has no pairs", shown::path(table));
    }
    Ok(pairs)
}

/// The rows of a table of pairs.
pub(crate) fn rows(table: &Path) -> anyhow::Result<Vec<tcpexp_table::PairFileRow>> {
    let local = fetched::local(table)?;
    let file = File::open(local).with_context(|| format!("cannot open {}", shown::path(table)))?;
    tcpexp_table::read_pairs(file).with_context(|| format!("cannot read {}", shown::path(table)))
}

/// The part of a pair.
struct Done {
    /// `None` if it existed.
    outcome: Option<TaskOutcome>,
    /// What existed.
    known: Option<KnownPart>,
    part: PathBuf,
}

impl Done {
    fn outcome(&self, pair: &PairName) -> PairOutcome {
        let (end, records) = match &self.outcome {
            None => (PairEnd::Known, 0),
            Some(TaskOutcome::Failed(_)) => (PairEnd::Failed, 0),
            Some(TaskOutcome::Analyzed(manifest)) => {
                let records = manifest.captures.iter().map(|capture| capture.records);
                (PairEnd::Analyzed, records.sum())
            }
        };
        PairOutcome {
            number: pair.number,
            name: pair.name.to_string(),
            part: self.part.clone(),
            end,
            records,
        }
    }
}

/// Analyses one pair, unless this has been done before.
fn one_pair(
    pair: &CapturePair,
    args: &AnalyzeArgs,
    options: &AnalyzeOptions,
    folder: &Path,
) -> anyhow::Result<Done> {
    let task = PairTask::new(pair.clone(), options, args.reading.max_flows, folder)?;
    let known = task.known()?;
    let outcome = if known.is_some() {
        None
    } else {
        let (dir, _removed) =
            RemovedOnInterrupt::make(|| task.dataset_dir(), DatasetDir::temporary)?;
        Some(task.run(|recording| args.reading.prepared(recording), dir)?)
    };
    let has_failed =
        known == Some(KnownPart::Failure) || matches!(outcome, Some(TaskOutcome::Failed(_)));
    let part = if has_failed {
        task.failed_path()
    } else {
        task.path().to_owned()
    };
    Ok(Done {
        outcome,
        known,
        part,
    })
}
