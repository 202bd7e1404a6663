//! `tcpexp analyze SRC [DST] -o DIR`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tcpexp::{
    ANALYZE_PASSES, AnalyzeInputs, AnalyzeOptions, DatasetDir, LogKind, LogSource, Manifest,
    analyze,
};
use tcpexp_measure::throughput::BinWidth;
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_units::TimeDelta;

use crate::args::{ReadArgs, wrong_usage};
use crate::output::{self, RemovedOnInterrupt};
use crate::progress::Progress;
use crate::sender_args::SenderArgs;
use crate::values::{parse_rate, parse_time};
use crate::{analyze_runs, failure, report, shown};

/// All that captures tell of a run, as a dataset: a directory of tables and a manifest
///
/// Of two captures, of one, of a run that `tcpexp sweep` made, or of all runs of a sweep, each in its
/// directory.
///
/// Measures what rtt, path, throughput, flows and cwnd measure, in few passes, and writes the tables
/// flows, rtt, owd, loss, throughput, sender, events, queue and logs as Parquet files, with all
/// times on the source's clock and one number for each flow. `tcpexp schema` says what is in them.
/// What a single capture does not tell are tables without rows. The directory is there when all is
/// done, and not before; a dataset that is there already is replaced.
#[derive(clap::Args)]
pub(crate) struct AnalyzeArgs {
    /// Capture at the source point, or the only one; `-` is standard input. Or the directory of a
    /// run or of a sweep
    #[arg(value_name = "SRC|DIR")]
    pub(crate) src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    /// The directory to make; for runs it is data in the directory of each
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// How many runs to analyse at the same time [default: as many as there are processors]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// What a kernel or a tool wrote down meanwhile: `tcp_probe`, tcpinfo, ss, siftr, web10g, iperf3,
    /// ping (its -D) or queue (JSON lines with `time_ns`, interface and, as qdiscs, what
    /// `tc -s -j qdisc` prints); may be given several times
    #[arg(long, value_name = "KIND=FILE", value_parser = parse_log)]
    pub(crate) log: Vec<LogSource>,

    /// A column in front of all tables, with the same value in every row, to tell runs apart; may be
    /// given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_param)]
    pub(crate) param: Vec<RunColumn>,

    /// How long a bin of throughput and of queueing delay is (us, ms, s, min)
    #[arg(long, value_name = "WIDTH", default_value = "100ms", value_parser = parse_time)]
    bin: TimeDelta,

    /// What the link carries (bit, kbit, Mbit, Gbit), for the share of it that is used
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<u64>,

    /// Wait this long for a packet at the other point before it counts as lost (ms, s, min); the
    /// longer, the more memory
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    max_owd: TimeDelta,

    /// Take the fastest packets to be equally fast both ways: the offset between the clocks is then
    /// known to their resolution, and one-way delays with it
    #[arg(long)]
    symmetric: bool,

    #[command(flatten)]
    sender: SenderArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    /// Print no list of the tables, no progress and no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    if args.src.is_dir() {
        return analyze_runs::run(args);
    }
    if args.jobs.is_some() {
        return Err(wrong_usage("--jobs is for the runs of a sweep"));
    }
    let Some(output) = &args.output else {
        return Err(wrong_usage("a dataset needs a directory: use -o DIR"));
    };
    if let Some(dst) = &args.dst {
        if args.src.as_os_str() == "-" && dst.as_os_str() == "-" {
            return Err(wrong_usage(
                "only one of the two captures can be standard input",
            ));
        }
        if args.sender.position.is_some() {
            return Err(wrong_usage(
                "two captures are taken at two places: use --position with one",
            ));
        }
    }
    let options = options(args)?;
    // First, so that what cannot be written is known before standard input is read.
    let (dir, _removed) =
        RemovedOnInterrupt::make(|| DatasetDir::create(output), DatasetDir::temporary)?;
    let src = args.reading.open(&args.src)?;
    let dst = args.dst.as_deref().map(|dst| args.reading.open(dst));
    let dst = dst.transpose()?;
    let captures: Vec<_> = [Some(&src), dst.as_ref()].into_iter().flatten().collect();
    let passes = ANALYZE_PASSES[usize::from(dst.is_none())];
    let progress = Progress::watch(&captures, passes, args.quiet);
    let inputs = AnalyzeInputs {
        logs: &args.log,
        ..AnalyzeInputs::new(&src, dst.as_ref())
    };
    let manifest = analyze(inputs, &options, dir)?;
    drop(progress);
    if args.quiet {
        return Ok(());
    }
    for warning in &manifest.warnings {
        failure::tell(&format!("warning: {warning}"));
    }
    output::print(&written(output, &manifest))
}

/// The library's options.
pub(crate) fn options(args: &AnalyzeArgs) -> anyhow::Result<AnalyzeOptions> {
    let Some(bin) = BinWidth::new(args.bin) else {
        return Err(wrong_usage("a bin must be longer than nothing"));
    };
    Ok(AnalyzeOptions {
        tunnels: args.reading.tunnels(),
        max_owd: args.max_owd,
        symmetric: args.symmetric,
        sender: args.sender.options(),
        bin,
        link_rate_bps: args.rate,
        run: RunColumns::new(args.param.clone(), DatasetTable::has_column),
        ..AnalyzeOptions::default()
    })
}

/// A log of the run: `ss=src1-ss.txt`.
fn parse_log(text: &str) -> Result<LogSource, String> {
    let named = text.split_once('=');
    let (kind, path) = named
        .and_then(|(kind, path)| Some((LogKind::named(kind)?, path)))
        .ok_or_else(|| {
            let kinds: Vec<&str> = LogKind::names().collect();
            format!(
                "\"{text}\" is no log: write it as ss=FILE; there are {}",
                kinds.join(", ")
            )
        })?;
    Ok(LogSource {
        path: path.into(),
        name: path.into(),
        kind: Some(kind),
        is_optional: false,
    })
}

/// A column of the run: `cc=cubic`, `rate_mbps=10.0`, `buffer_packets=50`, `ecn=true`.
fn parse_param(text: &str) -> Result<RunColumn, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    };
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| is_name(name))
        .ok_or_else(|| {
            format!("\"{text}\" is no column: write it as cc=cubic or rate_mbps=10.0, the name in small letters, digits and _")
        })?;
    let count = value.parse().ok().map(|count| RunValue::Count(Some(count)));
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.map(|number| RunValue::Number(Some(number)));
    let flag = value.parse().ok().map(|flag| RunValue::Flag(Some(flag)));
    let text = || RunValue::Text(Some(value.to_owned()));
    let value = count.or(number).or(flag).unwrap_or_else(text);
    Ok(RunColumn {
        name: name.to_owned(),
        description: "Given for this run by the one who analysed it.".to_owned(),
        value,
    })
}

/// What was written, for a person.
fn written(output: &Path, manifest: &Manifest) -> String {
    let tables = manifest.tables.iter();
    let tables = tables.map(|table| (table.file.as_str(), table.rows, table.bytes));
    let mut text = tcpexp_table::dataset::written_text(tables);
    text.push('\n');
    report::line(&mut text, "dataset", &shown::path(output));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_column_says_its_type() {
        let value = |text: &str| parse_param(text).map(|column| column.value);
        assert_eq!(value("n=50"), Ok(RunValue::Count(Some(50))));
        assert_eq!(value("n=50.0"), Ok(RunValue::Number(Some(50.0))));
        assert_eq!(value("n=true"), Ok(RunValue::Flag(Some(true))));
        let text = |text: &str| Ok(RunValue::Text(Some(text.to_owned())));
        assert_eq!(value("cc=cubic"), text("cubic"));
        assert_eq!(value("path=a=b"), text("a=b"));
        assert_eq!(value("path=nan"), text("nan"));
        for wrong in ["cc", "=cubic", "CC=cubic", "a b=1", "1st=2"] {
            assert!(parse_param(wrong).is_err(), "{wrong}");
        }
    }
}
