//! `tcpexp explain CAPTURE`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tcpexp::{
    CwndOptions, Explained, ExplainedPacket, Explanation, FlowName, Moment, Recording, explain,
    records,
};
use tcpexp_capture::{NoTime, PcapngWriter};
use tcpexp_measure::sender::EventId;
use tcpexp_table::{explained_columns, explained_text, inferred};

use crate::output::{self, Output};
use crate::progress::Progress;
use crate::sender_args::SenderArgs;
use crate::shared_args::{OutputArgs, ReadArgs, is_wanted, shown_names};
use crate::sheet::Sheet;
use crate::{shown, warnings};

/// List the packets of a flow, with what tcpexp infers from each
///
/// Prints one line per packet of the flow: retransmissions and their causes, duplicate and selective
/// ACKs, zero windows, round-trip times, and the state of the sender that each ACK reaches. If the
/// name of the output ends in .pcapng, the output is a capture of these packets, with the inferences
/// as comments that Wireshark shows. If it contains a whole flow, the commands for one capture compute
/// the same rows from it as from the original.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp explain src.pcap --flow 1 --at 12.5s\n\
\x20 tcpexp cwnd src.pcap --flow 1 --events events.csv\n\
\x20 tcpexp explain src.pcap --flow 1 --event forward.recovery.3 -o recovery.pcapng")]
pub(crate) struct ExplainArgs {
    /// Capture, preferably at the sender; `-` is standard input
    pub(crate) capture: PathBuf,

    /// Select a flow by its number or port, or by a part of "address:port > address:port", as in the
    /// other commands
    #[arg(long, value_name = "FLOW", required = true)]
    pub(crate) flow: Vec<FlowName>,

    /// List only the packets within one round-trip time of this moment (in the forms that --from
    /// accepts)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<Moment>,

    /// List only the packets of this event, named as in the column `event_id` of `tcpexp cwnd
    /// --events`
    #[arg(long, value_name = "ID", conflicts_with = "at")]
    pub(crate) event: Option<EventId>,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let cut = args
        .output
        .output
        .as_deref()
        .filter(|path| is_cut(args, path));
    // Output errors are reported before the long measurement.
    let cut = cut.map(|path| Output::create(Some(path))).transpose()?;
    let sheet = match &cut {
        Some(_) => None,
        None => Some(Sheet::create(&args.output, explained_columns())?),
    };
    let recording = args.reading.open(&args.capture)?;
    let explained = match (args.at, args.event) {
        (Some(at), _) => Explained::At(at),
        (None, Some(event)) => Explained::Event(event),
        (None, None) => Explained::Whole,
    };
    let options: CwndOptions = args.sender.options().into();
    let options = options
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection());
    let passes = 2 + u64::from(args.event.is_some()) + u64::from(cut.is_some());
    let progress = Progress::watch(&[&recording], passes, args.output.quiet);
    let explanation = explain(&recording, &options, explained, |flow| {
        is_wanted(&args.flow, flow.flow, flow.initiator, flow.responder)
    })?;
    if explanation.packets.is_empty() {
        bail!("{}", nothing(args));
    }
    let text = explained_text(&explanation.flows, &explanation.packets);
    let cut = cut.map(|out| write_cut(&recording, &explanation.packets, out));
    let cut = cut.transpose()?;
    drop(progress);
    warnings::of_capture(&explanation.info, &args.capture);
    let Explanation { packets, .. } = explanation;
    match (cut, sheet) {
        (Some(out), _) => {
            out.finish()?;
            if !args.output.quiet {
                output::print(&text)?;
            }
            Ok(())
        }
        (None, Some(mut sheet)) => {
            if sheet.takes_rows() {
                sheet.add(packets)?;
            }
            sheet.finish(&text, [])
        }
        (None, None) => Ok(()),
    }
}

/// True if the output is a capture.
fn is_cut(args: &ExplainArgs, path: &Path) -> bool {
    let ending = path.extension();
    args.output.format.is_none()
        && ending.is_some_and(|ending| ending.eq_ignore_ascii_case("pcapng"))
}

/// Why there is no packet.
fn nothing(args: &ExplainArgs) -> String {
    let (name, flow) = (shown::path(&args.capture), shown_names(&args.flow));
    match (&args.event, &args.at) {
        (Some(event), _) => format!("no flow in {name} that matches {flow} has the event {event}"),
        (None, Some(_)) => {
            format!("no flow in {name} that matches {flow} has a packet near that time")
        }
        (None, None) => format!("no flow in {name} matches {flow}"),
    }
}

/// Writes the packets with their inferences as comments.
fn write_cut(
    recording: &Recording,
    packets: &[ExplainedPacket],
    out: Output,
) -> anyhow::Result<Output> {
    let name = out.name().to_owned();
    let cannot = || format!("cannot write {}", name.display());
    // The file keeps the order of its records, which is not always that of their times.
    let mut sorted: Vec<&ExplainedPacket> = packets.iter().collect();
    sorted.sort_unstable_by_key(|one| one.packet.record);
    let numbers: Vec<u64> = sorted.iter().map(|one| one.packet.record).collect();
    let mut writer = PcapngWriter::new(out).with_context(cannot)?;
    let mut explained = sorted.into_iter();
    records(recording, &numbers, |_, record| {
        let (Ok(at) | Err(NoTime::Outlier(at))) = record.at else {
            return Ok(());
        };
        let comment = explained.next().map(inferred).unwrap_or_default();
        writer
            .packet_with_comment(
                at,
                record.link_type,
                record.wire_bytes,
                record.captured,
                &comment,
            )
            .with_context(cannot)
    })?;
    let mut out = writer.into_inner();
    out.flush().with_context(cannot)?;
    Ok(out)
}
