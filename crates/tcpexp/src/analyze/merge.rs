//! One dataset from the parts of a divided analysis.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use tcpexp_flow::FlowShard;
use tcpexp_store::StoreOptions;
use tcpexp_table::dataset::{DatasetTable, TableEntry, TableOutput, merge_tables};

use super::dataset_dir::DatasetDir;
use super::manifest::{CaptureInput, Checked, LogInput, Manifest};
use super::option_words::{AS_GIVEN, SHARD};
use super::tables::{file_name, unwritten, written};
use crate::{DatasetError, Error};

/// The part of a dataset; `None` for a whole one.
pub(crate) fn shard_of(manifest: &Manifest) -> Option<FlowShard> {
    manifest.options.get(SHARD)?.as_str()?.parse().ok()
}

/// Names of more missing parts are not listed.
const MOST_NAMED: usize = 8;

/// A dataset of one part.
struct Part {
    path: PathBuf,
    shard: FlowShard,
    manifest: Manifest,
}

/// Joins the datasets of all parts of an analysis to the dataset of the whole.
///
/// `parts` are the directories of the datasets, in any order. All must be of one analysis: the same
/// captures, options and version of tcpexp. The files of the result are those of the undivided
/// analysis, byte for byte. `out` contains the complete dataset on success, and nothing on failure.
/// Memory does not grow with the length of the tables.
pub fn merge(parts: &[PathBuf], out: DatasetDir) -> Result<Manifest, Error> {
    let parts = complete(parts)?;
    let mut tables: Vec<TableEntry> = Vec::new();
    for table in DatasetTable::ALL {
        let name = file_name(table);
        let open = |part: &Part| {
            let stores = StoreOptions::default();
            part.manifest.table(&part.path, table, &stores)
        };
        let files = parts.values().map(open);
        let files = files.collect::<Result<Vec<File>, Error>>()?;
        let path = out.path().join(&name);
        let file = TableOutput::new(out.file(&name)?);
        let (file, rows) =
            merge_tables(table, files, file).map_err(|error| unwritten(path.clone(), error))?;
        tables.push(written(table.name(), rows, file, path)?);
    }
    let Some((_, first)) = parts.into_iter().next() else {
        return Err(missing(1, &[1]).into());
    };
    let mut manifest = first.manifest;
    manifest.options.remove(SHARD);
    manifest.tables = tables;
    manifest.write(&out)?;
    out.finish()?;
    Ok(manifest)
}

/// The parts by number. Fails unless these are all parts of one analysis.
fn complete(paths: &[PathBuf]) -> Result<BTreeMap<u32, Part>, Error> {
    let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
    let mut count = 1;
    for path in paths {
        let part = Part::read(path)?;
        if let Some(other) = parts.values().next() {
            part.require_same_analysis(other)?;
        }
        count = part.shard.count();
        let shard = part.shard;
        if let Some(other) = parts.insert(shard.number(), part) {
            return Err(DatasetError::SamePart {
                path: path.clone(),
                other: other.path,
                shard,
            }
            .into());
        }
    }
    let absent = (1..=count).filter(|number| !parts.contains_key(number));
    let absent: Vec<u32> = absent.take(MOST_NAMED + 1).collect();
    if absent.is_empty() {
        Ok(parts)
    } else {
        Err(missing(count, &absent).into())
    }
}

fn missing(count: u32, absent: &[u32]) -> DatasetError {
    let named = absent.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named.map(|number| format!("{number}/{count}")).collect();
    if absent.len() > MOST_NAMED {
        named.push("and others".to_owned());
    }
    DatasetError::MissingParts {
        count,
        missing: named.join(", "),
    }
}

impl Part {
    fn read(path: &Path) -> Result<Self, Error> {
        let manifest = Manifest::read(path)?;
        let shard = shard_of(&manifest);
        Ok(Self {
            path: path.to_owned(),
            shard: shard.ok_or_else(|| DatasetError::NoPart {
                path: path.to_owned(),
            })?,
            manifest,
        })
    }

    fn require_same_analysis(&self, other: &Self) -> Result<(), Error> {
        match difference(&self.manifest, &other.manifest) {
            None => Ok(()),
            Some(what) => Err(DatasetError::ForeignPart {
                path: self.path.clone(),
                other: other.path.clone(),
                what: what.to_owned(),
            }
            .into()),
        }
    }
}

/// What differs between two datasets that are not parts of one analysis.
pub(crate) fn difference(a: &Manifest, b: &Manifest) -> Option<&'static str> {
    let count = |manifest: &Manifest| shard_of(manifest).map(FlowShard::count);
    let options = |manifest: &Manifest| {
        let mut options = manifest.options.clone();
        options.remove(SHARD);
        // Of the same captures, the moments count: `from_ns` and `to_ns`.
        options.retain(|name, _| !AS_GIVEN.contains(&name.as_str()));
        options
    };
    let differences = [
        (count(a) != count(b), "number of parts"),
        (a.tcpexp_version != b.tcpexp_version, "tcpexp_version"),
        (files(a).ne(files(b)), "captures"),
        (log_contents(a) != log_contents(b), "logs"),
        // With other options, other packets of the same files are counted.
        (options(a) != options(b), "options"),
        (contents(a) != contents(b), "captures"),
        (a.run != b.run, "run"),
        (a.origin_ns != b.origin_ns, "origin_ns"),
        (a.comparison != b.comparison, "comparison"),
        // Warnings follow from the contents and options, and their texts have paths.
    ];
    let mut differences = differences.into_iter();
    Some(differences.find(|(differs, _)| *differs)?.1)
}

/// The identities of the files of the captures.
fn files(manifest: &Manifest) -> impl Iterator<Item = (&str, u64, &str)> {
    let captures = manifest.captures.iter();
    captures.map(|CaptureInput { point, file, .. }| {
        let Checked { bytes, sha256, .. } = file;
        (&**point, *bytes, &**sha256)
    })
}

/// The captures without their paths, which may differ where parts are made on several machines.
fn contents(manifest: &Manifest) -> Vec<CaptureInput> {
    let mut captures = manifest.captures.clone();
    for capture in &mut captures {
        capture.file.path.clear();
        capture.files.iter_mut().for_each(|file| file.path.clear());
    }
    captures
}

/// The logs without their paths.
fn log_contents(manifest: &Manifest) -> Vec<LogInput> {
    let mut logs = manifest.logs.clone();
    for log in &mut logs {
        log.file.path.clear();
    }
    logs
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;

    use super::*;
    use crate::{AnalyzeInputs, AnalyzeOptions, Moment, Recording, analyze};

    #[test]
    fn parts_of_other_times_of_one_capture_differ_in_options() {
        let folder = tempfile::tempdir().unwrap();
        let capture = script::capture("0.00 > S\n0.04 < S.\n0.05 > .\n0.06 > 1:1001(1000)");
        let capture = Recording::spool("src".into(), capture.as_slice()).unwrap();
        let part = |shard: &str, from: Option<&str>| {
            let mut options = AnalyzeOptions {
                shard: shard.parse().ok(),
                ..AnalyzeOptions::default()
            };
            options.selection.from = from.map(|from| from.parse::<Moment>().unwrap());
            let path = folder.path().join(shard.replace('/', "-"));
            let out = DatasetDir::create(&path).unwrap();
            analyze(AnalyzeInputs::new(&capture, None), &options, out).unwrap();
            path
        };
        let merged = |parts: [PathBuf; 2]| {
            let out = DatasetDir::create(&folder.path().join("all")).unwrap();
            merge(&parts, out).map_err(|error| error.to_string())
        };
        let refusal = merged([part("1/2", None), part("2/2", Some("50ms"))]).unwrap_err();
        assert!(refusal.ends_with("they differ in options"), "{refusal}");
        // The same moment may be given in two forms.
        let whole = merged([part("1/2", Some("50ms")), part("2/2", Some("-10ms"))]);
        assert!(whole.is_ok(), "{whole:?}");
    }
}
