//! `tcpexp flows CAPTURE…`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use tcpexp::{CwndOptions, LabelledSenderRow, Recording, cwnd, flows, is_large_sender, why};
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_measure::naming::Namer;
use tcpexp_table::{
    ConnectionRow, ControlRow, FLOW_TABLE_WIDTH, Labelled, Ordered, TopConnections, TopControls,
    connection_columns, connection_details, control_columns, verdict_lines,
};

use crate::progress::Progress;
use crate::shared_args::{
    OutputArgs, PartArgs, ReadArgs, SelectArgs, order_of, shown_names, wrong_usage,
};
use crate::sheet::Sheet;
use crate::side_table::SideTable;
use crate::{failure, report, shown, warnings};

/// Largest capture whose flows are judged without being asked, in bytes. A verdict takes three more
/// passes, which at this size take a fraction of a second.
const MOST_JUDGED_BYTES: u64 = 64 << 20;
/// Passes over the capture that name the congestion controls.
const CONTROL_PASSES: u64 = 2;

/// Summarise each connection of a capture
///
/// Prints one row per connection and direction: sizes, rates, retransmissions, reordering and
/// round-trip times. The IPv4 Identification, the TCP timestamps and the position of the capture show
/// whether an out-of-sequence segment was retransmitted or reordered. Round-trip times span from the
/// capture to the receiver and back. If a single flow is selected, prints its details. The last lines
/// name what limited each large flow, as `tcpexp why` explains; --quiet leaves them out.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp flows capture.pcap\n\
\x20 tcpexp flows capture.pcap --control\n\
\x20 tcpexp flows *.pcap.gz -o flows.parquet")]
pub(crate) struct FlowsArgs {
    /// Capture files; `-` is standard input
    #[arg(required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// Name the congestion control of each sender, or state why it is not certain
    ///
    /// Prints the number of senders of each control, and a line for each of the --limit senders with
    /// the most acknowledgments. Reads the capture twice more, as `tcpexp cwnd --control` does.
    #[arg(long)]
    pub(crate) control: bool,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Sort the table by this key and show its first flows; rows in files keep the order in which
    /// flows end
    #[arg(
        long,
        value_name = "KEY",
        default_value = "payload",
        help_heading = "Selection"
    )]
    #[arg(value_parser = order_of::<TopConnections>())]
    pub(crate) sort: String,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Write a table with one row per sender, with its congestion control and the evidence
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) control_table: Option<PathBuf>,
}

pub(crate) fn run(args: &FlowsArgs) -> anyhow::Result<()> {
    if args.control_table.is_some() && args.captures.len() > 1 {
        return Err(wrong_usage("--control-table requires a single capture"));
    }
    let mut controls = match &args.control_table {
        Some(path) => Some(SideTable::create(path, control_columns())?),
        None => None,
    };
    let mut sheet = Sheet::create(&args.output, connection_columns())?;
    let mut parts = Vec::new();
    let (mut found, mut is_part) = (0, args.part.shard.is_some());
    let mut left_out = Vec::new();
    for path in &args.captures {
        let recording = args.reading.open(path).map_err(anyhow::Error::from);
        let one = recording.and_then(|recording| {
            is_part |= recording.part()?.is_some();
            one(args, path, &recording, &mut sheet, &mut controls)
        });
        let (text, of_it) = match one {
            Ok(one) => one,
            // A host or an interval without packets must not hide the results of the others.
            Err(error) if args.captures.len() > 1 && is_without_packets(&error) => {
                left_out.push(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        found += of_it;
        parts.push(if args.captures.len() > 1 {
            format!("{}\n{text}", shown::path(path))
        } else {
            text
        });
    }
    let last = if parts.is_empty() {
        left_out.pop()
    } else {
        None
    };
    for error in &left_out {
        failure::print_line(&format!("warning: {error:#}; left out"));
    }
    if let Some(error) = last {
        return Err(error);
    }
    // A part may be empty although the whole is not.
    if found == 0 && !is_part {
        let names: Vec<_> = args.captures.iter().map(|path| shown::path(path)).collect();
        bail!(
            "no flow in {} matches {}",
            names.join(" or "),
            shown_names(&args.select.flow)
        );
    }
    let controls = controls.map(SideTable::complete).transpose()?;
    sheet.finish(&parts.join("\n"), controls)
}

/// True if the error is that a file has no packet to measure.
fn is_without_packets(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            tcpexp::Error::Nothing { .. }
                | tcpexp::Error::Capture {
                    source: tcpexp_capture::Error::Empty,
                    ..
                }
        )
    )
}

/// Adds the selected connections of one capture to the sheet. Returns the text for the terminal and
/// the number of selected connections.
fn one(
    args: &FlowsArgs,
    path: &Path,
    recording: &Recording,
    sheet: &mut Sheet<ConnectionRow>,
    controls: &mut Option<SideTable<ControlRow>>,
) -> anyhow::Result<(String, u64)> {
    let is_one_of_several = args.captures.len() > 1;
    let name: Option<Arc<str>> = is_one_of_several
        .then(|| recording.table_name())
        .transpose()?
        .map(Arc::from);
    let mut table = TopConnections::new(args.select.limit).sorted_by(&args.sort);
    let (mut found, mut latest, mut has_large) = (0_u64, None, false);
    let names_controls = args.control || controls.is_some();
    let passes = if names_controls {
        1 + CONTROL_PASSES
    } else {
        1
    };
    let progress = Progress::watch(&[recording], passes, args.output.quiet);
    let options = args.reading.capture_options().shard(args.part.shard);
    let info = flows(recording, &options, |connections| {
        for connection in &connections {
            if wants(args, connection) {
                found += 1;
                has_large |= connection.directions.iter().any(is_large_sender);
                if sheet.takes_rows() {
                    sheet.add(ConnectionRow::of(name.as_ref(), connection.clone()))?;
                }
                table.add(connection);
                if !args.select.flow.is_empty() {
                    latest = Some(connection.clone());
                }
            }
        }
        Ok::<(), anyhow::Error>(())
    })?;
    let named = names_controls.then(|| name_controls(args, recording, controls));
    let named = named.transpose()?;
    drop(progress);
    warnings::of_capture(&info, path);
    let mut text = table.into_text(FLOW_TABLE_WIDTH);
    if let (1, Some(only)) = (found, &latest) {
        text += &connection_details(only, FLOW_TABLE_WIDTH);
    }
    if let Some(named) = named.filter(|_| args.control) {
        text += "\n";
        text += &named;
    }
    let file = args.output.output.as_deref();
    let shows_text = !sheet.takes_rows() || file.is_some_and(|file| file.as_os_str() != "-");
    // Verdicts take more passes, even if there is none.
    if has_large && shows_text && !args.output.quiet {
        text += &verdicts(args, recording)?;
    }
    let skipped = report::skipped(&info.tally);
    if !skipped.is_empty() && !args.output.quiet {
        text += "\n";
        report::line(&mut text, "skipped", &skipped);
    }
    Ok((text, found))
}

/// Names the congestion controls of the selected senders: returns the text, and adds the rows to
/// `table`.
fn name_controls(
    args: &FlowsArgs,
    recording: &Recording,
    table: &mut Option<SideTable<ControlRow>>,
) -> anyhow::Result<String> {
    let mut controls = Namer::default();
    let mut top = TopControls::new(args.select.limit);
    cwnd(recording, None, &sender_options(args), |rows| {
        for LabelledSenderRow { flow, row } in rows {
            let Some(named) = controls.see(&row) else {
                continue;
            };
            if !args.select.wants_sender(&flow) {
                continue;
            }
            if let Some(table) = table {
                let row = named.clone();
                table.add([Labelled { flow, row }])?;
            }
            top.add(named);
        }
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(top.into_text(FLOW_TABLE_WIDTH))
}

fn sender_options(args: &FlowsArgs) -> CwndOptions {
    CwndOptions::default()
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection())
        .shard(args.part.shard)
}

/// One line per large flow that names what limited it. Empty without a verdict.
fn verdicts(args: &FlowsArgs, recording: &Recording) -> anyhow::Result<String> {
    if recording.file_bytes() > MOST_JUDGED_BYTES {
        return Ok("\n`tcpexp why` names what limited the large flows\n".to_owned());
    }
    let report = why(recording, None, &sender_options(args))?;
    let verdicts = report.verdicts.into_iter();
    let wanted = verdicts.filter(|one| args.select.wants_sender(&one.flow));
    let wanted: Vec<_> = wanted.take(args.select.limit).collect();
    if wanted.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("\n{}", verdict_lines(&wanted, FLOW_TABLE_WIDTH)))
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
