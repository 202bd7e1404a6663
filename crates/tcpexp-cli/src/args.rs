//! What can be typed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use tcpexp::Recording;
use tcpexp_flow::FlowId;
use tcpexp_units::TimeDelta;
use tcpexp_wire::Tunnels;

use crate::analyze::AnalyzeArgs;
use crate::compare::CompareArgs;
use crate::lab::LabArgs;
use crate::netem::NetemArgs;
use crate::page::ReportArgs;
use crate::path::PathArgs;
use crate::picture::Picture;
use crate::plot::PlotArgs;
use crate::schema::SchemaArgs;
use crate::sender_args::{CwndArgs, ImportArgs, ScoreArgs};
use crate::sweep::SweepArgs;
use crate::throughput::ThroughputArgs;
use crate::values::parse_time;

/// Runs TCP experiments and reads them back from packets.
#[derive(Parser)]
#[command(name = "tcpexp", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Rtt(RttArgs),
    Path(PathArgs),
    Flows(FlowsArgs),
    Throughput(ThroughputArgs),
    Info(InfoArgs),
    Cwnd(CwndArgs),
    Import(ImportArgs),
    Score(ScoreArgs),
    Lab(LabArgs),
    Plot(Box<PlotArgs>),
    Netem(NetemArgs),
    Analyze(AnalyzeArgs),
    Schema(SchemaArgs),
    Sweep(SweepArgs),
    Compare(CompareArgs),
    Report(ReportArgs),
    /// Print the completion script of a shell
    ///
    /// For bash: tcpexp completions bash > ~/.local/share/bash-completion/completions/tcpexp
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of tcpexp or of one of its commands
    ///
    /// To read it: tcpexp man rtt | man -l -
    Man {
        /// Which command
        command: Option<String>,
    },
}

/// Round-trip times between two captures of the same traffic, or from one
///
/// With two captures, finds the packets that passed both measurement points. Each packet that went
/// out and the first one back after it make a pair; the time that passed at the far point in
/// between is taken out, so what remains is the path's: RTT = time between the two at one point -
/// time between the two at the other. Each difference is read on one clock, so the clocks need not
/// agree. Works on any TCP or UDP traffic, both directions, for every flow.
///
/// With one capture, takes the time from a TCP segment to its ACK and from a timestamp to its echo:
/// the round trip between the capture and either end, what the end takes to answer included.
#[derive(clap::Args)]
pub(crate) struct RttArgs {
    /// Capture at the source point, or the only one; `-` is standard input
    pub(crate) src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    /// With one capture: print each round-trip time as soon as it is known
    #[arg(long, conflicts_with_all = ["dst", "output", "format", "plot", "flows", "compat", "limit"])]
    pub(crate) live: bool,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Draw RTT against time and its distribution
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    /// Write a table of flows: quantiles of the RTT, and packets seen, matched, ambiguous, lost and
    /// outside the other capture, per direction
    #[arg(long, value_name = "FILE", requires = "dst")]
    pub(crate) flows: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    /// Wait this long for a packet at the other point before it counts as lost (ms, s, min); the
    /// longer, the more memory
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(crate) max_owd: TimeDelta,

    /// Take the fastest packets to be equally fast both ways: the offset between the clocks is then
    /// known to their resolution, and one-way delays with it
    #[arg(long, requires = "dst", conflicts_with = "compat")]
    pub(crate) symmetric: bool,

    /// Pair packets exactly as another tool does; the output is that tool's
    #[arg(long, value_name = "TOOL", requires = "dst")]
    #[arg(conflicts_with_all = ["flow", "flows", "plot", "limit", "inner", "max_owd"])]
    pub(crate) compat: Option<Compat>,

    /// With --compat: header fields that identify a packet, as that tool's option -# takes them
    #[arg(long, value_name = "MASK", requires = "compat", default_value_t = 63)]
    pub(crate) mask: u32,

    /// With --compat: the host on the source's side (its option -a)
    #[arg(long, value_name = "IPV4", requires = "compat", requires = "dst_host")]
    pub(crate) src_host: Option<Ipv4Addr>,

    /// With --compat: the host on the destination's side (its option -A)
    #[arg(long, value_name = "IPV4", requires = "compat", requires = "src_host")]
    pub(crate) dst_host: Option<Ipv4Addr>,
}

/// Every connection of a capture: sizes, rates, retransmissions, reordering, round-trip times
///
/// One row per connection and direction. What comes behind its place in the stream was sent again or
/// was overtaken on the path: the sender's own counters tell which, where they can, and where the
/// capture was taken. Round-trip times are those from the capture to the receiver and back.
#[derive(clap::Args)]
pub(crate) struct FlowsArgs {
    /// Capture files; `-` is standard input
    #[arg(required = true)]
    pub(crate) captures: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Which flows.
#[derive(clap::Args)]
pub(crate) struct SelectArgs {
    /// Only this flow: its number in the table, or a part of "address:port > address:port"; may
    /// be given several times
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Vec<String>,

    /// Flows in the table at the most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// How a capture is read.
#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// Measure the packets inside IP-in-IP, GRE and VXLAN tunnels
    #[arg(long)]
    pub(crate) inner: bool,

    /// Read the capture as a stream, safe if another program cuts it short meanwhile; slower
    #[arg(long)]
    pub(crate) no_mmap: bool,
}

/// What is in a capture: packets, time span, link types, drops, and what was skipped and why
#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// Capture files; `-` is standard input
    #[arg(required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// Look at the packets inside IP-in-IP, GRE and VXLAN tunnels
    #[arg(long)]
    pub(crate) inner: bool,

    /// As text for people or as one JSON object a line
    #[arg(long, default_value = "table")]
    pub(crate) format: InfoFormat,
}

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Write the rows to a file; its ending says the format
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the output [default: by the ending of FILE, table without one]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Print no table beside a file, no progress and no remarks
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A summary per flow, for people
    Table,
    /// One JSON object per row and line
    Json,
    /// Comma-separated values
    Csv,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC file
    Arrow,
    /// For rtt: what SPP prints with -p -O: time, RTT, turnaround, delay out and back, in seconds
    Spp,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoFormat {
    /// For people
    Table,
    /// One JSON object per capture and line
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// SPP 0.4.2, including its window, its clamping and its lost last pair
    #[value(name = "spp-0.4.2")]
    Spp042,
}

impl ReadArgs {
    /// The capture at `path`.
    pub(crate) fn open(&self, path: &Path) -> Result<Recording, tcpexp::Error> {
        let recording = Recording::open(path)?;
        Ok(if self.no_mmap {
            recording.streamed()
        } else {
            recording
        })
    }

    /// Whether tunnels are entered.
    pub(crate) fn tunnels(&self) -> Tunnels {
        if self.inner {
            Tunnels::Entered
        } else {
            Tunnels::Closed
        }
    }
}

impl SelectArgs {
    /// Whether a flow is one of those asked for.
    pub(crate) fn wants(&self, flow: FlowId, initiator: SocketAddr, responder: SocketAddr) -> bool {
        is_wanted(&self.flow, flow, initiator, responder)
    }
}

/// Whether a flow is one of those that `wanted` names, or it names none.
pub(crate) fn is_wanted(
    wanted: &[String],
    flow: FlowId,
    initiator: SocketAddr,
    responder: SocketAddr,
) -> bool {
    let fits = |text: &String| match text.parse() {
        Ok(number) => flow == FlowId(number),
        Err(_) => format!("{initiator} > {responder}").contains(text.as_str()),
    };
    wanted.is_empty() || wanted.iter().any(fits)
}

impl OutputArgs {
    /// The format asked for, or the one that the file's ending stands for.
    pub(crate) fn format(&self) -> anyhow::Result<Format> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let Some(file) = self
            .output
            .as_deref()
            .filter(|file| file.as_os_str() != "-")
        else {
            return Ok(Format::Table);
        };
        Format::of_ending(file).ok_or_else(|| {
            wrong_usage(&format!(
                "the ending of {} names no format: use .parquet, .csv, .json, .arrow, .spp or \
                 .txt, or --format",
                file.display()
            ))
        })
    }
}

impl Format {
    fn of_ending(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_string_lossy().to_lowercase();
        Some(match ending.as_str() {
            "parquet" => Self::Parquet,
            "csv" => Self::Csv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "spp" => Self::Spp,
            "txt" => Self::Table,
            _ => return None,
        })
    }

    /// The format that the ending of a table's file stands for.
    pub(crate) fn of_table(file: &Path) -> anyhow::Result<tcpexp_table::Format> {
        match Self::of_ending(file) {
            Some(Self::Parquet) => Ok(tcpexp_table::Format::Parquet),
            Some(Self::Csv) => Ok(tcpexp_table::Format::Csv),
            Some(Self::Json) => Ok(tcpexp_table::Format::Json),
            Some(Self::Arrow) => Ok(tcpexp_table::Format::Arrow),
            Some(Self::Spp | Self::Table) | None => Err(wrong_usage(&format!(
                "the ending of {} names no table format: use .parquet, .csv, .json or .arrow",
                file.display()
            ))),
        }
    }
}

/// What was typed makes no sense: exit code 2.
pub(crate) fn wrong_usage(what: &str) -> anyhow::Error {
    clap::Error::raw(
        clap::error::ErrorKind::InvalidValue,
        format!("{}\n", crate::shown::line(what)),
    )
    .with_cmd(&Args::command())
    .into()
}

/// Prints the manual page of `command`, or of the whole.
pub(crate) fn man_page(command: Option<&str>) -> anyhow::Result<()> {
    let mut whole = Args::command();
    whole.build();
    let page = match command {
        None => whole,
        Some(name) => whole
            .find_subcommand(name)
            .ok_or_else(|| wrong_usage(&format!("there is no command {name}")))?
            .clone(),
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    crate::output::print_raw(&roff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_consistent() {
        Args::command().debug_assert();
    }
}
