//! Arguments of `tcpexp analyze`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use tcpexp::{AnalyzeOptions, LogKind, LogSource};
use tcpexp_measure::throughput::BinWidth;
use tcpexp_store::shown_url;
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_units::TimeDelta;

use crate::allocator;
use crate::sender_args::SenderArgs;
use crate::shared_args::{PartArgs, ReadArgs, wrong_usage};
use crate::survey::LearnedArgs;
use crate::task_args::TaskArgs;
use crate::values::{clocks, parse_directory, parse_rate, parse_time};

/// Write all measurements of a run as a directory of Parquet tables
///
/// The input is one capture, two captures, a run of `tcpexp sweep`, a sweep with all its runs, a
/// folder of datasets, or many pairs of captures.
/// tcpexp makes the measurements of rtt, path, throughput, flows and cwnd in a few passes and writes
/// the tables flows, rtt, owd, loss, throughput, sender, events, queue, logs and readings, with a
/// manifest. All times are on the source's clock, and a flow has the same number in all tables. With one capture,
/// the tables that need two captures have no rows. `tcpexp schema` defines the columns. An existing
/// dataset is replaced when the new one is complete.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp analyze src.pcap dst.pcap -o run1\n\
\x20 tcpexp analyze src.pcap dst.pcap -o run1 --param cc=cubic --log ss=ss.txt\n\
\x20 tcpexp analyze results\n\
\x20 tcpexp analyze --pairs pairs.parquet --task 3/10 -o parts")]
pub(crate) struct AnalyzeArgs {
    /// Capture at the source point, or the only capture (`-` is standard input); or the directory of
    /// a run, a sweep, a dataset or datasets
    ///
    /// If you name datasets, tcpexp analyses their captures again and replaces each dataset. Use this
    /// after an update of tcpexp, or with other options. A dataset keeps its parameters and logs. It also
    /// keeps --filter, --from, --to, --inner, --symmetric, --one-clock and --rate unless you give new ones. A
    /// parameter whose values have several types becomes text in all datasets.
    #[arg(value_name = "SRC|DIR", required_unless_present = "pairs")]
    pub(crate) src: Option<PathBuf>,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    /// Directory of the dataset [default for a run: data, in the directory of the run]
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) task: TaskArgs,

    /// Number of runs or pairs to analyse in parallel [default: number of processors]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Add the log of a kernel or a tool; may be given several times
    ///
    /// KIND is `tcp_probe`, tcpinfo, ss, siftr, web10g, iperf3, ping (with -D), queue (JSON lines
    /// with `time_ns`, interface and qdiscs, which is the output of `tc -s -j qdisc`) or columns (of a
    /// sweep's `[[log]]`).
    #[arg(long, value_name = "KIND=FILE", value_parser = parse_log)]
    pub(crate) log: Vec<LogSource>,

    /// Add a column with this value to all tables; may be given several times
    ///
    /// A number becomes a floating-point number, true or false becomes a flag, and any other value
    /// becomes text. Text in double quotes stays text: 5.10 becomes the number 5.1, and "5.10" does not
    /// (in a shell: --param 'kernel="5.10"').
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_param)]
    pub(crate) param: Vec<RunColumn>,

    /// Width of a bin of throughput and queueing delay (us, ms, s, min)
    #[arg(long, value_name = "WIDTH", default_value = "100ms", value_parser = parse_time)]
    bin: TimeDelta,

    /// Rate of the link (bit, kbit, Mbit, Gbit), to compute its utilisation
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<u64>,

    /// Longest one-way delay that packets may have (ms, s, min)
    ///
    /// A packet that takes longer is not recognised at the other point. Its fate is then not known, and
    /// a capture seems to miss packets. Memory use grows with this time.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    max_owd: TimeDelta,

    /// Assume equal minimum delays in both directions, to compute the clock offset and the one-way
    /// delays to the resolution of the clocks
    #[arg(long)]
    pub(crate) symmetric: bool,

    /// Both captures have the times of one clock, such as those of two interfaces of a host
    ///
    /// One-way delays are then exact to the resolution of the clock, and tcpexp estimates no offset,
    /// skew or step of a clock.
    #[arg(long, conflicts_with = "symmetric")]
    pub(crate) one_clock: bool,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    /// Print no list of tables, no progress and no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) learned: LearnedArgs,
}

/// The library's options.
pub(crate) fn options(args: &AnalyzeArgs) -> anyhow::Result<AnalyzeOptions> {
    let Some(bin) = BinWidth::new(args.bin) else {
        return Err(wrong_usage("the width of a bin must be greater than 0"));
    };
    Ok(AnalyzeOptions {
        tunnels: args.reading.tunnels(),
        selection: args.reading.selection(),
        max_owd: args.max_owd,
        symmetric: args.symmetric,
        clocks: clocks(args.one_clock),
        sender: args.sender.options(),
        bin,
        link_rate_bps: args.rate,
        shard: args.part.shard,
        survey: args.learned.read()?,
        stores: args.reading.stores(),
        run: parameters(&args.param)?,
        after_pass: allocator::return_free_memory,
        ..AnalyzeOptions::default()
    })
}

/// The columns of `--param`, each name once.
fn parameters(params: &[RunColumn]) -> anyhow::Result<RunColumns> {
    for (place, param) in params.iter().enumerate() {
        if params[..place].iter().any(|other| other.name == param.name) {
            return Err(wrong_usage(&format!(
                "--param {} is given twice",
                param.name
            )));
        }
    }
    Ok(RunColumns::new(params.to_vec(), DatasetTable::has_column))
}

/// A log of the run: `ss=src1-ss.txt`.
fn parse_log(text: &str) -> Result<LogSource, String> {
    let named = text.split_once('=');
    let (kind, path) = named
        .and_then(|(kind, path)| Some((LogKind::named(kind)?, path)))
        .ok_or_else(|| {
            let kinds: Vec<&str> = LogKind::names().collect();
            format!(
                "expected KIND=FILE, such as ss=FILE, with one of the kinds {}",
                kinds.join(", ")
            )
        })?;
    Ok(LogSource {
        path: path.into(),
        // The dataset keeps it.
        name: shown_url(path.as_ref()).into(),
        kind: Some(kind),
        is_optional: false,
    })
}

/// The whole numbers up to this one are exact in a double: 2^53.
const MAX_EXACT: u128 = 1 << 53;

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
            "expected NAME=VALUE, such as cc=cubic; NAME has lower-case letters, digits and _"
                .to_owned()
        })?;
    // Text in quotes is text, also if it reads as a number: versions such as `"5.10"`.
    if let Some(text) = value
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    {
        return Ok(run_column(name, RunValue::Text(Some(text.to_owned()))));
    }
    // All numbers have one type, because the datasets of a folder are read as one table: `10` in one
    // dataset and `2.5` in the next must fit into one column. `parse` accepts `inf` and `NaN`, which
    // no table contains, so these two stay text. A number that a double cannot hold exactly also
    // stays text.
    let number = value.parse().ok().filter(|number: &f64| number.is_finite());
    let is_exact = |_: &f64| {
        let whole: Option<i128> = value.parse().ok();
        whole.is_none_or(|whole| whole.unsigned_abs() <= MAX_EXACT)
    };
    let number = number.filter(is_exact);
    let number = number.map(|number| RunValue::Number(Some(number)));
    let flag = value.parse().ok().map(|flag| RunValue::Flag(Some(flag)));
    let text = || RunValue::Text(Some(value.to_owned()));
    Ok(run_column(name, number.or(flag).unwrap_or_else(text)))
}

fn run_column(name: &str, value: RunValue) -> RunColumn {
    RunColumn {
        name: name.to_owned(),
        description: "Parameter given with --param.".to_owned(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_a_parameter_determines_the_type_of_its_column() {
        let value = |text: &str| parse_param(text).map(|column| column.value);
        assert_eq!(value("n=50"), Ok(RunValue::Number(Some(50.0))));
        assert_eq!(value("n=50.0"), Ok(RunValue::Number(Some(50.0))));
        assert_eq!(value("n=true"), Ok(RunValue::Flag(Some(true))));
        let text = |text: &str| Ok(RunValue::Text(Some(text.to_owned())));
        assert_eq!(value("cc=cubic"), text("cubic"));
        assert_eq!(value(r#"v="5.10""#), text("5.10"));
        assert_eq!(value(r#"v="true""#), text("true"));
        assert_eq!(value(r#"v="a"b""#), text(r#"a"b"#));
        assert_eq!(value("v=\""), text("\""));
        assert_eq!(value("path=a=b"), text("a=b"));
        assert_eq!(value("path=nan"), text("nan"));
        assert_eq!(value("seed=9007199254740993"), text("9007199254740993"));
        for wrong in ["cc", "=cubic", "CC=cubic", "a b=1", "1st=2"] {
            assert!(parse_param(wrong).is_err(), "{wrong}");
        }
    }
}
