//! `tcpexp compare DIR`.

use std::path::PathBuf;

use tcpexp_metrics::compare::Options;
use tcpexp_metrics::repetition::Bootstrap;
use tcpexp_runs::compare::{CompareOptions, Comparison, Counts};
use tcpexp_table::FLOW_TABLE_WIDTH;
use tcpexp_table::compare::{CompareText, compare_columns, compare_run_columns, compare_text};
use tcpexp_units::TimeDelta;

use crate::args::OutputArgs;
use crate::report;
use crate::sheet::Sheet;
use crate::side_table::SideTable;
use crate::values::parse_time;

/// The runs of a sweep, a row for each cell of its grid and class of traffic
///
/// Each run is made one number of each kind: goodput, utilisation, round-trip times, losses,
/// fairness, convergence, completion times and more; `tcpexp schema command:compare` says what each one is.
/// The rows have medians over the runs of a cell, and intervals in which 95 % of medians lie that
/// are drawn from these runs (bootstrap). Runs that are invalid or failed are listed and are in no
/// number. The table on a terminal has the most important columns, a file has all.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Directory of a sweep: runs/*/run.json, and a dataset in runs/*/data
    dir: PathBuf,

    /// Leave out this much of the beginning of each run, from the start of its traffic (ms, s, min)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_warmup)]
    warmup: TimeDelta,

    /// Hold each cell against the one that has these values and is else like it, for friendliness
    /// and harm: cc=reno
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parse_setting)]
    baseline: Vec<(String, String)>,

    /// The window of shares and rates over time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    window: TimeDelta,

    /// Flows share when each is within this part of an equal share, and a rate follows when it is
    /// within it of the capacity
    #[arg(long, value_name = "PART", default_value_t = 0.1, value_parser = parse_part)]
    delta: f64,

    /// How long that must hold
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    hold: TimeDelta,

    /// What the bottleneck counts against its rate
    #[arg(long, value_name = "WHAT", default_value = "frames")]
    counts: CountsArg,

    /// Where the draws of the intervals start
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Write a table of runs too: the numbers of each run by itself, its status, and the reason if
    /// it does not count
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CountsArg {
    /// Ethernet frames without preamble, checksum and gap, as Linux does
    Frames,
    /// IP packets, as dummynet on FreeBSD does
    Packets,
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let options = CompareOptions {
        measure: Options {
            warmup: args.warmup,
            window: args.window,
            delta: args.delta,
            hold: args.hold,
        },
        bootstrap: Bootstrap {
            seed: args.seed,
            ..Bootstrap::default()
        },
        baseline: args.baseline.clone(),
        counts: match args.counts {
            CountsArg::Frames => Counts::Frames,
            CountsArg::Packets => Counts::Packets,
        },
    };
    let comparison = Comparison::of(&args.dir, &options)?;
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
    sheet.finish(&text)?;
    side.map_or(Ok(()), crate::output::Output::finish)
}

fn shown(args: &CompareArgs) -> CompareText {
    CompareText {
        width: FLOW_TABLE_WIDTH,
        has_baseline: !args.baseline.is_empty(),
    }
}

/// What stands under the table: what the numbers are of.
fn remarks(args: &CompareArgs, comparison: &Comparison) -> String {
    let mut text = "\n".to_owned();
    let warmup = match args.warmup {
        TimeDelta::ZERO => "from the start of traffic on".to_owned(),
        warmup => format!("without the first {}", report::short(warmup)),
    };
    report::line(
        &mut text,
        "numbers",
        &format!("medians over runs, {warmup}"),
    );
    if !comparison.unfinished.is_empty() {
        let runs = comparison.unfinished.len();
        let what = format!("{runs} without a run.json: not over, or stopped midway");
        report::line(&mut text, "runs", &what);
    }
    if !args.baseline.is_empty() {
        let settings = args.baseline.iter();
        let settings = settings.map(|(name, value)| format!("{name}={value}"));
        let mut what: Vec<String> = settings.collect();
        let without = comparison.baselines.iter().filter(|base| base.is_none());
        match without.count() {
            0 => {}
            1 => what.push("(1 cell has none)".to_owned()),
            without => what.push(format!("({without} cells have none)")),
        }
        report::line(&mut text, "baseline", &what.join(" "));
    }
    text
}

/// A time that may be nothing.
fn parse_warmup(text: &str) -> Result<TimeDelta, String> {
    if text
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .trim()
        == "0"
    {
        return Ok(TimeDelta::ZERO);
    }
    parse_time(text)
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write it as NAME=VALUE: cc=reno")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_part(text: &str) -> Result<f64, String> {
    let part: Option<f64> = text.parse().ok();
    part.filter(|part| *part > 0.0 && *part < 1.0)
        .ok_or_else(|| format!("\"{text}\" is no part: write it as 0.1"))
}
