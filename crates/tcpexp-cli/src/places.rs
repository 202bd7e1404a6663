//! Checks that outputs do not overwrite inputs or each other.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use tcpexp::{DatasetError, Manifest, partial};
use tcpexp_store::as_url;
use tcpexp_table::dataset::PAIRS_MANIFEST_KIND;

use crate::shared_args::wrong_usage;
use crate::{shown, standard_output};

/// Arguments that name a file or directory to write.
const OUTPUTS: [&str; 8] = [
    "output",
    "plot",
    "flows",
    "events",
    "runs",
    "junit",
    "control_table",
    "metrics",
];
/// Arguments that name files or directories to read.
const INPUTS: [&str; 15] = [
    "src",
    "dst",
    "more",
    "capture",
    "captures",
    "log",
    "truth",
    "data",
    "inputs",
    "dir",
    "plan",
    "parts",
    "pairs",
    "survey",
    "baseline_dir",
];

/// Rejects an output that is also an input, that another argument also writes, or that lies in a
/// dataset. Runs before any file is opened.
pub(crate) fn check(matches: &ArgMatches) -> anyhow::Result<()> {
    // The arguments belong to the innermost subcommand, such as `box` of `plot`.
    let (mut name, mut leaf) = ("", matches);
    while let Some((inner_name, inner)) = leaf.subcommand() {
        (name, leaf) = (inner_name, inner);
    }
    let outputs: Vec<PathBuf> = values(leaf, &OUTPUTS);
    let mut inputs: Vec<PathBuf> = values(leaf, &INPUTS);
    // A log argument of `analyze` is KIND=FILE.
    let files = inputs.iter().filter_map(|input| {
        let (_, file) = input.to_str()?.split_once('=')?;
        Some(PathBuf::from(file))
    });
    let files: Vec<_> = files.collect();
    inputs.extend(files);
    let read: Vec<PathBuf> = inputs.iter().filter_map(|input| place(input)).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for output in &outputs {
        let Some(place) = place(output) else { continue };
        let refuse = |why: &str| Err(wrong_usage(&format!("{} {why}", shown::path(output))));
        if read.contains(&place) || inputs.iter().any(|input| is_same_file(input, output)) {
            return refuse(IS_INPUT);
        }
        if written.contains(&place) {
            return refuse("is named for two outputs");
        }
        // A further file would become a part of the dataset, or keep `analyze` from replacing it.
        if place.ancestors().skip(1).any(is_dataset) {
            return refuse(
                "is in the directory of a dataset, which only `analyze` and `merge` write",
            );
        }
        if !replaces_dataset(name, leaf) && place.is_dir() && is_dataset(&place) {
            return refuse(
                "is the directory of a dataset, which only `analyze` and `merge` replace: name another output",
            );
        }
        written.push(place);
    }
    // After `>> FILE` of a shell, the output would change the input during the reading.
    #[cfg(unix)]
    if let Some(input) = inputs.iter().find(|input| is_standard_output(input)) {
        let input = shown::path(input);
        return Err(wrong_usage(&format!(
            "standard output is {input}, which is also an input"
        )));
    }
    Ok(())
}

/// True if the command replaces the directory of a dataset by another dataset. Other commands write their
/// files beside those that a directory has.
fn replaces_dataset(command: &str, arguments: &ArgMatches) -> bool {
    match command {
        "analyze" => values(arguments, &["pairs"]).is_empty(),
        "merge" => true,
        _ => false,
    }
}

/// Rejects an output that is one of the files found in a folder of inputs.
pub(crate) fn check_found<'a>(
    output: Option<&Path>,
    mut inputs: impl Iterator<Item = &'a Path>,
) -> anyhow::Result<()> {
    match output {
        Some(output) if inputs.any(|input| is_same_file(input, output)) => {
            Err(wrong_usage(&format!("{} {IS_INPUT}", shown::path(output))))
        }
        _ => Ok(()),
    }
}

const IS_INPUT: &str = "is an input: name another file for the output";

/// True if both paths lead to one file, by a symbolic or a hard link.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let of = |path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    of(one)
        .zip(of(other))
        .is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    place(one).is_some_and(|one| place(other) == Some(one))
}

fn values(matches: &ArgMatches, names: &[&str]) -> Vec<PathBuf> {
    names
        .iter()
        // `try_get_raw` fails for an argument that the command does not have.
        .filter_map(|name| matches.try_get_raw(name).ok().flatten())
        .flatten()
        .map(PathBuf::from)
        .collect()
}

/// True if `dir` holds a dataset of this version or another, of one run or of many pairs.
fn is_dataset(dir: &Path) -> bool {
    match Manifest::read(dir) {
        Ok(_) | Err(tcpexp::Error::Dataset(DatasetError::Version { .. })) => true,
        Err(tcpexp::Error::Dataset(DatasetError::OtherManifest { kind, .. })) => {
            kind == PAIRS_MANIFEST_KIND
        }
        Err(_) => false,
    }
}

/// Returns the canonical path of a file or directory, existing or not, and the URL of an object; `None`
/// for streams and devices.
fn place(path: &Path) -> Option<PathBuf> {
    if path.as_os_str() == "-" {
        return None;
    }
    if as_url(path).is_some() {
        return Some(path.to_owned());
    }
    let path = &partial::final_place(path);
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => None,
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) => {
            // Only the directory of a new file has a canonical path.
            let folder = fs::canonicalize(partial::folder_of(path)).ok()?;
            Some(folder.join(path.file_name()?))
        }
    }
}

#[cfg(unix)]
fn is_standard_output(input: &Path) -> bool {
    fs::metadata(input).is_ok_and(|input| input.is_file() && standard_output::is_of(&input))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory, ValueHint};

    use super::*;
    use crate::args::Args;

    /// Files that are neither results nor what results are made of.
    const OTHERS: [&str; 9] = [
        "ssh_config",
        "cache",
        "config",
        "from",
        "kernel",
        "kernels",
        "modules",
        "share",
        "out",
    ];

    #[test]
    fn only_another_dataset_replaces_a_dataset() {
        use tcpexp::{AnalyzeInputs, AnalyzeOptions, DatasetDir, Recording, analyze};

        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let capture = tcpexp_testkit::script::capture("0.00 > S\n0.04 < S.\n0.05 > .");
        let src = Recording::spool("src".into(), capture.as_slice()).unwrap();
        let out = DatasetDir::create(&data).unwrap();
        analyze(
            AnalyzeInputs::new(&src, None),
            &AnalyzeOptions::default(),
            out,
        )
        .unwrap();
        let checked = |line: &str| {
            let words = line.split(' ').map(PathBuf::from);
            let command = words.chain([PathBuf::from("-o"), data.clone()]);
            check(&Args::command().try_get_matches_from(command).unwrap())
        };
        for line in [
            "tcpexp analyze s r",
            "tcpexp merge a b",
            "tcpexp merge --pairs p a",
        ] {
            assert!(checked(line).is_ok(), "{line}");
        }
        for line in [
            "tcpexp split s --parts 2",
            "tcpexp analyze --pairs p",
            "tcpexp export flent sweep",
            "tcpexp flows s",
        ] {
            let refusal = checked(line).unwrap_err().to_string();
            assert!(
                refusal.contains("is the directory of a dataset"),
                "{line}: {refusal}"
            );
        }
    }

    #[test]
    fn every_path_argument_is_declared() {
        let mut commands: Vec<Command> = vec![Args::command()];
        let mut seen = 0;
        while let Some(command) = commands.pop() {
            for arg in command.get_arguments() {
                if arg.get_value_hint() == ValueHint::AnyPath {
                    let name = arg.get_id().as_str();
                    let is_known = [&OUTPUTS[..], &INPUTS, &OTHERS].concat().contains(&name);
                    assert!(is_known, "{} {name}", command.get_name());
                    seen += 1;
                }
            }
            commands.extend(command.get_subcommands().cloned());
        }
        assert!(seen > 20, "{seen} arguments");
    }
}
