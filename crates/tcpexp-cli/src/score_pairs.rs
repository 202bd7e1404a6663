//! Which files `tcpexp score` compares.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::args::wrong_usage;

/// Folders in folders that are looked into.
const DEPTH: u32 = 3;

/// A reconstruction and the logs of its truth.
pub(crate) struct Pair {
    /// What a person calls it.
    pub(crate) name: String,
    pub(crate) reconstructed: PathBuf,
    pub(crate) truth: Vec<PathBuf>,
}

/// The pairs that `inputs` name: all folders, or two files each.
pub(crate) fn pairs(inputs: &[PathBuf], at_receiver: bool) -> anyhow::Result<Vec<Pair>> {
    let is_folder = |path: &PathBuf| path.is_dir();
    if inputs.iter().all(is_folder) {
        let mut found = Vec::new();
        for folder in inputs {
            let before = found.len();
            look_into(folder, at_receiver, DEPTH, &mut found)?;
            if found.len() == before {
                bail!(
                    "{} holds no capture with a kernel's log beside it, nor do the folders in it",
                    folder.display()
                );
            }
        }
        return Ok(found);
    }
    if inputs.iter().any(is_folder) || !inputs.len().is_multiple_of(2) {
        return Err(wrong_usage(
            "a reconstruction and its truth make a pair: name two files each, or folders only",
        ));
    }
    let pair = |pair: &[PathBuf]| Pair {
        name: pair[0].display().to_string(),
        reconstructed: pair[0].clone(),
        truth: vec![pair[1].clone()],
    };
    Ok(inputs.chunks(2).map(pair).collect())
}

fn look_into(
    folder: &Path,
    at_receiver: bool,
    depth: u32,
    found: &mut Vec<Pair>,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot open {}", folder.display());
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(cannot)?;
    names.sort();
    let find = |stems: &[&str]| {
        let is = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            stems.iter().any(|stem| name.starts_with(stem)) && path.is_file()
        };
        names.iter().find(is).cloned()
    };
    let captures = if at_receiver {
        ["dst.pcap", "rcv.pcap"]
    } else {
        ["src.pcap", "snd.pcap"]
    };
    let logs = [find(&["probe.csv", "trace.txt"]), find(&["tcpinfo.csv"])];
    if let (Some(reconstructed), [Some(_), _]) = (find(&captures), &logs) {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        found.push(Pair {
            name: name.to_string_lossy().into_owned(),
            reconstructed,
            truth: logs.into_iter().flatten().collect(),
        });
    }
    if depth > 0 {
        for below in names.iter().filter(|path| path.is_dir()) {
            look_into(below, at_receiver, depth - 1, found)?;
        }
    }
    Ok(())
}
