//! Arguments of `tcpexp rtt`.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, TypedValueParser};
use tcpexp_table::TopFlows;
use tcpexp_units::TimeDelta;

use crate::picture::Picture;
use crate::shared_args::{OutputArgs, PartArgs, ReadArgs, SelectArgs, order_of};
use crate::survey::LearnedArgs;
use crate::values::parse_time;

/// Measure round-trip times between two captures, or in one
///
/// With two captures of the same IP traffic (TCP, UDP, ICMP, SCTP, ESP, …), tcpexp finds the packets that passed both
/// points. A packet and the first packet after it in the opposite direction form a pair. The RTT is the
/// time between these two packets at one point minus the time between them at the other point. Each
/// difference uses one clock, so the clocks need not be synchronised. Delayed ACKs and slow servers do
/// not affect the result.
///
/// With one capture, tcpexp measures from a TCP segment to its ACK, and from a timestamp to its
/// echo. The result includes the time that the receiver takes to answer.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp rtt src.pcap dst.pcap\n\
\x20 tcpexp rtt src.pcap dst.pcap --flow 1 -o rtt.parquet --plot rtt.svg\n\
\x20 tcpdump -i eth0 -w - | tcpexp rtt - --live --format json\n\
\x20 tcpexp rtt --live sender:eth0 receiver:eth0 --filter 'tcp port 5201'")]
pub(crate) struct RttArgs {
    /// Capture at the source point, or the only capture; `-` is standard input
    ///
    /// A directory stands for the captures in it, and a quoted pattern such as 'src*.pcap' for the
    /// files that match: rotated files, or captures of several interfaces. tcpexp reads these files as
    /// one capture.
    pub(crate) src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    /// Print each round-trip time as soon as it is known
    ///
    /// Each capture is then a pipe, a file, or HOST:INTERFACE, such as rtr:eth0. A file is read to its
    /// present end: to follow a growing file, read a pipe from `tail -c +1 -f FILE`. For HOST:INTERFACE,
    /// tcpexp starts tcpdump on that host over ssh, with the expression of --filter, and reconnects if
    /// the connection is lost. With two captures, a round-trip time is printed within a second. --format
    /// csv, json or arrow prints rows instead of text; arrow is a stream of Arrow IPC.
    #[arg(long, conflicts_with_all = ["output", "plot", "flows", "compat", "limit", "from", "to", "shard", "survey"])]
    pub(crate) live: bool,

    /// Keep a histogram of the round-trip times in a file in the text format of Prometheus
    ///
    /// Requires --live and two captures. The file is replaced after each group of round-trip times.
    #[arg(long, value_name = "FILE", requires_all = ["live", "dst"])]
    pub(crate) metrics: Option<PathBuf>,

    /// Use this file instead of ~/.ssh/config, with --live and HOST:INTERFACE
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) ssh_config: Option<PathBuf>,

    /// Longest one-way delay that packets may have (ms, s, min)
    ///
    /// A packet that takes longer is not recognised at the other point. Its fate is then not known, and
    /// a capture seems to miss packets. Memory use grows with this time.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    #[arg(requires = "dst")]
    pub(crate) max_owd: TimeDelta,

    /// Assume equal minimum delays in both directions, to compute the clock offset
    #[arg(long, requires = "dst", conflicts_with = "compat")]
    pub(crate) symmetric: bool,

    /// Both captures have the times of one clock, such as those of two interfaces of a host
    ///
    /// One-way delays are then exact to the resolution of the clock, and tcpexp estimates no offset,
    /// skew or step of a clock.
    #[arg(long, requires = "dst", conflicts_with_all = ["symmetric", "compat"])]
    pub(crate) one_clock: bool,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Sort the table by this key and show its first flows; rows in files keep their order
    #[arg(
        long,
        value_name = "KEY",
        default_value = "samples",
        help_heading = "Selection"
    )]
    #[arg(value_parser = order_of::<TopFlows>())]
    pub(crate) sort: String,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Draw the RTT over time and its distribution (.svg, .pdf or .png)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    /// Write a table with one row per flow and direction: RTT quantiles and packet counts
    #[arg(long, value_name = "FILE", requires = "dst", help_heading = "Output")]
    pub(crate) flows: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) learned: LearnedArgs,

    /// Print exactly the output of another tool
    ///
    /// `--format spp` prints the samples of tcpexp itself, in the form of SPP with -p -O.
    #[arg(
        long,
        value_name = "TOOL",
        requires = "dst",
        help_heading = "Comparison with SPP"
    )]
    #[arg(conflicts_with_all = ["flow", "flows", "plot", "limit", "inner", "filter", "from", "to", "max_owd", "shard", "survey"])]
    pub(crate) compat: Option<Compat>,

    /// Header fields that identify a packet, as SPP's option -# (with --compat)
    #[arg(
        long,
        value_name = "MASK",
        requires = "compat",
        default_value_t = 63,
        help_heading = "Comparison with SPP"
    )]
    pub(crate) mask: u32,

    /// Host on the source side, as SPP's option -a (with --compat)
    #[arg(
        long,
        value_name = "IPV4",
        requires = "compat",
        requires = "dst_host",
        help_heading = "Comparison with SPP"
    )]
    pub(crate) src_host: Option<Ipv4Addr>,

    /// Host on the destination side, as SPP's option -A (with --compat)
    #[arg(
        long,
        value_name = "IPV4",
        requires = "compat",
        requires = "src_host",
        help_heading = "Comparison with SPP"
    )]
    pub(crate) dst_host: Option<Ipv4Addr>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// SPP 0.4.2, including its search window, its clamping and its missing last pair
    #[value(name = "spp-0.4.2")]
    Spp042,
}
