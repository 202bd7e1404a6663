//! `tcpexp merge PART… -o DIR`.

use std::path::PathBuf;

use tcpexp::{DatasetDir, merge};

use crate::output::{self, RemovedOnInterrupt};
use crate::{analyze, failure};

/// Join the datasets of all parts of an analysis to one dataset
///
/// A part is a dataset of `tcpexp analyze --shard I/N`. Each table of the result has the rows of the
/// undivided analysis. A part that is missing, given twice, or of other captures or options is
/// refused.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n\
\x20 tcpexp analyze src.pcap dst.pcap --shard 1/2 -o part1\n\
\x20 tcpexp analyze src.pcap dst.pcap --shard 2/2 -o part2\n\
\x20 tcpexp merge part1 part2 -o run1")]
pub(crate) struct MergeArgs {
    /// Directories of the parts, in any order
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,

    /// Directory of the dataset
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Print no list of tables and no warnings
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    let (dir, _removed) =
        RemovedOnInterrupt::make(|| DatasetDir::create(&args.output), DatasetDir::temporary)?;
    let manifest = merge(&args.parts, dir)?;
    if args.quiet {
        return Ok(());
    }
    for warning in &manifest.warnings {
        failure::print_line(&format!("warning: {warning}"));
    }
    output::print(&analyze::written(&args.output, &manifest))
}
