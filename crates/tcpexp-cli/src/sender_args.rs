//! Arguments of `tcpexp cwnd`, `import` and `score`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, TypedValueParser};
use tcpexp_logs::import;
use tcpexp_measure::Position;
use tcpexp_measure::sender::{Profile, SenderOptions};

use crate::picture::Picture;
use tcpexp_table::CwndTable;

use crate::shared_args::{
    OutputArgs, PartArgs, ReadArgs, SelectArgs, StoreArgs, order_of, require_one_input, wrong_usage,
};

/// Reconstruct the congestion window of TCP senders
///
/// Replays each sender, ACK by ACK: flight size, congestion window, slow-start threshold, phase and
/// recoveries. Where the application or the receiver limits the sender, the window follows the rules
/// of the sender's kernel; the column `cwnd_source` names the source of each value. The window is null
/// where it cannot be observed, as with BBR. The best capture is one at the sender. Any other capture
/// needs TCP timestamps.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp cwnd src.pcap\n\
\x20 tcpexp cwnd src.pcap dst.pcap --events events.parquet\n\
\x20 tcpexp cwnd src.pcap --control\n\
\x20 tcpexp cwnd src.pcap --flow 1 --truth probe.csv --plot cwnd.svg")]
pub(crate) struct CwndArgs {
    /// Capture, preferably at the sender; `-` is standard input
    pub(crate) src: PathBuf,

    /// Capture at the other end, to find packets lost on the path; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    /// Name the congestion control of each sender, or state why it is not certain
    ///
    /// Replays the rules of each known control on the ACKs, losses and round-trip times that the
    /// sender saw, and compares the windows. A control is named if it is the only one that fits.
    #[arg(long)]
    pub(crate) control: bool,

    /// Compare with a kernel's log, or with a table of `tcpexp import`
    #[arg(long, value_name = "LOG")]
    pub(crate) truth: Option<PathBuf>,

    /// Format of the log [default: detected]
    #[arg(long, value_name = "FORMAT", requires = "truth")]
    pub(crate) truth_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Sort the table by this key and show its first flows; rows in files keep their order
    #[arg(
        long,
        value_name = "KEY",
        default_value = "acks",
        help_heading = "Selection"
    )]
    #[arg(value_parser = order_of::<CwndTable>())]
    pub(crate) sort: String,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Write a table with one row per recovery and per retransmission
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,

    /// Write a table with one row per sender, with its congestion control and the evidence
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) control_table: Option<PathBuf>,

    /// Draw window, threshold and flight size over time, with recoveries shaded (.svg, .pdf or .png)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,
}

/// Options of the replay.
#[derive(clap::Args)]
pub(crate) struct SenderArgs {
    /// Position of the capture relative to the data's sender [default: detected]
    #[arg(long, value_name = "PLACE")]
    pub(crate) position: Option<PositionArg>,

    /// Operating system of the sender
    #[arg(long, value_name = "SYSTEM", default_value = "linux")]
    pub(crate) profile: ProfileArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PositionArg {
    /// At the sender of the data
    Sender,
    /// At the receiver of the data
    Receiver,
    /// On the path between them
    Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Linux 4.0 or later
    Linux,
    /// Linux 2.6.39 to 3.12
    OldLinux,
    /// Linux before 2.6.39
    EarlyLinux,
    /// FreeBSD
    #[value(name = "freebsd")]
    FreeBsd,
}

impl SenderArgs {
    /// Refuses arguments that two captures cannot have.
    pub(crate) fn require_fitting(&self, src: &Path, dst: &Path) -> anyhow::Result<()> {
        require_one_input(src, dst)?;
        if self.position.is_some() {
            return Err(wrong_usage("--position requires a single capture"));
        }
        Ok(())
    }

    /// Returns the options of the library.
    pub(crate) fn options(&self) -> SenderOptions {
        SenderOptions {
            position: self.position.map(|position| match position {
                PositionArg::Sender => Position::Sender,
                PositionArg::Receiver => Position::Receiver,
                PositionArg::Between => Position::Between,
            }),
            profile: match self.profile {
                ProfileArg::Linux => Profile::Linux,
                ProfileArg::OldLinux => Profile::OldLinux,
                ProfileArg::EarlyLinux => Profile::EarlyLinux,
                ProfileArg::FreeBsd => Profile::FreeBsd,
            },
        }
    }
}

/// Convert the log of a kernel or a tool to a table
///
/// The table has the columns of `tcpexp cwnd`, with the kernel's own values. A log of iperf3 gives a
/// table of intervals. Logs may be compressed with gzip, zstd or lz4.
///
/// A directory of experiments (teacup, or data files of flent) becomes a directory with the layout of a sweep, with the
/// experiments' parameters as columns: `compare`, `plot` and `report` read this directory. It refers to
/// the captures in their original places.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp import tcp_probe trace.txt -o kernel.parquet\n\
\x20 tcpexp import tcp_probe trace.txt --events events.csv\n\
\x20 tcpexp import ss ss.txt -o ss.csv\n\
\x20 tcpexp import teacup experiments -o results\n\
\x20 tcpexp import flent batch -o results")]
pub(crate) struct ImportArgs {
    /// Format of the log
    #[arg(value_name = "FORMAT")]
    pub(crate) log_format: ImportFormat,

    /// The log, or the directory of experiments; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) log: PathBuf,

    /// Write a table with one row per retransmission and per change of the congestion state
    ///
    /// Traces of `tcp_probe` have both, and logs of tcpinfo the changes of the state. Other logs have neither.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,

    /// Show at most this many senders in the table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}

/// Compare reconstructed sender state with a kernel's log
///
/// Compares the two states at the same ACK. Also scores all unacknowledged bytes, which other tools
/// often report as the window. RECONSTRUCTED is a capture or a table of `tcpexp cwnd`. TRUTH is a log
/// or a table of `tcpexp import`. FOLDER contains both: a capture (src.pcap or snd.pcap; with --position
/// receiver, dst.pcap or rcv.pcap) and a log (probe.csv or trace.txt, and optionally tcpinfo.csv).
/// FOLDER may also be a run of a sweep that logged `tcp_probe`, or a folder of such folders.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp score src.pcap probe.csv\n\
\x20 tcpexp score fixtures/reno-2mbit-40ms-50p\n\
\x20 tcpexp score results --position receiver")]
pub(crate) struct ScoreArgs {
    /// Pairs of reconstruction and truth, or folders
    ///
    /// If a folder contains both captures and drops.log, the losses between the captures are compared
    /// with this log. Each line describes a packet that the bottleneck dropped: q (full queue) or r
    /// (random), the sequence number, and the size of the IP packet in bytes. All files may be
    /// compressed.
    #[arg(required = true, value_name = "RECONSTRUCTED TRUTH|FOLDER")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Format of the logs [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) truth_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// Formats of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Linux `tcp_probe`: a trace of its events, /proc/net/tcpprobe, or CSV
    #[value(name = "tcp_probe")]
    TcpProbe,
    /// Linux `TCP_INFO` as CSV
    #[value(name = "tcpinfo")]
    TcpInfo,
    /// Output of repeated `ss -tin`
    Ss,
    /// FreeBSD SIFTR
    Siftr,
    /// web10g logger (CSV)
    Web10g,
    // These two have no states of a sender, so only `import` lists them.
    /// iperf3 (JSON)
    #[value(hide = true)]
    Iperf3,
    /// Data file of Flent: the series of its test
    #[value(hide = true)]
    Flent,
}

/// Formats of `tcpexp import`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportFormat {
    /// A log.
    Log(LogFormat),
    /// Experiments of TEACUP.
    Teacup,
}

impl ValueEnum for ImportFormat {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self::Log(LogFormat::TcpProbe),
                Self::Log(LogFormat::TcpInfo),
                Self::Log(LogFormat::Ss),
                Self::Log(LogFormat::Siftr),
                Self::Log(LogFormat::Web10g),
                Self::Log(LogFormat::Iperf3),
                Self::Log(LogFormat::Flent),
                Self::Teacup,
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Log(format) => Some(format.to_possible_value()?.hide(false)),
            Self::Teacup => {
                Some(PossibleValue::new("teacup").help("Directory of TEACUP's experiments"))
            }
        }
    }
}

impl LogFormat {
    /// Returns the format in the library.
    pub(crate) const fn of_import(self) -> import::Format {
        match self {
            Self::TcpProbe => import::Format::TcpProbe,
            Self::TcpInfo => import::Format::TcpInfo,
            Self::Ss => import::Format::Ss,
            Self::Siftr => import::Format::Siftr,
            Self::Web10g => import::Format::Web10g,
            Self::Iperf3 => import::Format::Iperf3,
            Self::Flent => import::Format::Flent,
        }
    }
}
