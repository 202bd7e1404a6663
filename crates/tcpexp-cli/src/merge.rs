//! `tcpexp merge PART… -o DIR`.

use std::path::PathBuf;

use tcpexp::{DatasetDir, merge, merge_by_table, merge_pairs};
use tcpexp_store::as_url;

use crate::output;
use crate::shared_args::{StoreArgs, wrong_usage};
use crate::store_options::of_this_run;
use crate::temporary::RemovedOnInterrupt;
use crate::values::parse_directory;
use crate::{analyze, analyze_pairs, failure, fetched, report, shown};

/// Join the datasets of all parts of an analysis into one dataset
///
/// A part is a dataset of `tcpexp analyze --shard I/N`. The result is the dataset of the undivided
/// analysis. With --pairs, the parts are those of all pairs of captures, and the column `pair` of each
/// table names the pair of a row. Refuses the parts if one is missing or given twice, or if they come
/// from different captures or options.
///
/// With --by-table, the parts are whole datasets, folders of them or sweeps. Each table becomes a folder
/// with one file per dataset and nothing else, so `read_parquet("all/rtt")` of `DuckDB`, polars and
/// pandas reads the rows of all datasets. All files of a folder have the same columns: the name of the
/// run, the parameters, and those of the table.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp analyze src.pcap dst.pcap --shard 1/2 -o part1\n\
\x20 tcpexp analyze src.pcap dst.pcap --shard 2/2 -o part2\n\
\x20 tcpexp merge part1 part2 -o run1\n\
\x20 tcpexp merge --pairs pairs.parquet parts -o all\n\
\x20 tcpexp merge --by-table results -o all")]
pub(crate) struct MergeArgs {
    /// Directories of the parts, in any order; with --pairs, directories that hold them
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,

    /// Join the parts of all pairs in a table of `tcpexp pairs`
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,

    /// Write one folder per table, with one file per dataset
    #[arg(long, conflicts_with = "pairs")]
    by_table: bool,

    /// Directory of the dataset
    #[arg(short, long, value_name = "DIR", value_parser = parse_directory)]
    output: PathBuf,

    /// Print no list of tables and no warnings
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    if args.by_table && as_url(&args.output).is_some() {
        return Err(wrong_usage("--by-table writes to a directory on disk"));
    }
    let (dir, _removed) = RemovedOnInterrupt::make(
        || DatasetDir::create_with(&args.output, &of_this_run()),
        DatasetDir::temporary,
    )?;
    if args.by_table {
        return by_table(args, dir);
    }
    if let Some(pairs) = &args.pairs {
        let manifest = merge_pairs(&analyze_pairs::rows(pairs)?, &args.parts, dir)?;
        if args.quiet {
            return Ok(());
        }
        let mut text = analyze::written_tables(&args.output, &manifest.tables);
        let (merged, failed) = (manifest.pairs.len(), manifest.failed_pairs);
        report::line(
            &mut text,
            "pairs",
            &format!("{merged} merged, {failed} failed"),
        );
        return output::print(&text);
    }
    let manifest = merge(&fetched::all_local(&args.parts)?, dir)?;
    if args.quiet {
        return Ok(());
    }
    for warning in &manifest.warnings {
        failure::print_line(&format!("warning: {warning}"));
    }
    output::print(&analyze::written(&args.output, &manifest))
}

fn by_table(args: &MergeArgs, dir: DatasetDir) -> anyhow::Result<()> {
    let tables = merge_by_table(&fetched::all_local(&args.parts)?, dir)?;
    if args.quiet {
        return Ok(());
    }
    let tables = tables
        .iter()
        .map(|written| (written.table.name(), written.rows, written.bytes));
    let mut text = tcpexp_table::dataset::written_text(tables);
    text.push('\n');
    report::line(&mut text, "folders", &shown::path(&args.output));
    output::print(&text)
}
