//! The datasets of single pairs, or of parts of their flows, that folders hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tcpexp_flow::FlowShard;
use tcpexp_store::{Folder, StoreOptions, Stored, as_url};

use super::record::{ENDING, FailedPart};
use super::task::{CapturePair, PAIR_COLUMN};
use crate::analyze::{MANIFEST_FILE_NAME, OF_CAPTURES, SHARD, difference, shard_of};
use crate::in_order::in_order;
use crate::{DatasetError, Error, Manifest, PairsError};

/// A dataset in a folder of parts.
pub(super) struct Part {
    pub(super) path: PathBuf,
    /// `None` for all flows.
    shard: Option<FlowShard>,
    pub(super) manifest: Manifest,
}

/// What the folders of parts have of one pair.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) datasets: Vec<Part>,
    pub(super) failures: Vec<(PathBuf, FailedPart)>,
}

/// The parts in all folders, by the names of their pairs.
pub(super) fn parts_in(
    folders: &[PathBuf],
    stores: &StoreOptions,
) -> Result<BTreeMap<String, Parts>, Error> {
    let mut paths = Vec::new();
    for folder in folders {
        match as_url(folder) {
            Some(url) => paths.extend(parts_in_store(folder, url, stores)?),
            None => paths.extend(parts_in_directory(folder)?),
        }
    }
    // In parallel, as a store takes its time for each answer.
    let read = in_order(paths.into_par_iter().map(|path| {
        if is_failure(&path) {
            let failure = FailedPart::read(&path, stores)?;
            return Ok::<_, Error>(OfPair::Failure(path, failure));
        }
        let (pair, part) = Part::read(&path, stores)?;
        Ok(OfPair::Dataset(pair, Box::new(part)))
    }));
    let mut found: BTreeMap<String, Parts> = BTreeMap::new();
    for part in read? {
        match part {
            OfPair::Failure(path, failure) => {
                let parts = found.entry(failure.pair.clone()).or_default();
                parts.failures.push((path, failure));
            }
            OfPair::Dataset(pair, part) => found.entry(pair).or_default().datasets.push(*part),
        }
    }
    Ok(found)
}

/// What a folder has of a pair.
enum OfPair {
    Dataset(String, Box<Part>),
    Failure(PathBuf, FailedPart),
}

fn is_failure(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(ENDING.as_bytes())
}

/// Paths of the datasets and of the files with reasons, in the order of their names.
fn parts_in_directory(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let named = |source| Error::Open {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(named)? {
        let path = entry.map_err(named)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_hidden = name.starts_with('.');
        if !is_hidden && (is_failure(&path) || path.join(MANIFEST_FILE_NAME).is_file()) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The same in a store, from one list of all its objects.
fn parts_in_store(path: &Path, url: &str, stores: &StoreOptions) -> Result<Vec<PathBuf>, Error> {
    let objects = Folder::at(url, stores).and_then(|folder| folder.all());
    let objects = objects.map_err(|source| Error::Store {
        path: path.to_owned(),
        source,
    })?;
    let part = |object: Stored| match object.name.split_once('/') {
        None => is_failure(Path::new(&object.name)).then_some(object.name),
        Some((part, MANIFEST_FILE_NAME)) => Some(part.to_owned()),
        Some(_) => None,
    };
    let parts = objects.into_iter().filter_map(part);
    Ok(parts.map(|part| path.join(part)).collect())
}

impl Part {
    /// Reads a part and the name of its pair.
    fn read(path: &Path, stores: &StoreOptions) -> Result<(String, Self), Error> {
        let manifest = Manifest::read_with(path, stores)?;
        let pair = manifest.run.get(PAIR_COLUMN);
        let pair = pair.and_then(|pair| pair.as_str()).map(str::to_owned);
        let pair = pair.ok_or_else(|| PairsError::NoPairPart {
            path: path.to_owned(),
        })?;
        let part = Self {
            path: path.to_owned(),
            shard: shard_of(&manifest),
            manifest,
        };
        Ok((pair, part))
    }
}

/// The names of the parts that a pair lacks.
pub(super) fn absent(pair: &str, parts: &[Part]) -> Result<Vec<String>, Error> {
    let Some(first) = parts.first() else {
        return Ok(vec![pair.to_owned()]);
    };
    let mut present = BTreeMap::new();
    for part in parts {
        if let Some(what) = difference(&part.manifest, &first.manifest) {
            return Err(foreign(&part.path, &first.path, what).into());
        }
        let number = part.shard.map_or(1, FlowShard::number);
        if let Some(other) = present.insert(number, part) {
            return Err(same(part, other).into());
        }
    }
    let count = first.shard.map_or(1, FlowShard::count);
    let absent = (1..=count).filter(|number| !present.contains_key(number));
    Ok(absent
        .map(|number| format!("{pair} {number}/{count}"))
        .collect())
}

fn foreign(path: &Path, other: &Path, what: &str) -> DatasetError {
    DatasetError::ForeignPart {
        path: path.to_owned(),
        other: other.to_owned(),
        what: what.to_owned(),
    }
}

/// Why two equal parts of one analysis cannot be joined.
fn same(part: &Part, other: &Part) -> DatasetError {
    let (path, other) = (part.path.clone(), other.path.clone());
    match part.shard {
        Some(shard) => DatasetError::SamePart { path, other, shard },
        None => DatasetError::SameDataset { path, other },
    }
}

/// Fails unless the parts were made from files of the lengths in the table of pairs.
pub(super) fn require_captures(pair: &CapturePair, parts: &[Part]) -> Result<(), Error> {
    for part in parts {
        let read = part
            .manifest
            .captures
            .iter()
            .map(|capture| capture.file.bytes);
        if read.ne(pair.bytes) {
            return Err(PairsError::OtherFiles {
                path: part.path.clone(),
                pair: pair.pair.name.to_string(),
            }
            .into());
        }
    }
    Ok(())
}

/// How a part was made, or the file with the reason why it could not be made.
pub(super) struct Made {
    path: PathBuf,
    tcpexp_version: String,
    /// Without those of the part's flows and captures.
    options: BTreeMap<String, serde_json::Value>,
}

impl Made {
    fn of(
        path: &Path,
        tcpexp_version: &str,
        options: &BTreeMap<String, serde_json::Value>,
    ) -> Self {
        let mut options = options.clone();
        options.retain(|name, _| name != SHARD && !OF_CAPTURES.contains(&name.as_str()));
        Self {
            path: path.to_owned(),
            tcpexp_version: tcpexp_version.to_owned(),
            options,
        }
    }
}

impl Parts {
    /// How each of the parts was made.
    pub(super) fn made(&self) -> impl Iterator<Item = Made> {
        let datasets = self.datasets.iter().map(|Part { path, manifest, .. }| {
            Made::of(path, &manifest.tcpexp_version, &manifest.options)
        });
        let failures = self
            .failures
            .iter()
            .map(|(path, failure)| Made::of(path, &failure.tcpexp_version, &failure.options));
        datasets.chain(failures)
    }
}

/// The options of all parts, also of those that failed. Fails unless they are equal: a failure with other
/// options says nothing about the analysis of the other parts.
pub(super) fn common_options(
    parts: Vec<Made>,
) -> Result<BTreeMap<String, serde_json::Value>, Error> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else {
        return Ok(BTreeMap::new());
    };
    for part in parts {
        let differences = [
            (part.options != first.options, "options"),
            (
                part.tcpexp_version != first.tcpexp_version,
                "tcpexp_version",
            ),
        ];
        if let Some((_, what)) = differences.into_iter().find(|(differs, _)| *differs) {
            return Err(foreign(&part.path, &first.path, what).into());
        }
    }
    Ok(first.options)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole dataset of a pair by a version of tcpexp.
    fn dataset(path: &str, tcpexp_version: &str) -> Part {
        part(path, tcpexp_version, None, 0)
    }

    /// The part of a pair's flows, from a capture whose first packet is at `origin_ns`.
    fn part(path: &str, tcpexp_version: &str, shard: Option<&str>, origin_ns: i64) -> Part {
        let options = shard.map(|shard| (SHARD, shard));
        let manifest = serde_json::json!({
            "kind": "tcpexp dataset",
            "schema_version": 1,
            "tcpexp_version": tcpexp_version,
            "captures": [],
            "logs": [],
            "options": BTreeMap::from_iter(options),
            "run": {},
            "origin_ns": origin_ns,
            "comparison": null,
            "tables": [],
            "warnings": [],
        });
        Part {
            path: path.into(),
            shard: shard.map(|shard| shard.parse().unwrap()),
            manifest: serde_json::from_value(manifest).unwrap(),
        }
    }

    #[test]
    fn datasets_of_one_pair_by_two_versions_are_not_copies() {
        let refusal = |versions: [&str; 2]| {
            let [a, b] = versions.map(|version| dataset("pair", version));
            let refusal = absent("pair", &[a, b]).unwrap_err();
            refusal.to_string()
        };
        let differ = refusal(["1.0.0", "1.1.0"]);
        assert!(
            differ.ends_with("they differ in tcpexp_version"),
            "{differ}"
        );
        let copies = refusal(["1.1.0", "1.1.0"]);
        assert!(copies.ends_with("are copies of one dataset"), "{copies}");
    }

    #[test]
    fn shards_of_a_pair_from_other_captures_are_refused() {
        let absent_of = |second_origin_ns| {
            let first = part("a", "1.0.0", Some("1/2"), 5);
            let second = part("b", "1.0.0", Some("2/2"), second_origin_ns);
            absent("pair", &[first, second]).map_err(|error| error.to_string())
        };
        assert_eq!(absent_of(5), Ok(Vec::new()));
        let refusal = absent_of(6).unwrap_err();
        assert!(refusal.ends_with("they differ in origin_ns"), "{refusal}");
    }

    #[test]
    fn pairs_with_other_limits_in_time_are_not_merged() {
        let with = |path: &str, from: &str, from_ns: i64| {
            let mut part = dataset(path, "1.0.0");
            let options = &mut part.manifest.options;
            options.insert("from".to_owned(), from.into());
            options.insert("from_ns".to_owned(), from_ns.into());
            part
        };
        let options_of = |other: Part| {
            let datasets = vec![with("pair1", "5ns", 1_005), other];
            let failures = Vec::new();
            let made = Parts { datasets, failures };
            let options = common_options(made.made().collect());
            options.map_err(|error| error.to_string())
        };
        assert_eq!(
            options_of(with("pair2", "5ns", 2_005)).unwrap()["from"],
            "5ns"
        );
        for other in [with("pair2", "6ns", 1_005), dataset("pair2", "1.0.0")] {
            let refusal = options_of(other).unwrap_err();
            assert!(refusal.ends_with("they differ in options"), "{refusal}");
        }
    }

    fn failure(filter: Option<&str>) -> (PathBuf, FailedPart) {
        let failure = FailedPart {
            kind: FailedPart::kind(),
            tcpexp_version: "1.0.0".to_owned(),
            pair: "pair".to_owned(),
            src: Vec::new(),
            dst: Vec::new(),
            options: filter
                .map(|filter| ("filter".to_owned(), filter.into()))
                .into_iter()
                .collect(),
            error: "no packets".to_owned(),
        };
        ("pair.error.json".into(), failure)
    }

    #[test]
    fn a_failure_with_other_options_is_not_merged() {
        let options_of = |datasets: Vec<Part>, failures: &[Option<&str>]| {
            let parts = Parts {
                datasets,
                failures: failures.iter().map(|filter| failure(*filter)).collect(),
            };
            let options = common_options(parts.made().collect());
            options.map_err(|error| error.to_string())
        };
        assert!(options_of(vec![dataset("pair", "1.0.0")], &[None]).is_ok());
        assert_eq!(
            options_of(Vec::new(), &[Some("icmp")]).unwrap()["filter"],
            "icmp"
        );
        for (datasets, failures) in [
            (vec![dataset("pair", "1.0.0")], &[Some("icmp")][..]),
            (Vec::new(), &[None, Some("icmp")][..]),
        ] {
            let refusal = options_of(datasets, failures).unwrap_err();
            assert!(refusal.ends_with("they differ in options"), "{refusal}");
        }
    }
}
