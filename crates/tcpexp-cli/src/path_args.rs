//! Arguments of `tcpexp path`.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use tcpexp::PathOptions;
use tcpexp_table::TopPath;
use tcpexp_units::TimeDelta;

use crate::picture::Picture;
use crate::shared_args::{OutputArgs, PartArgs, ReadArgs, SelectArgs, order_of};
use crate::survey::LearnedArgs;
use crate::values::{clocks, parse_time};

/// Measure the fate and the delay of each packet between two or more captures
///
/// Reports losses, reordering, duplicates, one-way delays and queueing delays. The clocks need not be
/// synchronised: packets in both directions reveal the clock offset, within a stated bound, and the
/// skew. One-way delays include the error of the offset. Queueing delays (one-way delays minus the
/// smallest one in that direction) do not include it. A packet counts as unknown, not as lost, if it
/// is indistinguishable from others, or if it was sent while the other capture may not have been
/// running.
///
/// With more than two captures, given in their order along the path, tcpexp assigns each loss and
/// each delay to its segment, and the segments add up to the whole path. If one capture lacks a
/// packet that a later capture contains, that capture missed the packet: the packet was not lost.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp path src.pcap dst.pcap\n\
\x20 tcpexp path src.pcap dst.pcap -o packets.parquet --flows flows.parquet --plot path.svg\n\
\x20 tcpexp path client.pcap router.pcap server.pcap --flows segments.csv")]
pub(crate) struct PathArgs {
    /// Capture at the source point; `-` is standard input
    ///
    /// A directory stands for the captures in it, and a quoted pattern such as 'src*.pcap' for the
    /// files that match: rotated files, or captures of several interfaces. tcpexp reads these files as
    /// one capture.
    pub(crate) src: PathBuf,

    /// Capture at the destination point; `-` is standard input
    pub(crate) dst: PathBuf,

    /// Captures at points further along the path
    ///
    /// The rows of -o and --flows then have a column `segment`: 1>2, 2>3 and so on, and the whole path.
    /// Flows have the numbers that they have in the first capture.
    pub(crate) more: Vec<PathBuf>,

    /// Longest one-way delay that packets may have (ms, s, min)
    ///
    /// A packet that takes longer is not recognised at the other point. Its fate is then not known, and
    /// a capture seems to miss packets. Memory use grows with this time.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(crate) max_owd: TimeDelta,

    /// Assume equal minimum delays in both directions, to compute the clock offset
    #[arg(long)]
    pub(crate) symmetric: bool,

    /// Both captures have the times of one clock, such as those of two interfaces of a host
    ///
    /// One-way delays are then exact to the resolution of the clock, and tcpexp estimates no offset,
    /// skew or step of a clock.
    #[arg(long, conflicts_with = "symmetric")]
    pub(crate) one_clock: bool,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Sort the table by this key and show its first flows; rows in files keep their order
    #[arg(
        long,
        value_name = "KEY",
        default_value = "packets",
        help_heading = "Selection"
    )]
    #[arg(value_parser = order_of::<TopPath>())]
    pub(crate) sort: String,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Draw the queueing delay over time, with losses as marks, and its distribution (.svg,
    /// .pdf or .png)
    ///
    /// Needs exactly two captures.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    /// Write a table with one row per flow and direction: packet counts and delay quantiles
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) flows: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) learned: LearnedArgs,
}

impl PathArgs {
    /// Options of the measurement.
    pub(crate) fn options(&self) -> PathOptions {
        PathOptions::default()
            .tunnels(self.reading.tunnels())
            .select(self.reading.selection())
            .shard(self.part.shard)
            .max_owd(self.max_owd)
            .symmetric(self.symmetric)
            .clocks(clocks(self.one_clock))
    }
}
