//! Selects the files that `tcpexp score` compares.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::fetched;
use crate::shared_args::wrong_usage;

/// Maximum depth of the search in folders.
const DEPTH: u32 = 3;

/// A reconstruction and the logs with its truth.
pub(crate) struct Pair {
    /// Name in the output.
    pub(crate) name: String,
    pub(crate) reconstructed: PathBuf,
    pub(crate) truth: Vec<PathBuf>,
}

/// Captures at both ends of a path, and the drop log of its bottleneck.
pub(crate) struct LoggedPath {
    /// Name in the output.
    pub(crate) name: String,
    pub(crate) src: PathBuf,
    pub(crate) dst: PathBuf,
    pub(crate) drops: PathBuf,
}

/// Everything to compare.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) paths: Vec<LoggedPath>,
}

impl Found {
    fn len(&self) -> usize {
        self.pairs.len() + self.paths.len()
    }
}

/// Returns the pairs in `inputs`, which are either folders only or files in pairs.
pub(crate) fn found(inputs: &[PathBuf], at_receiver: bool) -> anyhow::Result<Found> {
    let is_folder = |path: &PathBuf| path.is_dir();
    if inputs.iter().all(is_folder) {
        let mut found = Found::default();
        for folder in inputs {
            let before = found.len();
            look_into(folder, at_receiver, DEPTH, &mut found)?;
            if found.len() == before {
                bail!(
                    "{} and its subdirectories contain no capture with a log of a kernel or a bottleneck beside it",
                    folder.display()
                );
            }
        }
        return Ok(found);
    }
    if inputs.iter().any(is_folder) || !inputs.len().is_multiple_of(2) {
        return Err(wrong_usage(
            "expected pairs of files (reconstruction and truth), or folders only",
        ));
    }
    let pair = |pair: &[PathBuf]| Pair {
        name: fetched::as_given(&pair[0]).display().to_string(),
        reconstructed: pair[0].clone(),
        truth: vec![pair[1].clone()],
    };
    Ok(Found {
        pairs: inputs.chunks(2).map(pair).collect(),
        paths: Vec::new(),
    })
}

fn look_into(
    folder: &Path,
    at_receiver: bool,
    depth: u32,
    found: &mut Found,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot open {}", folder.display());
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(cannot)?;
    // `read_dir` returns names in no fixed order.
    names.sort();
    let find = |stems: &[&str]| {
        let is = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Only the beginning counts, since a file may be compressed: `src.pcap.gz`.
            stems.iter().any(|stem| name.starts_with(stem)) && path.is_file()
        };
        names.iter().find(is).cloned()
    };
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    let name = name.to_string_lossy();
    let (src, dst) = (
        find(&["src.pcap", "snd.pcap"]),
        find(&["dst.pcap", "rcv.pcap"]),
    );
    let reconstructed = if at_receiver { &dst } else { &src };
    let logs = [find(&["probe.csv", "trace.txt"]), find(&["tcpinfo.csv"])];
    // `tcpinfo.csv` has neither endpoints nor ACKs, so it only completes a trace.
    if let (Some(reconstructed), [Some(_), _]) = (reconstructed, &logs) {
        found.pairs.push(Pair {
            name: name.clone().into_owned(),
            reconstructed: reconstructed.clone(),
            truth: logs.into_iter().flatten().collect(),
        });
    }
    if let (Some(src), Some(dst), Some(drops)) = (src, dst, find(&["drops.log"])) {
        found.paths.push(LoggedPath {
            name: name.into_owned(),
            src,
            dst,
            drops,
        });
    }
    if depth > 0 {
        for below in names.iter().filter(|path| path.is_dir()) {
            look_into(below, at_receiver, depth - 1, found)?;
        }
    }
    Ok(())
}
