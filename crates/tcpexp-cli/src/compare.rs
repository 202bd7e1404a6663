//! `tcpexp compare DIR`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use tcpexp_metrics::compare::Measure;
use tcpexp_runs::compare::{CELL_HASH, ComparedRun, Comparison, Gap};
use tcpexp_table::FLOW_TABLE_WIDTH;
use tcpexp_table::compare::{CompareText, compare_columns, compare_run_columns, compare_text};
use tcpexp_units::{TimeDelta, counted};

use crate::measure_args::MeasureArgs;
use crate::planned::{missing, planned_runs};
use crate::shared_args::{OutputArgs, StoreArgs};
use crate::sheet::Sheet;
use crate::side_table::SideTable;
use crate::{fetched, report};

/// Compare the cells of a sweep, or datasets of your own captures
///
/// Reduces each run to one number per quantity (goodput, utilisation, round-trip times, losses,
/// fairness, convergence, completion times and others) and prints one row per cell and traffic class:
/// medians over the runs, and 95 % bootstrap intervals of the median. Invalid and failed runs are
/// listed but excluded from all numbers. A file contains all columns; the text table shows some of
/// them. `tcpexp schema command:compare` defines the columns.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp compare results --warmup 5s\n\
\x20 tcpexp compare results --baseline cc=reno -o cells.csv --runs runs.csv")]
pub(crate) struct CompareArgs {
    /// Directory of the sweep, or a folder of datasets
    ///
    /// Datasets with the same parameters (`tcpexp analyze --param`) are the runs of one cell. Their only
    /// traffic class is "load": the flows with at least 1 % of the payload, in its direction.
    dir: PathBuf,

    #[command(flatten)]
    measures: MeasureArgs,

    /// Compute friendliness and harm against the cell with these values, such as cc=reno
    ///
    /// The baseline of a cell is the cell that has these values and agrees with it in all other
    /// parameters.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parse_setting)]
    baseline: Vec<(String, String)>,

    /// Sort the lines of the table by a number, largest first [default: in order of the parameters]
    #[arg(long, value_name = "COLUMN", value_parser = parse_measure)]
    sort: Option<Measure>,

    /// Show at most this many lines of the table
    #[arg(long, visible_alias = "limit", value_name = "N")]
    top: Option<NonZeroUsize>,

    /// Write a table with one row per run and traffic class, including excluded runs
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let options = args.measures.options(args.baseline.clone());
    let dir = fetched::local(&args.dir)?;
    let comparison =
        Comparison::of(&dir, &options)?.with_planned(&planned_runs(&dir), &options.only);
    let parameters = comparison.parameters();
    let mut sheet = Sheet::create(&args.output, compare_columns(&parameters))?;
    let side = args.runs.as_deref().map(|path| {
        let mut table = SideTable::create(path, compare_run_columns(&parameters))?;
        table.add(comparison.run_rows())?;
        table.complete()
    });
    let side = side.transpose()?;
    let rows = comparison.rows();
    let mut text = compare_text(&rows, shown(args));
    if !args.output.quiet {
        text += &remarks(args, &comparison);
    }
    sheet.add(rows)?;
    sheet.finish(&text, side)
}

fn shown(args: &CompareArgs) -> CompareText {
    CompareText {
        width: FLOW_TABLE_WIDTH,
        has_baseline: !args.baseline.is_empty(),
        order: args.sort,
        most: args.top.map_or(usize::MAX, NonZeroUsize::get),
    }
}

/// Returns the remarks under the table.
fn remarks(args: &CompareArgs, comparison: &Comparison) -> String {
    let mut text = "\n".to_owned();
    let warmup = match args.measures.warmup {
        TimeDelta::ZERO => "from the start of traffic".to_owned(),
        warmup => format!("without the first {}", report::short(warmup)),
    };
    report::line(
        &mut text,
        "numbers",
        &format!("medians over runs, {warmup}"),
    );
    for gap in Gap::ALL {
        let with_it = |run: &&ComparedRun| run.gaps.contains(&gap);
        match comparison.runs.iter().filter(with_it).count() {
            0 => {}
            runs => report::line(&mut text, &counted(runs, "run"), gap.reason()),
        }
    }
    if has_equal_cells(comparison) {
        let what =
            "cells with equal parameters differ in other settings of their plans: see cell_hash";
        report::line(&mut text, "cells", what);
    }
    if comparison.kernels > 0 {
        let cells = counted(comparison.kernels, "cell");
        let what = "the runs have different kernels (kernels in run.json)";
        report::line(&mut text, &cells, what);
    }
    for unlike in &comparison.unlike {
        report::line(&mut text, &counted(unlike.cells, "cell"), &unlike.what);
    }
    // Planned runs that have not ended include those that were cut short.
    if let Some(runs) = missing(&comparison.not_run) {
        report::line(&mut text, "runs", &runs);
    } else if !comparison.unfinished.is_empty() {
        let runs = comparison.unfinished.len();
        let what = format!("{runs} without run.json: unfinished");
        report::line(&mut text, "runs", &what);
    }
    if !args.baseline.is_empty() {
        let settings = args.baseline.iter();
        let settings = settings.map(|(name, value)| format!("{name}={value}"));
        let mut what: Vec<String> = settings.collect();
        let without = comparison.baselines.iter().filter(|base| base.is_none());
        let why = match comparison.without_baseline.as_slice() {
            [] => "several cells qualify".to_owned(),
            apart => format!("no cell of the baseline has the same {}", apart.join(", ")),
        };
        match without.count() {
            0 => {}
            1 => what.push(format!("(1 cell has none: {why})")),
            without => what.push(format!("({without} cells have none: {why})")),
        }
        report::line(&mut text, "baseline", &what.join(" "));
    }
    text
}

/// True if the hash is needed to distinguish cells.
fn has_equal_cells(comparison: &Comparison) -> bool {
    let parameters = comparison.parameters();
    let mut columns = parameters.columns().iter();
    columns.any(|column| column.name == CELL_HASH)
}

/// Parses the name of a column, which may lack its unit.
fn parse_measure(text: &str) -> Result<Measure, String> {
    Measure::named(text).ok_or_else(|| {
        let names = Measure::ALL.map(Measure::stem);
        format!("expected one of {}", names.join(", "))
    })
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected NAME=VALUE, such as cc=reno")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
