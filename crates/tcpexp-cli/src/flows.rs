//! `tcpexp flows CAPTURE…`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::ValueEnum;
use tcpexp::flows;
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_table::{
    ConnectionOrder, ConnectionRow, FLOW_TABLE_WIDTH, TopConnections, connection_columns,
};

use crate::progress::Progress;
use crate::shared_args::{OutputArgs, ReadArgs, SelectArgs, shown_names};
use crate::sheet::Sheet;
use crate::{report, shown, warnings};

/// Summarise each connection of a capture
///
/// Prints one row per connection and direction: sizes, rates, retransmissions, reordering and
/// round-trip times. An out-of-sequence segment was retransmitted or reordered; the IPv4
/// Identification, the TCP timestamps and the position of the capture decide which. Round-trip times
/// span from the capture to the receiver and back.
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

    /// Sort the table, and show the first flows of this order; rows in files keep the order in which
    /// flows end
    #[arg(long, value_name = "KEY", default_value = "payload")]
    pub(crate) sort: SortKey,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What the table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// Bytes of payload, largest first
    Payload,
    /// Packets, most first
    Packets,
    /// Time from the first to the last packet, longest first
    Duration,
    /// Retransmitted packets, most first
    Retransmitted,
    /// The larger median round-trip time of the two directions, longest first
    Rtt,
    /// Time of the first packet, earliest first
    Start,
}

impl SortKey {
    const fn order(self) -> ConnectionOrder {
        match self {
            Self::Payload => ConnectionOrder::Payload,
            Self::Packets => ConnectionOrder::Packets,
            Self::Duration => ConnectionOrder::Duration,
            Self::Retransmitted => ConnectionOrder::Retransmitted,
            Self::Rtt => ConnectionOrder::Rtt,
            Self::Start => ConnectionOrder::Start,
        }
    }
}

pub(crate) fn run(args: &FlowsArgs) -> anyhow::Result<()> {
    let mut sheet = Sheet::create(&args.output, connection_columns())?;
    let mut parts = Vec::new();
    let mut found = 0;
    for path in &args.captures {
        let (text, of_it) = one(args, path, &mut sheet)?;
        found += of_it;
        parts.push(if args.captures.len() > 1 {
            format!("{}\n{text}", shown::path(path))
        } else {
            text
        });
    }
    if found == 0 {
        let names: Vec<_> = args
            .captures
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        bail!(
            "no flow in {} matches {}",
            names.join(" or "),
            shown_names(&args.select.flow)
        );
    }
    sheet.finish(&parts.join("\n"))
}

/// Adds the selected connections of one capture to the sheet. Returns the text for the terminal and
/// the number of selected connections.
fn one(
    args: &FlowsArgs,
    path: &Path,
    sheet: &mut Sheet<ConnectionRow>,
) -> anyhow::Result<(String, u64)> {
    let recording = args.reading.open(path)?;
    let name: Arc<str> = recording.name().display().to_string().into();
    let mut table = TopConnections::new(args.select.limit).sorted_by(args.sort.order());
    let mut found = 0_u64;
    let progress = Progress::watch(&[&recording], 1, args.output.quiet);
    let info = flows(&recording, &args.reading.capture_options(), |connections| {
        for connection in &connections {
            if wants(args, connection) {
                found += 1;
                if sheet.takes_rows() {
                    sheet.add(ConnectionRow::of(&name, connection.clone()))?;
                }
                table.add(connection);
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    drop(progress);
    warnings::of_capture(&info, path);
    let mut text = table.into_text(FLOW_TABLE_WIDTH);
    let skipped = report::skipped(&info.tally);
    if !skipped.is_empty() && !args.output.quiet {
        text += "\n";
        report::line(&mut text, "skipped", &skipped);
    }
    Ok((text, found))
}

fn wants(args: &FlowsArgs, connection: &ConnectionSummary) -> bool {
    let ConnectionSummary {
        flow,
        initiator,
        responder,
        ..
    } = *connection;
    args.select.wants(flow, initiator, responder)
}
