//! The analysis of one pair to a dataset of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tcpexp_pair::spp::Point;
use tcpexp_store::{Object, as_url};
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_table::{PairFileRow, PairName, TABLE_VERSION};
use tcpexp_units::with_causes;

use super::passing::{is_passing, is_passing_io};
use super::record::{ENDING, FailedPart};
use crate::analyze::{MANIFEST_FILE_NAME, OF_CAPTURES, columns_of_run, option_words};
use crate::contents::Contents;
use crate::learned::Fingerprint;
use crate::set::open_files;
use crate::{
    AnalyzeInputs, AnalyzeOptions, DatasetDir, Error, Manifest, PairsError, Recording, analyze,
    checksum,
};

/// The column of all tables that names the pair.
pub(crate) const PAIR_COLUMN: &str = "pair";

/// Hexadecimal digits of a part's name. With 64 bits, two of a million pairs have one name with a
/// probability of 3 in 10⁸.
const NAME_DIGITS: usize = 16;

/// The captures of one path at two points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePair {
    /// Number and name.
    pub pair: PairName,
    /// The files of each capture, by [`Point::index`].
    pub files: [Vec<PathBuf>; 2],
    /// Their length in bytes, by [`Point::index`].
    pub bytes: [u64; 2],
}

/// The pairs of a table of [`find_pairs`](super::find_pairs), in the order of their numbers. Rows of
/// files without a partner are left out.
pub fn pairs_of(rows: &[PairFileRow]) -> Result<Vec<CapturePair>, Error> {
    let mut pairs: BTreeMap<u64, CapturePair> = BTreeMap::new();
    for row in rows {
        let Some((pair, point)) = row.pair.as_ref().zip(row.point) else {
            continue;
        };
        let known = pairs.entry(pair.number).or_insert_with(|| CapturePair {
            pair: pair.clone(),
            files: [Vec::new(), Vec::new()],
            bytes: [0; 2],
        });
        if known.pair != *pair {
            return Err(PairsError::PairNames {
                one: known.pair.name.to_string(),
                other: pair.name.to_string(),
            }
            .into());
        }
        let path = PathBuf::from(&row.file);
        if known.files[point.index()].contains(&path) {
            return Err(PairsError::FileTwice {
                pair: pair.name.to_string(),
                point: point.name(),
                path,
            }
            .into());
        }
        known.files[point.index()].push(path);
        known.bytes[point.index()] += row.bytes;
    }
    let mut names = BTreeSet::new();
    for pair in pairs.values() {
        let name = &pair.pair.name;
        if let Some(point) = Point::BOTH
            .into_iter()
            .find(|point| pair.files[point.index()].is_empty())
        {
            return Err(PairsError::HalfPair {
                pair: name.to_string(),
                point: point.name(),
            }
            .into());
        }
        if !names.insert(Arc::clone(name)) {
            return Err(PairsError::PairNames {
                one: name.to_string(),
                other: name.to_string(),
            }
            .into());
        }
    }
    Ok(pairs.into_values().collect())
}

/// The analysis of one pair, which is done once.
///
/// Its dataset is a subdirectory of the folder of all parts. The name is a hash of the files, the
/// options and the version of tcpexp, so a part that exists need not be computed again, and parts of
/// other options do not mix. The first column of all tables, `pair`, has the name of the pair.
#[derive(Clone, Debug)]
pub struct PairTask {
    pair: CapturePair,
    options: AnalyzeOptions,
    max_flows: NonZeroUsize,
    path: PathBuf,
}

/// How a task ended.
#[derive(Debug)]
pub enum TaskOutcome {
    /// The dataset is complete.
    Analyzed(Box<Manifest>),
    /// The captures cannot be analysed. A file beside the datasets keeps the reason.
    Failed(Error),
}

/// A part that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownPart {
    /// The dataset.
    Dataset,
    /// The file with the reason why there is none.
    Failure,
}

/// What the name of a part is a hash of.
#[derive(Serialize)]
struct Identity {
    tcpexp_version: &'static str,
    schema_version: u32,
    run: BTreeMap<String, serde_json::Value>,
    /// The reason why a file cannot be read.
    files: [Vec<Result<Fingerprint, String>>; 2],
    options: BTreeMap<String, serde_json::Value>,
}

impl PairTask {
    /// Prepares the analysis of a pair to a subdirectory of `folder`. Reads samples of its files.
    ///
    /// Fails if a file cannot be read now for a reason that is no fault of the file: its part would get
    /// a name that no later run finds.
    pub fn new(
        pair: CapturePair,
        options: &AnalyzeOptions,
        max_flows: NonZeroUsize,
        folder: &Path,
    ) -> Result<Self, Error> {
        let column = RunColumn {
            name: PAIR_COLUMN.to_owned(),
            description: "Name of the pair of captures.".to_owned(),
            value: RunValue::Text(Some(pair.pair.name.to_string())),
        };
        let others = options.run.columns().iter().cloned();
        let columns = std::iter::once(column).chain(others).collect();
        let options = AnalyzeOptions {
            run: RunColumns::new(columns, DatasetTable::has_column),
            ..options.clone()
        };
        let fingerprint = |path: &PathBuf| {
            let identity =
                Contents::open(path, &options.stores).and_then(|file| Fingerprint::of(file, None));
            match identity {
                Err(source) if is_passing_io(&source) => Err(Error::Open {
                    path: path.clone(),
                    source,
                }),
                identity => Ok(identity.map_err(|error| error.kind().to_string())),
            }
        };
        let fingerprints =
            |files: &[PathBuf]| files.iter().map(fingerprint).collect::<Result<_, _>>();
        let [src, dst] = &pair.files;
        let identity = Identity {
            tcpexp_version: env!("CARGO_PKG_VERSION"),
            schema_version: TABLE_VERSION,
            run: columns_of_run(&options.run),
            files: [fingerprints(src)?, fingerprints(dst)?],
            options: option_words(&options, None, true, max_flows),
        };
        let text = serde_json::to_string(&identity).unwrap_or_default();
        let (_, mut name) = checksum::of(text.as_bytes()).unwrap_or_default();
        name.truncate(NAME_DIGITS);
        Ok(Self {
            pair,
            options,
            max_flows,
            path: folder.join(name),
        })
    }

    /// The pair.
    pub fn pair(&self) -> &CapturePair {
        &self.pair
    }

    /// Directory of the dataset.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// File with the reason if the pair cannot be analysed.
    pub fn failed_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ENDING);
        name.into()
    }

    /// How the pair ended before; `None` if it has no part.
    ///
    /// Fails if a store does not answer, or if the dataset was analysed again with other options: its name
    /// no longer says how it was made.
    pub fn known(&self) -> Result<Option<KnownPart>, Error> {
        if self.exists(&self.path.join(MANIFEST_FILE_NAME))? {
            let mut options = Manifest::read_with(&self.path, &self.options.stores)?.options;
            let mut expected = self.option_words();
            for name in OF_CAPTURES {
                options.remove(name);
                expected.remove(name);
            }
            if options != expected {
                return Err(PairsError::AnalyzedAgain {
                    path: self.path.clone(),
                }
                .into());
            }
            return Ok(Some(KnownPart::Dataset));
        }
        let has_failed = self.exists(&self.failed_path())?;
        Ok(has_failed.then_some(KnownPart::Failure))
    }

    fn option_words(&self) -> BTreeMap<String, serde_json::Value> {
        option_words(&self.options, None, true, self.max_flows)
    }

    fn exists(&self, path: &Path) -> Result<bool, Error> {
        let Some(url) = as_url(path) else {
            return Ok(path.is_file());
        };
        Object::exists(url, &self.options.stores).map_err(|source| Error::Store {
            path: path.to_owned(),
            source,
        })
    }

    /// Prepares the place of the dataset. A dataset that another run completes meanwhile stays.
    pub fn dataset_dir(&self) -> Result<DatasetDir, Error> {
        DatasetDir::create_once(&self.path, &self.options.stores)
    }

    /// Analyses the pair to `out`, which is its [`dataset_dir`](Self::dataset_dir). `prepare` sets
    /// options of each capture.
    ///
    /// Captures that cannot be analysed are an outcome. A dataset that cannot be written, or a
    /// measurement that is stopped, is an error.
    pub fn run(
        &self,
        prepare: impl Fn(Recording) -> Recording,
        out: DatasetDir,
    ) -> Result<TaskOutcome, Error> {
        match self.analyze(prepare, out) {
            Ok(manifest) => Ok(TaskOutcome::Analyzed(Box::new(manifest))),
            Err(error) if is_passing(&error) => Err(error),
            Err(error) => {
                let paths = |files: &[PathBuf]| {
                    let paths = files.iter().map(|file| file.display().to_string());
                    paths.collect()
                };
                let [src, dst] = &self.pair.files;
                let failed = FailedPart {
                    kind: FailedPart::kind(),
                    tcpexp_version: env!("CARGO_PKG_VERSION").to_owned(),
                    pair: self.pair.pair.name.to_string(),
                    src: paths(src),
                    dst: paths(dst),
                    options: self.option_words(),
                    error: with_causes(&error),
                };
                failed.write(&self.failed_path(), &self.options.stores)?;
                Ok(TaskOutcome::Failed(error))
            }
        }
    }

    fn open(&self, files: &[PathBuf]) -> Result<Recording, Error> {
        open_files(files, &self.options.stores)
    }

    fn analyze(
        &self,
        prepare: impl Fn(Recording) -> Recording,
        out: DatasetDir,
    ) -> Result<Manifest, Error> {
        let [src, dst] = &self.pair.files;
        let (src, dst) = (self.open(src)?, self.open(dst)?);
        let [src, dst] = [src, dst].map(|capture| prepare(capture).with_max_flows(self.max_flows));
        analyze(AnalyzeInputs::new(&src, Some(&dst)), &self.options, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_rows_at_one_point_of_a_pair_is_refused() {
        let row = |point, file: &str| PairFileRow {
            pair: Some(PairName {
                number: 1,
                name: "a".into(),
            }),
            point: Some(point),
            file: file.to_owned(),
            bytes: 100,
            records: Some(5),
            span: None,
            reason: None,
        };
        let [src, dst] = Point::BOTH;
        let once = [row(src, "a"), row(src, "b"), row(dst, "a")];
        assert_eq!(pairs_of(&once).unwrap()[0].bytes, [200, 100]);
        let twice = [row(src, "a"), row(dst, "b"), row(dst, "b")];
        assert_eq!(
            pairs_of(&twice).unwrap_err().to_string(),
            "the pair a has the file b twice at dst"
        );
    }
}
