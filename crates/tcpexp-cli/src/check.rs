//! `tcpexp check DIR`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use tcpexp_metrics::compare::Verdict;
use tcpexp_runs::compare::{Comparison, Expected};
use tcpexp_sweep::plan::Plan;
use tcpexp_table::FLOW_TABLE_WIDTH;
use tcpexp_table::compare::{ExpectedRow, expected_columns, expected_text};
use tcpexp_units::counted;

use crate::caller::caller;
use crate::measure_args::MeasureArgs;
use crate::output::Output;
use crate::planned::{PLAN, missing, planned_runs};
use crate::shared_args::{OutputArgs, StoreArgs, wrong_usage};
use crate::sheet::Sheet;
use crate::{fetched, report};

/// Check the results of a sweep against expectations
///
/// The expectations come from the `[[expect]]` tables of the sweep's plan, or from --expect. Each
/// names a measure of tcpexp compare, a relation (<, <=, > or >=) and a bound. A bound is a number in
/// the unit of the measure, or a share of the value of the same cell in an earlier sweep:
/// `goodput_bps >= 0.95 * baseline`. The value that is checked is the median over the cell's runs.
///
/// The exit code is 1 if a value does not meet its expectation or is unknown. The value of a planned cell without
/// a run is unknown.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp check results\n\
\x20 tcpexp check results --expect 'rtt_p95_ms < 80' --expect 'jain > 0.9'\n\
\x20 tcpexp check results --expect 'goodput_bps >= 0.95 * baseline' --baseline before\n\
\x20 tcpexp check results --junit verdicts.xml")]
pub(crate) struct CheckArgs {
    /// Directory of the sweep, or a folder of datasets
    dir: PathBuf,

    /// Check this expectation instead of those of the plan, for all traffic in all cells
    /// (repeatable)
    #[arg(long, value_name = "EXPECTATION", value_parser = parse_expected)]
    expect: Vec<Expected>,

    /// Earlier sweep whose values are the baseline
    ///
    /// The baseline of a cell is the cell of the earlier sweep with the same values of all parameters
    /// that both sweeps have or that either sweep varies.
    #[arg(long = "baseline", value_name = "DIR")]
    baseline_dir: Option<PathBuf>,

    #[command(flatten)]
    measures: MeasureArgs,

    /// Write the verdicts as XML, in the format of `JUnit`
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let dir = fetched::local(&args.dir)?;
    let expected = match args.expect.as_slice() {
        [] => of_plan(&dir)?,
        given => given.to_vec(),
    };
    let options = args.measures.options(Vec::new());
    let comparison =
        Comparison::of(&dir, &options)?.with_planned(&planned_runs(&dir), &options.only);
    let baseline = args.baseline_dir.as_deref();
    let baseline = baseline
        .map(|dir| anyhow::Ok(Comparison::of(&fetched::local(dir)?, &options)?))
        .transpose()?;
    let rows = comparison.check(&expected, baseline.as_ref())?;
    let mut sheet = Sheet::create(&args.output, expected_columns(&comparison.parameters()))?;
    let junit = args.junit.as_deref();
    let junit = junit.map(|path| written(path, &rows)).transpose()?;
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let [met, not_met, unknown] = [Verdict::Met, Verdict::NotMet, Verdict::Unknown].map(count);
    let mut text = expected_text(&rows, FLOW_TABLE_WIDTH);
    if !args.output.quiet {
        text.push('\n');
        let counts = format!("{met} met, {not_met} not met, {unknown} unknown");
        report::line(&mut text, "verdicts", &counts);
        for unlike in &comparison.unlike {
            report::line(&mut text, &counted(unlike.cells, "cell"), &unlike.what);
        }
        if let Some(runs) = missing(&comparison.not_run) {
            report::line(&mut text, "runs", &runs);
        }
    }
    sheet.add(rows)?;
    sheet.finish(&text, junit)?;
    match (not_met, unknown) {
        (0, 0) => Ok(()),
        // A program takes the verdicts from the rows.
        _ if caller().is_some() => Ok(()),
        (0, _) => bail!(
            "the verdict on {unknown} of {} is unknown",
            counted(met + unknown, "result")
        ),
        _ => bail!(
            "the check of {not_met} of {} failed",
            counted(met + not_met + unknown, "result")
        ),
    }
}

/// The expectations of the sweep's plan.
fn of_plan(dir: &Path) -> anyhow::Result<Vec<Expected>> {
    let path = dir.join(PLAN);
    if !path.exists() {
        return Err(wrong_usage(&format!(
            "{} has no {PLAN} with expectations: use --expect",
            fetched::as_given(dir).display()
        )));
    }
    let plan = Plan::read(&path)?;
    if plan.expected.is_empty() {
        return Err(wrong_usage(&format!(
            "{} has no [[expect]]: use --expect",
            fetched::as_given(&path).display()
        )));
    }
    Ok(plan.expected)
}

fn parse_expected(text: &str) -> Result<Expected, String> {
    Expected::parse(text).map_err(|error| error.to_string())
}

/// Writes a test suite with one test case per row. The file gets its final name when it is finished.
fn written(path: &Path, rows: &[ExpectedRow]) -> anyhow::Result<Output> {
    let mut output = Output::create(Some(path))?;
    let mut report = Report::new("tcpexp check");
    let mut suite = TestSuite::new("expectations");
    suite.add_test_cases(rows.iter().map(case));
    report.add_test_suite(suite);
    report
        .serialize(&mut output)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(output)
}

fn case(row: &ExpectedRow) -> TestCase {
    let status = match row.verdict() {
        Verdict::Met => TestCaseStatus::success(),
        Verdict::NotMet => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let mut status = status;
    if row.verdict() != Verdict::Met {
        status.set_message(row.found());
    }
    let name = format!("{} ({})", row.expectation, row.class_name());
    let mut case = TestCase::new(name, status);
    case.set_classname(row.cell_name());
    case
}
