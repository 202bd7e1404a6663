//! What can be typed about senders: `tcpexp cwnd`, `import` and `score`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, TypedValueParser};
use tcpexp_logs::import;
use tcpexp_measure::Position;
use tcpexp_measure::sender::{Profile, SenderOptions};

use crate::args::{OutputArgs, ReadArgs, SelectArgs};
use crate::picture::Picture;

/// The state of TCP senders: congestion window, threshold, phase, recoveries
///
/// Replays what each sender did when an ACK reached it. The window is what the sender fills, or what
/// its rules make of it while the application or the receiver holds it back; each row says which,
/// and has none where the window cannot be known, as with BBR. A capture taken at the sender tells
/// most; one taken elsewhere needs timestamps.
#[derive(clap::Args)]
pub(crate) struct CwndArgs {
    /// Capture, best taken at the sender; `-` is standard input
    pub(crate) src: PathBuf,

    /// Capture at the other end, for what is sent from there and what was truly lost on the way;
    /// `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Write a table of recoveries and retransmissions
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,

    /// Draw window, threshold and flight size against time, recoveries shaded
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    #[arg(value_parser = PathBufValueParser::new().try_map(Picture::at))]
    pub(crate) plot: Option<Picture>,

    /// What the kernel logged, or a table of `tcpexp import`: to draw beside the estimate, and to
    /// tell how far off it is
    #[arg(long, value_name = "LOG")]
    pub(crate) truth: Option<PathBuf>,

    /// What wrote the log [default: told by its beginning]
    #[arg(long, value_name = "FORMAT", requires = "truth")]
    pub(crate) truth_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// How a sender is replayed.
#[derive(clap::Args)]
pub(crate) struct SenderArgs {
    /// Where the capture was taken, from the view of the data [default: told from the packets]
    #[arg(long, value_name = "PLACE")]
    pub(crate) position: Option<PositionArg>,

    /// Whose rules the sender follows
    #[arg(long, value_name = "SYSTEM", default_value = "linux")]
    pub(crate) profile: ProfileArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PositionArg {
    /// Where the data is sent
    Sender,
    /// Where it is received
    Receiver,
    /// On the way
    Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Linux from 4.0 on
    Linux,
    /// Linux before 3.13
    OldLinux,
    /// FreeBSD
    #[value(name = "freebsd")]
    FreeBsd,
}

impl SenderArgs {
    /// The library's options.
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
                ProfileArg::FreeBsd => Profile::FreeBsd,
            },
        }
    }
}

/// Sender state from the log of a kernel or a tool
///
/// Gives the same table as a reconstruction from packets, with what the kernel itself knew. A log of
/// iperf3 gives a table of intervals. Logs may be compressed.
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// What wrote the log
    #[arg(value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,

    /// The log; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) log: PathBuf,

    /// Write a table of retransmissions and changes of the congestion state
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,

    /// Senders in the table at the most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How far reconstructed sender state is from what the kernel logged
///
/// Compares the two at the same ACK. What most tools take for the window, all bytes sent and not
/// acknowledged, is scored beside it. Each pair is a reconstruction and its truth: a capture, or a
/// table of `tcpexp cwnd`, and a log, or a table of `tcpexp import`. A folder stands for the pair in
/// it (src or snd.pcap and probe.csv or trace.txt, with tcpinfo.csv if it is there; dst or rcv.pcap
/// with --position receiver), or for those in the folders below.
#[derive(clap::Args)]
pub(crate) struct ScoreArgs {
    /// Reconstruction and truth, again and again; or folders
    ///
    /// If a folder has both captures and drops.log, the losses between them are held against that.
    /// It has a line for each packet that the bottleneck dropped: q (the queue was full) or r (at
    /// random), its sequence number, and the bytes of the IP packet. All files may be compressed.
    #[arg(required = true, value_name = "RECONSTRUCTED TRUTH|FOLDER")]
    pub(crate) inputs: Vec<PathBuf>,

    /// What wrote the logs [default: told by their beginnings]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) truth_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// The logs that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Linux's `tcp_probe`: a trace with its events, the old /proc/net/tcpprobe, or CSV
    #[value(name = "tcp_probe")]
    TcpProbe,
    /// `TCP_INFO` polled into CSV
    #[value(name = "tcpinfo")]
    TcpInfo,
    /// `ss -tin` again and again
    Ss,
    /// FreeBSD's SIFTR
    Siftr,
    /// CSV of web10g's logger
    Web10g,
    /// JSON of iperf3
    Iperf3,
}

impl LogFormat {
    /// The library's name for it.
    pub(crate) const fn of_import(self) -> import::Format {
        match self {
            Self::TcpProbe => import::Format::TcpProbe,
            Self::TcpInfo => import::Format::TcpInfo,
            Self::Ss => import::Format::Ss,
            Self::Siftr => import::Format::Siftr,
            Self::Web10g => import::Format::Web10g,
            Self::Iperf3 => import::Format::Iperf3,
        }
    }
}
