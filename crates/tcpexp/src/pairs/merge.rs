//! One dataset from those of many pairs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tcpexp_flow::FlowShard;
use tcpexp_store::{Folder, StoreOptions, Stored, as_url};
use tcpexp_table::dataset::{DatasetTable, MergedTable};
use tcpexp_table::{
    FailedPairRow, Format, PairFileRow, PairName, RowsWriter, TABLE_VERSION, failed_pair_columns,
};

use super::record::{ENDING, FailedPart};
use super::task::{CapturePair, PAIR_COLUMN, pairs_of};
use crate::analyze::{
    MANIFEST_FILE_NAME, PAIRS_KIND, SHARD, buffered, file_name, shard_of, unwritten,
};
use crate::contents::Contents;
use crate::{CaptureInput, Comparison, DatasetDir, Error, Manifest, TableEntry};

/// Pairs whose parts are opened together: a store takes tens of milliseconds for each object.
const OPENED: usize = 16;

/// Names of more missing pairs are not listed.
const MOST_NAMED: usize = 8;

/// Name of the table of the pairs that could not be analysed.
const ERRORS: &str = "errors";

/// Options of a manifest that depend on the captures.
const OF_CAPTURES: [&str; 2] = ["from_ns", "to_ns"];

/// Description of a dataset of many pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsManifest {
    /// Kind of the file: `tcpexp dataset of pairs`.
    pub kind: String,
    /// Version of the tables' columns.
    pub schema_version: u32,
    /// Version of tcpexp that wrote the dataset.
    pub tcpexp_version: String,
    /// Options of the analysis.
    pub options: BTreeMap<String, serde_json::Value>,
    /// The tables, in the order of the documentation, then the table of errors.
    pub tables: Vec<TableEntry>,
    /// The pairs with rows in the tables, in the order of their numbers.
    pub pairs: Vec<MergedPair>,
    /// Number of pairs that could not be analysed.
    pub failed_pairs: u64,
}

/// A pair in a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedPair {
    /// Number of the pair.
    pub number: u64,
    /// Name of the pair, which is in the column `pair`.
    pub name: String,
    /// The captures, source first.
    pub captures: Vec<CaptureInput>,
    /// Origin of the column `time_s`, in nanoseconds since 1970 on the source's clock.
    pub origin_ns: i64,
    /// Comparison of the two captures.
    pub comparison: Option<Comparison>,
    /// Warnings about the pair, one per line.
    pub warnings: Vec<String>,
}

/// A dataset in a folder of parts.
struct Part {
    path: PathBuf,
    /// `None` for all flows.
    shard: Option<FlowShard>,
    manifest: Manifest,
}

/// What the folders of parts have of one pair.
#[derive(Default)]
struct Parts {
    datasets: Vec<Part>,
    failures: Vec<(PathBuf, FailedPart)>,
}

/// Joins the datasets of all pairs to one dataset.
///
/// `rows` is the table of the pairs, and `folders` hold the parts that
/// [`PairTask`](super::PairTask)s wrote. The rows of a table are in the order of the pairs, and those
/// of one pair in the order of its own dataset. A pair that failed is a row of the table `errors`. A
/// pair without a part, and a part of another pair or of other options, are an error. `out` contains
/// the complete dataset on success, and nothing on failure. Memory does not grow with the number of
/// rows.
pub fn merge_pairs(
    rows: &[PairFileRow],
    folders: &[PathBuf],
    out: DatasetDir,
) -> Result<PairsManifest, Error> {
    let pairs = pairs_of(rows)?;
    let mut found = parts_in(folders, out.stores())?;
    let mut failed = Vec::new();
    let mut missing = Vec::new();
    let mut whole: Vec<(CapturePair, Vec<Part>)> = Vec::new();
    for pair in pairs {
        let parts = found.remove(&*pair.pair.name).unwrap_or_default();
        let absent = absent(&pair.pair.name, &parts.datasets)?;
        match parts.failures.first() {
            Some((_, failure)) if !absent.is_empty() => failed.push(row(&pair.pair, failure)),
            _ if absent.is_empty() => {
                require_captures(&pair, &parts.datasets)?;
                whole.push((pair, parts.datasets));
            }
            _ => missing.extend(absent),
        }
    }
    if let Some((pair, parts)) = found.into_iter().next() {
        let datasets = parts.datasets.into_iter().map(|part| part.path);
        let mut paths = datasets.chain(parts.failures.into_iter().map(|(path, _)| path));
        return Err(Error::OtherPair {
            path: paths.next().unwrap_or_default(),
            pair,
        });
    }
    if !missing.is_empty() {
        return Err(missing_pairs(&missing));
    }
    let options = common_options(&whole)?;
    // Each table has a file of its own.
    let tables: Result<Vec<TableEntry>, Error> = DatasetTable::ALL
        .into_par_iter()
        .map(|table| merged_table(table, &whole, &out))
        .collect();
    let mut tables = tables?;
    tables.push(written_errors(&failed, &out)?);
    let merged = |(pair, parts): (CapturePair, Vec<Part>)| {
        let manifest = parts.into_iter().next()?.manifest;
        Some(MergedPair {
            number: pair.pair.number,
            name: pair.pair.name.to_string(),
            captures: manifest.captures,
            origin_ns: manifest.origin_ns,
            comparison: manifest.comparison,
            warnings: manifest.warnings,
        })
    };
    let manifest = PairsManifest {
        kind: PAIRS_KIND.to_owned(),
        schema_version: TABLE_VERSION,
        tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
        options,
        tables,
        pairs: whole.into_iter().filter_map(merged).collect(),
        failed_pairs: failed.len() as u64,
    };
    manifest.write(&out)?;
    out.finish()?;
    Ok(manifest)
}

/// The parts in all folders, by the names of their pairs.
fn parts_in(folders: &[PathBuf], stores: &StoreOptions) -> Result<BTreeMap<String, Parts>, Error> {
    let mut paths = Vec::new();
    for folder in folders {
        match as_url(folder) {
            Some(url) => paths.extend(parts_in_store(folder, url, stores)?),
            None => paths.extend(parts_in_directory(folder)?),
        }
    }
    // In parallel, as a store takes its time for each answer.
    let read: Result<Vec<_>, Error> = paths
        .into_par_iter()
        .map(|path| {
            if is_failure(&path) {
                let failure = FailedPart::read(&path, stores)?;
                return Ok(OfPair::Failure(path, failure));
            }
            let (pair, part) = Part::read(&path, stores)?;
            Ok(OfPair::Dataset(pair, Box::new(part)))
        })
        .collect();
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
        let pair = pair.ok_or_else(|| Error::NoPairPart {
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
fn absent(pair: &str, parts: &[Part]) -> Result<Vec<String>, Error> {
    let Some(first) = parts.first() else {
        return Ok(vec![pair.to_owned()]);
    };
    let count = first.shard.map_or(1, FlowShard::count);
    let mut present = BTreeMap::new();
    for part in parts {
        let number = part.shard.map_or(1, FlowShard::number);
        let is_like_first = part.shard.map(FlowShard::count) == first.shard.map(FlowShard::count);
        let namesake = present.insert(number, part);
        let other = match namesake {
            None if is_like_first => continue,
            Some(other) => other,
            None => first,
        };
        let is_same_input = part.manifest.captures == other.manifest.captures;
        return Err(Error::ForeignPart {
            path: part.path.clone(),
            other: other.path.clone(),
            what: if is_same_input { "options" } else { "captures" }.to_owned(),
        });
    }
    let absent = (1..=count).filter(|number| !present.contains_key(number));
    Ok(absent
        .map(|number| format!("{pair} {number}/{count}"))
        .collect())
}

/// Fails unless the parts were made from files of the lengths in the table of pairs.
fn require_captures(pair: &CapturePair, parts: &[Part]) -> Result<(), Error> {
    for part in parts {
        let read = part
            .manifest
            .captures
            .iter()
            .map(|capture| capture.file.bytes);
        if read.ne(pair.bytes) {
            return Err(Error::OtherFiles {
                path: part.path.clone(),
                pair: pair.pair.name.to_string(),
            });
        }
    }
    Ok(())
}

/// The options of all parts, which are equal.
fn common_options(
    pairs: &[(CapturePair, Vec<Part>)],
) -> Result<BTreeMap<String, serde_json::Value>, Error> {
    let options = |part: &Part| {
        let mut options = part.manifest.options.clone();
        options.retain(|name, _| name != SHARD && !OF_CAPTURES.contains(&name.as_str()));
        options
    };
    let mut parts = pairs.iter().flat_map(|(_, parts)| parts);
    let Some(first) = parts.next() else {
        return Ok(BTreeMap::new());
    };
    let known = options(first);
    for part in parts {
        let differences = [
            (options(part) != known, "options"),
            (
                part.manifest.tcpexp_version != first.manifest.tcpexp_version,
                "tcpexp_version",
            ),
        ];
        if let Some((_, what)) = differences.into_iter().find(|(differs, _)| *differs) {
            return Err(Error::ForeignPart {
                path: part.path.clone(),
                other: first.path.clone(),
                what: what.to_owned(),
            });
        }
    }
    Ok(known)
}

fn merged_table(
    table: DatasetTable,
    pairs: &[(CapturePair, Vec<Part>)],
    out: &DatasetDir,
) -> Result<TableEntry, Error> {
    let name = file_name(table);
    let path = out.path().join(&name);
    let unmerged = |error| unwritten(path.clone(), error);
    let open = |part: &Part| Contents::file(&part.path.join(&name), out.stores());
    let first = pairs.iter().find_map(|(_, parts)| parts.first());
    let first = first.map(open).transpose()?;
    let file = buffered(out.file(&name)?);
    let mut merged = MergedTable::new(table, first.as_ref(), file).map_err(unmerged)?;
    for some in pairs.chunks(OPENED) {
        let of_pair = |(_, parts): &(CapturePair, Vec<Part>)| parts.iter().map(open).collect();
        let opened: Result<Vec<Vec<File>>, Error> = some.par_iter().map(of_pair).collect();
        for files in opened? {
            merged.append(files).map_err(unmerged)?;
        }
    }
    let (file, rows) = merged.finish().map_err(unmerged)?;
    entry(table.name(), rows, file, path.clone())
}

fn written_errors(failed: &[FailedPairRow], out: &DatasetDir) -> Result<TableEntry, Error> {
    let name = format!("{ERRORS}.parquet");
    let path = out.path().join(&name);
    let unwritten = |error| unwritten(path.clone(), error);
    let file = buffered(out.file(&name)?);
    let table = RowsWriter::new(Format::Parquet, failed_pair_columns(), file);
    let mut table = table.map_err(unwritten)?;
    table.write(failed.iter().cloned()).map_err(unwritten)?;
    let file = table.finish().map_err(unwritten)?;
    entry(ERRORS, failed.len() as u64, file, path.clone())
}

/// Describes a complete table.
fn entry(name: &str, rows: u64, file: BufWriter<File>, path: PathBuf) -> Result<TableEntry, Error> {
    let length = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)
        .and_then(|file| file.metadata());
    let metadata = length.map_err(|source| Error::Write { path, source })?;
    Ok(TableEntry {
        name: name.to_owned(),
        file: format!("{name}.parquet"),
        rows,
        bytes: metadata.len(),
    })
}

fn row(pair: &PairName, failure: &FailedPart) -> FailedPairRow {
    let first = |files: &[String]| files.first().cloned().unwrap_or_default();
    FailedPairRow {
        pair: pair.clone(),
        src: first(&failure.src),
        dst: first(&failure.dst),
        error: failure.error.clone(),
    }
}

fn missing_pairs(missing: &[String]) -> Error {
    let named = missing.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named.cloned().collect();
    if missing.len() > MOST_NAMED {
        named.push(format!("and {} others", missing.len() - MOST_NAMED));
    }
    Error::MissingPairs {
        missing: named.join(", "),
    }
}

impl PairsManifest {
    fn write(&self, dir: &DatasetDir) -> Result<(), Error> {
        let cannot = |source| Error::Write {
            path: dir.path().join(MANIFEST_FILE_NAME),
            source,
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| cannot(error.into()))?;
        text.push('\n');
        let mut file = dir.file(MANIFEST_FILE_NAME)?;
        file.write_all(text.as_bytes()).map_err(cannot)
    }
}
