//! Arguments that commands share.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use tcpexp::{
    CaptureOptions, Filter, FlowName, FlowShard, Moment, PacketSelection, Recording, StoreOption,
    StoreOptions,
};
use tcpexp_flow::{FlowId, MAX_FLOWS};
use tcpexp_table::{Ordered, SenderLabel};
use tcpexp_wire::Tunnels;

use crate::caller::caller;
use crate::shown;
use crate::store_options::StoreOptionParser;

/// Selection of flows.
#[derive(clap::Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectArgs {
    /// Select a flow by its number or port, or by a part of "address:port > address:port"
    ///
    /// 5201 selects the flows with this port, and the flow with this number in the first column of
    /// the table; :5201 selects by the port only, and #3 by the number only. Any other text, such as
    /// 10.0.0.1, selects each flow whose addresses contain it. May be given several times.
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Vec<FlowName>,

    /// Show at most this many flows in the table
    #[arg(long, visible_alias = "top", value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// Parses the name of an order of a table.
pub(crate) fn order_of<T: Ordered>() -> PossibleValuesParser {
    let value = |(name, help)| PossibleValue::new(name).help(help);
    PossibleValuesParser::new(T::orders().into_iter().map(value))
}

/// Options for reading captures.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Measure the packets inside IP-in-IP, GRE and VXLAN tunnels
    #[arg(long)]
    pub(crate) inner: bool,

    /// Use only the packets that this expression of pcap-filter(7) selects
    ///
    /// Selects the packets that `tcpdump -r FILE EXPRESSION` selects, such as "host 10.0.0.1 and tcp
    /// port 443". Names of hosts and ports are not resolved. With two captures, each is filtered
    /// separately. If the path translates addresses, name both addresses, joined by `or`. A packet
    /// that the expression selects at only one point looks lost, so use no conditions on fields that
    /// the path changes, such as the length.
    #[arg(long, value_name = "EXPRESSION", value_parser = Filter::parse, help_heading = "Selection")]
    pub(crate) filter: Option<Filter>,

    /// Use only the packets at and after this time
    ///
    /// 10s is a time after the first record of the capture; -5s is a time before its last record.
    /// Other forms are 2026-01-31T10:00:00.5Z and seconds since 1970. With two captures, the time is
    /// on the source's clock, and the destination begins at the same moment on its own clock.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) from: Option<Moment>,

    /// Use only the packets before this time (in the forms that --from accepts)
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Selection"
    )]
    pub(crate) to: Option<Moment>,

    /// Do not map the capture into memory
    ///
    /// Reading is slower, but safe if another program truncates the file at the same time.
    #[arg(long)]
    pub(crate) no_mmap: bool,

    /// Keep at most this many flows in memory at once
    ///
    /// Beyond this number, the least active flows end early: first those where only one end has sent,
    /// then those that have been silent longest. Later packets of such a flow begin a new flow. Commands
    /// that reconstruct senders (cwnd, why, explain, analyze) leave out the flows with the least data
    /// instead. A warning reports the number of these flows.
    #[arg(long, value_name = "N", default_value_t = MAX_FLOWS)]
    pub(crate) max_flows: NonZeroUsize,

    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}

/// Object stores. Each input and output of a command with this option may be a URL.
#[derive(Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// Set an option for object stores, such as `aws_region=eu-west-1`
    ///
    /// Each input and output of this command may be `s3://BUCKET/KEY`, `gs://BUCKET/KEY`,
    /// `az://CONTAINER/BLOB` or `https://HOST/PATH`, in a build with the feature `stores`. Options have the
    /// names of the crate `object_store`, such as `aws_endpoint`, `skip_signature`, `allow_http` and
    /// `timeout`; options of other stores have no effect. tcpexp finds credentials where the tools of
    /// the providers find them: in environment variables, such as `AWS_PROFILE`, and in the
    /// configuration files of these tools. May be given several times.
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = StoreOptionParser,
        hide_short_help = true,
        help_heading = "Object stores"
    )]
    pub(crate) storage_option: Vec<StoreOption>,
}

/// The part of an analysis that a command does.
#[derive(clap::Args)]
#[command(next_help_heading = "Analysis in parts")]
pub(crate) struct PartArgs {
    /// Report only the flows of part I of N, to divide an analysis
    ///
    /// The protocol and the endpoints of a flow determine its part. If the path translates
    /// addresses, the endpoints at the source count. The analysis of each part reads all packets, so
    /// its rows are those of the undivided analysis: flows keep their numbers, and all parts
    /// together give all rows. The first part also has the rows that belong to no flow, such as
    /// totals over all flows.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<FlowShard>,
}

/// Where rows go.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
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
    // Only `rtt` accepts it, and its help describes it.
    /// Output of SPP with -p -O
    #[value(hide = true)]
    Spp,
}

impl ReadArgs {
    /// The capture at `path`.
    pub(crate) fn open(&self, path: &Path) -> Result<Recording, tcpexp::Error> {
        Recording::open_with(path, &self.stores()).map(|recording| self.prepared(recording))
    }

    /// The captures at these paths.
    pub(crate) fn open_both(
        &self,
        src: &Path,
        dst: Option<&Path>,
    ) -> Result<(Recording, Option<Recording>), tcpexp::Error> {
        let src = self.open(src)?;
        let dst = dst.map(|dst| self.open(dst)).transpose()?;
        Ok((src, dst))
    }

    /// Options of object stores.
    pub(crate) fn stores(&self) -> StoreOptions {
        self.stores.storage_option.iter().cloned().collect()
    }

    /// The capture with these options.
    pub(crate) fn prepared(&self, recording: Recording) -> Recording {
        let mut recording = recording.with_max_flows(self.max_flows);
        if let Some(caller) = caller() {
            recording = recording.stopped_by(caller.stop());
        }
        if self.no_mmap {
            recording.streamed()
        } else {
            recording
        }
    }

    /// Options of measurements on one capture.
    pub(crate) fn capture_options(&self) -> CaptureOptions {
        CaptureOptions::default()
            .tunnels(self.tunnels())
            .select(self.selection())
    }

    /// The packets to use.
    pub(crate) fn selection(&self) -> PacketSelection {
        let mut selection = PacketSelection::default();
        if let Some(filter) = &self.filter {
            selection = selection.filter(filter.clone());
        }
        if let Some(from) = self.from {
            selection = selection.from(from);
        }
        if let Some(to) = self.to {
            selection = selection.to(to);
        }
        selection
    }

    /// Number of passes that limits in time add to those of a measurement.
    pub(crate) fn extra_passes(&self, captures: usize) -> u64 {
        let is_limited = self.from.is_some() || self.to.is_some();
        u64::from(is_limited && captures == 2)
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

    /// Whether the flow of this sender is selected.
    pub(crate) fn wants_sender(&self, label: &SenderLabel) -> bool {
        let wants = |(initiator, responder)| self.wants(label.flow, initiator, responder);
        label.ends.is_some_and(wants)
    }
}

/// Whether `wanted` names the flow, or is empty.
pub(crate) fn is_wanted(
    wanted: &[FlowName],
    flow: FlowId,
    initiator: SocketAddr,
    responder: SocketAddr,
) -> bool {
    let fits = |name: &FlowName| name.fits(flow.0, &format!("{initiator} > {responder}"));
    wanted.is_empty() || wanted.iter().any(fits)
}

/// The names of wanted flows for a message.
pub(crate) fn shown_names(wanted: &[FlowName]) -> String {
    let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    names.join(" or ")
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
            unknown_extension(
                file,
                ".parquet, .csv, .json, .arrow, .spp or .txt, or --format",
            )
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
            Some(Self::Spp | Self::Table) | None => {
                Err(unknown_extension(file, ".parquet, .csv, .json or .arrow"))
            }
        }
    }
}

/// Refuses an output file whose name ends in none of `endings`, such as `.html`.
///
/// Standard output, devices and pipes, such as `>(gzip)` of a shell, need no extension.
pub(crate) fn check_extension(file: &Path, endings: &[&str]) -> anyhow::Result<()> {
    let name = file.to_string_lossy().to_lowercase();
    // Creating the output reports a directory.
    let is_special = || std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file());
    if name == "-" || endings.iter().any(|ending| name.ends_with(ending)) || is_special() {
        return Ok(());
    }
    Err(unknown_extension(file, &endings.join(" or ")))
}

/// The error for an output file whose extension names no format that the command writes.
fn unknown_extension(file: &Path, alternatives: &str) -> anyhow::Error {
    wrong_usage(&format!(
        "{} has an unknown extension: use {alternatives}",
        shown::path(file)
    ))
}

/// Name of standard input in messages, as the library has it.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Refuses to read both captures from standard input.
pub(crate) fn require_one_input(src: &Path, dst: &Path) -> anyhow::Result<()> {
    if src.as_os_str() == "-" && dst.as_os_str() == "-" {
        return Err(wrong_usage(
            "only one of the two captures can be standard input",
        ));
    }
    Ok(())
}

/// An error in the arguments: exit code 2.
pub(crate) fn wrong_usage(what: &str) -> anyhow::Error {
    clap::Error::raw(
        clap::error::ErrorKind::InvalidValue,
        format!("{}\n", shown::line(what)),
    )
    .with_cmd(&clap::Command::new("tcpexp"))
    .into()
}
