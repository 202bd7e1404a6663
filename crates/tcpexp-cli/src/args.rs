//! Command-line arguments.

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

/// Run TCP experiments and analyse packet captures.
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
    #[command(after_long_help = "Example for bash:\n\
\x20 tcpexp completions bash > ~/.local/share/bash-completion/completions/tcpexp")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page
    ///
    /// Without COMMAND, prints the page of tcpexp itself.
    #[command(after_long_help = "Examples:\n\
\x20 tcpexp man rtt | man -l -\n\
\x20 tcpexp man plot ecdf > tcpexp-plot-ecdf.1")]
    Man {
        /// The command, and its subcommand
        command: Vec<String>,
    },
}

/// Measure round-trip times between two captures, or in one
///
/// With two captures of the same TCP or UDP traffic, tcpexp finds the packets that passed both
/// points. A packet and the first packet back after it form a pair. RTT = time between the two at
/// one point - time between the two at the other. Each difference uses one clock, so the clocks need
/// not be synchronised. Delayed ACKs and slow servers are not part of the result.
///
/// With one capture, tcpexp measures from a TCP segment to its ACK, and from a timestamp to its
/// echo. The result includes the time that the receiver takes to answer.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp rtt src.pcap dst.pcap\n\
\x20 tcpexp rtt src.pcap dst.pcap --flow 1 -o rtt.parquet --plot rtt.svg\n\
\x20 tcpdump -i eth0 -w - | tcpexp rtt - --live")]
pub(crate) struct RttArgs {
    /// Capture at the source point, or the only capture; `-` is standard input
    pub(crate) src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    /// Print each round-trip time as soon as it is known (one capture only)
    #[arg(long, conflicts_with_all = ["dst", "output", "format", "plot", "flows", "compat", "limit"])]
    pub(crate) live: bool,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Draw the RTT over time and its distribution
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    /// Write a table with one row per flow and direction: RTT quantiles and packet counts
    #[arg(long, value_name = "FILE", requires = "dst")]
    pub(crate) flows: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    /// Count a packet as lost if it does not arrive within this time (ms, s, min)
    ///
    /// Memory use grows with this time.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(crate) max_owd: TimeDelta,

    /// Assume equal smallest delays in both directions, which gives the clocks' offset
    #[arg(long, requires = "dst", conflicts_with = "compat")]
    pub(crate) symmetric: bool,

    /// Print exactly the output of another tool
    #[arg(long, value_name = "TOOL", requires = "dst")]
    #[arg(conflicts_with_all = ["flow", "flows", "plot", "limit", "inner", "max_owd"])]
    pub(crate) compat: Option<Compat>,

    /// Header fields that identify a packet, as SPP's option -# (with --compat)
    #[arg(long, value_name = "MASK", requires = "compat", default_value_t = 63)]
    pub(crate) mask: u32,

    /// Host on the source side, as SPP's option -a (with --compat)
    #[arg(long, value_name = "IPV4", requires = "compat", requires = "dst_host")]
    pub(crate) src_host: Option<Ipv4Addr>,

    /// Host on the destination side, as SPP's option -A (with --compat)
    #[arg(long, value_name = "IPV4", requires = "compat", requires = "src_host")]
    pub(crate) dst_host: Option<Ipv4Addr>,
}

/// Summarise each connection of a capture
///
/// Prints one row per connection and direction: sizes, rates, retransmissions, reordering and
/// round-trip times. A segment behind its place in the stream was retransmitted or reordered; the
/// sender's counters (IPv4 Identification, TCP timestamps) and the place of the capture decide which.
/// Round-trip times are those from the capture to the receiver and back.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp flows capture.pcap\n\
\x20 tcpexp flows *.pcap.gz -o flows.parquet")]
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

/// Selection of flows.
#[derive(clap::Args)]
pub(crate) struct SelectArgs {
    /// Select a flow by its number or by a part of "address:port > address:port"
    ///
    /// A number selects the flow with this number in the first column of the table. Any other text,
    /// such as :5201 or 10.0.0.1, selects each flow whose addresses contain it. May be given several
    /// times.
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Vec<String>,

    /// Show at most this many flows in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// Options for reading captures.
#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// Measure the packets inside IP-in-IP, GRE and VXLAN tunnels
    #[arg(long)]
    pub(crate) inner: bool,

    /// Do not map the capture into memory
    ///
    /// Reading is slower, and safe if another program truncates the file meanwhile.
    #[arg(long)]
    pub(crate) no_mmap: bool,
}

/// Describe captures: format, time span, packets, drops, skipped records
///
/// Each record of a capture is either used or counted under the reason why it was skipped.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp info capture.pcapng\n\
\x20 tcpexp info *.pcap --format json")]
pub(crate) struct InfoArgs {
    /// Capture files; `-` is standard input
    #[arg(required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// Count the packets inside IP-in-IP, GRE and VXLAN tunnels
    #[arg(long)]
    pub(crate) inner: bool,

    /// Output format
    #[arg(long, default_value = "table")]
    pub(crate) format: InfoFormat,
}

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Write the rows to a file; its extension selects the format
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Output format [default: by the extension of FILE, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Print no remarks and no progress, and no table if -o writes a file
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text table
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values
    Csv,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC file
    Arrow,
    /// Output of SPP with -p -O (rtt only)
    Spp,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoFormat {
    /// Text
    Table,
    /// One JSON object per capture
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// SPP 0.4.2, including its search window, its clamping and its missing last pair
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

    /// Whether the packets inside tunnels are measured.
    pub(crate) fn tunnels(&self) -> Tunnels {
        if self.inner {
            Tunnels::Entered
        } else {
            Tunnels::Closed
        }
    }
}

impl SelectArgs {
    /// Whether the flow is selected.
    pub(crate) fn wants(&self, flow: FlowId, initiator: SocketAddr, responder: SocketAddr) -> bool {
        is_wanted(&self.flow, flow, initiator, responder)
    }
}

/// Whether `wanted` names the flow, or is empty.
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
    /// The requested format, else the format of the file extension, else a table.
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
                "{} has no known extension: use .parquet, .csv, .json, .arrow, .spp or .txt, or \
                 --format",
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

    /// The table format of a file extension.
    pub(crate) fn of_table(file: &Path) -> anyhow::Result<tcpexp_table::Format> {
        match Self::of_ending(file) {
            Some(Self::Parquet) => Ok(tcpexp_table::Format::Parquet),
            Some(Self::Csv) => Ok(tcpexp_table::Format::Csv),
            Some(Self::Json) => Ok(tcpexp_table::Format::Json),
            Some(Self::Arrow) => Ok(tcpexp_table::Format::Arrow),
            Some(Self::Spp | Self::Table) | None => Err(wrong_usage(&format!(
                "{} has no known extension: use .parquet, .csv, .json or .arrow",
                file.display()
            ))),
        }
    }
}

/// An error in the arguments: exit code 2.
pub(crate) fn wrong_usage(what: &str) -> anyhow::Error {
    clap::Error::raw(
        clap::error::ErrorKind::InvalidValue,
        format!("{}\n", crate::shown::line(what)),
    )
    .with_cmd(&Args::command())
    .into()
}

/// Prints the manual page of tcpexp, of a command, or of a command's subcommand.
pub(crate) fn man_page(names: &[String]) -> anyhow::Result<()> {
    let mut page = Args::command();
    page.build();
    for name in names {
        page = page
            .find_subcommand(name)
            .ok_or_else(|| wrong_usage(&format!("no such command: {}", names.join(" "))))?
            .clone();
    }
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    // clap_mangen has no heading of its own for text after the options.
    let page = String::from_utf8(roff)?
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n")
        .replace(".SH EXTRA\nExample:\n", ".SH EXAMPLES\n");
    crate::output::print_raw(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_definitions_are_consistent() {
        Args::command().debug_assert();
    }
}
