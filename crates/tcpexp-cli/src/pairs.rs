//! `tcpexp pairs SRC DST`.

use std::path::PathBuf;

use anyhow::bail;
use tcpexp::find_pairs_with;
use tcpexp_table::{pair_columns, pairs_text};

use crate::shared_args::{OutputArgs, StoreArgs};
use crate::sheet::Sheet;
use crate::shown;
use crate::store_options::of_this_run;

/// Find the pairs of captures in two folders
///
/// Captures with the same name form a pair. The comparison ignores file extensions, words for points
/// (src, snd, sender, client; dst, rcv, receiver, server), and the numbers that tcpdump and dumpcap give
/// to rotated files; rotated files are one capture. Two captures without a common name form a pair if
/// only these two were taken at the same time. The table has one row per file. The row of a file without
/// a partner states the reason.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n\
\x20 tcpexp pairs client server -o pairs.parquet\n\
\x20 tcpexp analyze --pairs pairs.parquet -o parts\n\
\x20 tcpexp merge --pairs pairs.parquet parts -o all")]
pub(crate) struct PairsArgs {
    /// Folder with the captures at the source, and folders below it; or a quoted pattern
    ///
    /// `s3://BUCKET/PREFIX` stands for all objects below it.
    src: PathBuf,

    /// The same for the destination; if both folders are the same, the names identify the points
    dst: PathBuf,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    stores: StoreArgs,
}

pub(crate) fn run(args: &PairsArgs) -> anyhow::Result<()> {
    let mut sheet = Sheet::create(&args.output, pair_columns())?;
    let rows = find_pairs_with(&args.src, &args.dst, &of_this_run())?;
    if rows.iter().all(|row| row.pair.is_none()) {
        let (src, dst) = (shown::path(&args.src), shown::path(&args.dst));
        let reasons = rows.iter().filter_map(|row| {
            let reason = row.reason.as_deref()?;
            Some(format!("{}: {reason}", row.file))
        });
        let first = reasons.take(1).collect::<String>();
        bail!("no pair in {src} and {dst}: {first}");
    }
    let text = pairs_text(&rows);
    sheet.add(rows)?;
    sheet.finish(&text, [])
}
