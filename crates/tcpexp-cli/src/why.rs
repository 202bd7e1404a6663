//! `tcpexp why CAPTURE [DST]`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use tcpexp::{CwndOptions, LARGE_BYTES, LabelledVerdict, why};
use tcpexp_table::{FLOW_TABLE_WIDTH, cause_columns, cause_rows, verdict_pages};
use tcpexp_units::counted;

use crate::progress::Progress;
use crate::sender_args::SenderArgs;
use crate::shared_args::{OutputArgs, ReadArgs, SelectArgs, shown_names};
use crate::sheet::Sheet;
use crate::{shown, warnings};

/// Find what limited the large flows of a capture, and for how long
///
/// For each sender of at least 30 kB, prints how long its application, the receiver's window, losses, a
/// policer, the capacity of the path, its own queue, a queue of others, timeouts, the connection setup or
/// the TLS handshake limited it, with the evidence and what would change it. The answer "No certain
/// cause" means that the evidence fits none of these causes. The best capture is one at the sender.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp why src.pcap\n\
\x20 tcpexp why src.pcap dst.pcap --flow :443 -o causes.parquet")]
pub(crate) struct WhyArgs {
    /// Capture, preferably at the sender; `-` is standard input
    pub(crate) src: PathBuf,

    /// Capture at the other end, for the senders there; `-` is standard input
    pub(crate) dst: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sender: SenderArgs,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

pub(crate) fn run(args: &WhyArgs) -> anyhow::Result<()> {
    if let Some(dst) = &args.dst {
        args.sender.require_fitting(&args.src, dst)?;
    }
    let mut sheet = Sheet::create(&args.output, cause_columns())?;
    let (src, dst) = args.reading.open_both(&args.src, args.dst.as_deref())?;
    let captures: Vec<_> = [Some(&src), dst.as_ref()].into_iter().flatten().collect();
    let passes = if dst.is_some() { 6 } else { 4 } + args.reading.extra_passes(captures.len());
    let progress = Progress::watch(&captures, passes, args.output.quiet);
    let options: CwndOptions = args.sender.options().into();
    let options = options
        .tunnels(args.reading.tunnels())
        .select(args.reading.selection());
    let report = why(&src, dst.as_ref(), &options)?;
    drop(progress);
    for (info, capture) in report.infos.iter().zip(captures) {
        warnings::of_capture(info, capture.name());
    }
    let wanted: Vec<LabelledVerdict> = report
        .verdicts
        .into_iter()
        .filter(|one| args.select.wants_sender(&one.flow))
        .collect();
    if wanted.is_empty() {
        let name = shown::path(&args.src);
        if args.select.flow.is_empty() {
            bail!("no sender in {name} has acknowledged data of {LARGE_BYTES} bytes or more");
        }
        let names = shown_names(&args.select.flow);
        bail!("no TCP flow in {name} with {LARGE_BYTES} bytes or more matches {names}");
    }
    if sheet.takes_rows() {
        for one in &wanted {
            sheet.add(cause_rows(one))?;
        }
    }
    let shown = &wanted[..wanted.len().min(args.select.limit)];
    let mut text = verdict_pages(shown, FLOW_TABLE_WIDTH);
    let more = wanted.len() - shown.len();
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nand {}", counted(more, "more sender"));
    }
    sheet.finish(&text, [])
}
