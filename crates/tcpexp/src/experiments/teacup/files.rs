//! The files of TEACUP's experiments, by name.
//!
//! Each file is named `ID_HOST.KIND` or `ID_HOST_KIND.log`, usually with `.gz`. ID is the prefix of
//! the series and `SHORT_VALUE` per varied parameter, joined by `_` (TEACUP 1.1, system report, section
//! on log files).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Number of levels of directories searched below the given one. TEACUP writes each series to its own
/// directory.
const MAX_DEPTH: usize = 3;
/// Name of the file that lists the experiments that ended.
const COMPLETED: &str = "experiments_completed.txt";
/// Extensions of compressed files.
const COMPRESSED: [&str; 3] = [".gz", ".bz2", ".xz"];
/// End of the name of a capture.
const CAPTURE: &str = ".dmp";
/// Ends of the names of captures that were not taken at a host's testbed interface: the captures of
/// the router, and of the pings that synchronise clocks.
const OTHER_CAPTURES: [&str; 2] = ["_router", "_ctl"];
/// Logs of a host with the state of senders: end of the name, and kind in records.
const LOGS: [(&str, &str); 2] = [("_siftr.log", "siftr"), ("_web10g.log", "web10g")];
/// The log with the value of each variable.
const VARIABLES: &str = "_config_vars.log";
/// The log with the short name of each varied variable.
const SHORT_NAMES: &str = "_varying_params.log";
/// The log with the addresses of a host.
const ADDRESSES: &str = "_ifconfig.log";

/// One experiment.
#[derive(Debug, Default)]
pub(super) struct Experiment {
    /// Name of the experiment.
    pub(super) id: String,
    /// Name of the directory with its files.
    pub(super) series: String,
    /// Captures of hosts, by host.
    pub(super) captures: BTreeMap<String, PathBuf>,
    /// Logs of senders: host, kind, file.
    pub(super) logs: Vec<(String, &'static str, PathBuf)>,
    /// Logs with addresses, by host.
    pub(super) addresses: BTreeMap<String, PathBuf>,
    /// Log with the value of each variable.
    pub(super) variables: Option<PathBuf>,
    /// Log with the short name of each varied variable.
    pub(super) short_names: Option<PathBuf>,
    /// False if a list of completed experiments lacks it; `None` without a list.
    pub(super) is_completed: Option<bool>,
}

/// The experiments with files below `dir`, sorted by name.
pub(super) fn experiments(dir: &Path) -> io::Result<Vec<Experiment>> {
    let mut folders = Vec::new();
    folders_below(dir, MAX_DEPTH, &mut folders)?;
    let mut found = Vec::new();
    let completed: Vec<String> = folders
        .iter()
        .chain(dir.canonicalize()?.parent().map(Path::to_owned).as_ref())
        .filter_map(|folder| std::fs::read_to_string(folder.join(COMPLETED)).ok())
        .collect();
    for folder in folders {
        found.extend(experiments_in(&folder)?);
    }
    for experiment in &mut found {
        let ids = || completed.iter().flat_map(|list| list.lines());
        experiment.is_completed =
            (!completed.is_empty()).then(|| ids().any(|id| id.trim() == experiment.id));
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// The directory, and those below it.
fn folders_below(dir: &Path, depth: usize, into: &mut Vec<PathBuf>) -> io::Result<()> {
    into.push(dir.to_owned());
    if depth == 0 {
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in dir.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            below.push(entry.path());
        }
    }
    below.sort_unstable();
    for folder in below {
        folders_below(&folder, depth - 1, into)?;
    }
    Ok(())
}

fn experiments_in(folder: &Path) -> io::Result<Vec<Experiment>> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_file() {
            files.extend(path.file_name().and_then(|name| name.to_str()).map(|name| {
                let end = COMPRESSED.iter().find_map(|end| name.strip_suffix(end));
                (end.unwrap_or(name).to_owned(), path.clone())
            }));
        }
    }
    files.sort_unstable();
    let series = folder.file_name().unwrap_or_default().to_string_lossy();
    let with_id = |id: String| Experiment {
        series: series.clone().into_owned(),
        ..Experiment::of(id, &files)
    };
    Ok(ids(&files).into_iter().map(with_id).collect())
}

/// The names of the experiments whose files these are.
fn ids(files: &[(String, PathBuf)]) -> BTreeSet<String> {
    let variables = files
        .iter()
        .filter_map(|(name, _)| name.strip_suffix(VARIABLES));
    let mut ids: BTreeSet<String> = variables.map(str::to_owned).collect();
    for (name, _) in files {
        let is_known = |id: &String| rest_of(name, id).is_some();
        let capture = host_capture(name).filter(|_| !ids.iter().any(is_known));
        // Without the log of variables the name of the host must not contain `_`.
        if let Some((id, _)) = capture.and_then(|stem| stem.rsplit_once('_')) {
            ids.insert(id.to_owned());
        }
    }
    ids
}

/// The name of a host's capture without its end; `None` for other files.
fn host_capture(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(CAPTURE)?;
    let is_other = OTHER_CAPTURES.iter().any(|end| stem.ends_with(end));
    (!is_other).then_some(stem)
}

/// The part of a file's name after the name of its experiment.
fn rest_of<'a>(name: &'a str, id: &str) -> Option<&'a str> {
    name.strip_prefix(id)?.strip_prefix('_')
}

impl Experiment {
    fn of(id: String, files: &[(String, PathBuf)]) -> Self {
        let mut found = Self::default();
        let own = files
            .iter()
            .filter_map(|(name, path)| Some((rest_of(name, &id)?, name, path)));
        for (rest, name, path) in own {
            if let Some(host) = host_capture(rest) {
                found.captures.insert(host.to_owned(), path.clone());
            } else if let Some(host) = rest.strip_suffix(ADDRESSES) {
                found.addresses.insert(host.to_owned(), path.clone());
            } else if *name == format!("{id}{VARIABLES}") {
                found.variables = Some(path.clone());
            } else if *name == format!("{id}{SHORT_NAMES}") {
                found.short_names = Some(path.clone());
            }
            let log = LOGS
                .iter()
                .find_map(|(end, kind)| Some((rest.strip_suffix(end)?.to_owned(), *kind)));
            found
                .logs
                .extend(log.map(|(host, kind)| (host, kind, path.clone())));
        }
        found.id = id;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let series = dir.path().join("exp_1");
        std::fs::create_dir(&series).unwrap();
        for name in names {
            std::fs::write(series.join(name), "").unwrap();
        }
        std::fs::write(dir.path().join(COMPLETED), "exp_1_del_5_run_0\n").unwrap();
        let shown = |one: Experiment| {
            let captures: Vec<&String> = one.captures.keys().collect();
            let logs: Vec<_> = one
                .logs
                .iter()
                .map(|(host, kind, _)| (host, kind))
                .collect();
            let has_variables = one.variables.is_some();
            let completed = one.is_completed;
            format!(
                "{} {captures:?} {logs:?} {has_variables} {completed:?}",
                one.id
            )
        };
        let found = experiments(dir.path()).unwrap();
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn files_belong_to_the_experiment_of_their_name() {
        let names = [
            "exp_1_del_5_run_0_config_vars.log.gz",
            "exp_1_del_5_run_0_varying_params.log.gz",
            "exp_1_del_5_run_0_host1.dmp.gz",
            "exp_1_del_5_run_0_host_2.dmp.gz",
            "exp_1_del_5_run_0_host1_ctl.dmp.gz",
            "exp_1_del_5_run_0_router_em0_router.dmp.gz",
            "exp_1_del_5_run_0_host1_siftr.log.gz",
            "exp_1_del_50_run_0_host1.dmp",
        ];
        insta::assert_snapshot!(found(&names).join("\n"), @r#"
        exp_1_del_50_run_0 ["host1"] [] false Some(false)
        exp_1_del_5_run_0 ["host1", "host_2"] [("host1", "siftr")] true Some(true)
        "#);
    }
}
