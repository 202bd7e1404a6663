//! Selects the files that `tcpexp score` compares.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::fetched;
use crate::shared_args::wrong_usage;

/// Maximum depth of the search in folders.
const DEPTH: u32 = 3;
/// End of the name of the kernel's log that a source of a sweep writes; its name comes before. A file may be
/// compressed: `src1-tcp_probe.txt.gz`.
const LOG_OF_SOURCE: &str = "-tcp_probe.txt";

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
    /// Names of runs of a sweep that have captures and logs, but no capture with a log of its source.
    pub(crate) unpaired: Vec<String>,
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
        ..Found::default()
    })
}

fn look_into(
    folder: &Path,
    at_receiver: bool,
    depth: u32,
    found: &mut Found,
) -> anyhow::Result<()> {
    let names = entries(folder)?;
    let find = |stems: &[&str]| {
        let is = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Only the beginning counts, since a file may be compressed: `src.pcap.gz`.
            stems.iter().any(|stem| name.starts_with(stem)) && path.is_file()
        };
        names.iter().find(is).cloned()
    };
    let name = file_name(folder);
    let (src, dst) = (
        find(&["src.pcap", "snd.pcap"]),
        find(&["dst.pcap", "rcv.pcap"]),
    );
    let reconstructed = if at_receiver { &dst } else { &src };
    let logs = [find(&["probe.csv", "trace.txt"]), find(&["tcpinfo.csv"])];
    // `tcpinfo.csv` has neither endpoints nor ACKs, so it only completes a trace.
    if let (Some(reconstructed), [Some(_), _]) = (reconstructed, &logs) {
        found.pairs.push(Pair {
            name: name.clone(),
            reconstructed: reconstructed.clone(),
            truth: logs.into_iter().flatten().collect(),
        });
    }
    if let (Some(src), Some(dst), Some(drops)) = (src, dst, find(&["drops.log"])) {
        found.paths.push(LoggedPath {
            name: name.clone(),
            src,
            dst,
            drops,
        });
    }
    let [captures, logs] = ["captures", "logs"].map(|part| folder.join(part));
    if captures.is_dir() && logs.is_dir() {
        let pairs = pairs_of_run(&name, &captures, &logs, at_receiver)?;
        if pairs.is_empty() {
            found.unpaired.push(name);
        }
        found.pairs.extend(pairs);
    }
    if depth > 0 {
        for below in names.iter().filter(|path| path.is_dir()) {
            look_into(below, at_receiver, depth - 1, found)?;
        }
    }
    Ok(())
}

/// The pairs of a run of a sweep: the captures of the sources, or those of the sinks, with the logs of
/// the sources.
fn pairs_of_run(
    run: &str,
    captures: &Path,
    logs: &Path,
    at_receiver: bool,
) -> anyhow::Result<Vec<Pair>> {
    let captures = by_host(captures, |name| Some(name.split_once(".pcap")?.0))?;
    let mut logs = by_host(logs, |name| {
        let (host, ending) = name.split_once(LOG_OF_SOURCE)?;
        (ending.is_empty() || ending.starts_with('.')).then_some(host)
    })?;
    // Of a log and its compressed copy, one counts.
    logs.dedup_by(|one, other| one.0 == other.0);
    let is_source = |host: &String| logs.iter().any(|(source, _)| source == host);
    let mut pairs = Vec::new();
    for (source, log) in &logs {
        let scored = captures.iter().filter(|(host, _)| {
            if at_receiver {
                !is_source(host)
            } else {
                host == source
            }
        });
        pairs.extend(scored.map(|(host, capture)| Pair {
            name: if logs.len() == 1 {
                run.to_owned()
            } else {
                format!("{run} {host}")
            },
            reconstructed: capture.clone(),
            truth: vec![log.clone()],
        }));
    }
    Ok(pairs)
}

/// The files of a folder whose names contain that of their host, with the host.
fn by_host(
    folder: &Path,
    host_of: impl Fn(&str) -> Option<&str>,
) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let paths = entries(folder)?.into_iter();
    let named = paths.filter_map(|path| Some((host_of(&file_name(&path))?.to_owned(), path)));
    Ok(named.collect())
}

/// The paths in a folder, in the order of their names, which `read_dir` does not keep.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot open {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_compressed_logs_are_scored_and_runs_without_a_pair_are_named() {
        let sweep = tempfile::tempdir().unwrap();
        let files = [
            "plain/captures/src1.pcap",
            "plain/logs/src1-tcp_probe.txt",
            "plain/logs/src1-tcp_probe.txt.gz",
            "compressed/captures/src1.pcap.gz",
            "compressed/logs/src1-tcp_probe.txt.zst",
            "other/captures/src1.pcap",
            "other/logs/src1-ss.log",
        ];
        for file in files {
            let path = sweep.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = found(&[sweep.path().to_owned()], false).unwrap();
        let pairs = found.pairs.iter().map(|pair| {
            let log = file_name(&pair.truth[0]);
            format!("{} {log}", pair.name)
        });
        assert_eq!(
            pairs.collect::<Vec<_>>(),
            [
                "compressed src1-tcp_probe.txt.zst",
                "plain src1-tcp_probe.txt"
            ]
        );
        assert_eq!(found.unpaired, ["other"]);
    }
}
