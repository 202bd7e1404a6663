//! Repeated analysis of the captures of datasets.

use std::path::{Path, PathBuf};

use tcpexp_pair::spp::Clocks;
use tcpexp_runs::folders::datasets_at;
use tcpexp_store::StoreOptions;
use tcpexp_table::TableFile;
use tcpexp_table::dataset::{DatasetTable, RunColumn, RunColumns, RunValue};
use tcpexp_units::Timestamp;
use tcpexp_wire::{Filter, Tunnels};

use super::option_words::AS_GIVEN;
use super::{AnalyzeInputs, AnalyzeOptions, DatasetDir, LogKind, LogSource, Manifest, analyze};
use crate::set::open_files;
use crate::{DatasetError, Error, Moment, Recording};

/// A dataset whose captures can be analysed again.
#[derive(Clone, Debug)]
pub struct RecordedDataset {
    /// Directory of the dataset.
    pub path: PathBuf,
    /// Description of the dataset, which may be of an older version.
    pub manifest: Manifest,
    /// The columns of its parameters. All datasets of a folder have the same columns.
    columns: RunColumns,
}

impl RecordedDataset {
    /// The datasets in `folder`, sorted by name; only `folder` itself if it is a dataset.
    ///
    /// A parameter that has several types, such as `10` and `auto`, is text in all of them. If a
    /// dataset lacks a parameter, the parameter is null there.
    pub fn all_in(folder: &Path) -> Result<Vec<Self>, Error> {
        let dirs = datasets_at(folder).map_err(|source| Error::Open {
            path: folder.to_owned(),
            source,
        })?;
        if dirs.is_empty() {
            return Err(DatasetError::NoRuns {
                path: folder.to_owned(),
            }
            .into());
        }
        let manifests: Result<Vec<Manifest>, Error> = dirs
            .iter()
            .map(|dir| Manifest::of_any_version(dir, &StoreOptions::default()))
            .collect();
        let manifests = manifests?;
        let mut columns: Vec<RunColumns> = dirs
            .iter()
            .zip(&manifests)
            .map(|(dir, manifest)| columns_of(dir, manifest))
            .collect();
        RunColumns::unify(&mut columns);
        let recorded = dirs.into_iter().zip(manifests).zip(columns);
        Ok(recorded
            .map(|((path, manifest), columns)| Self {
                path,
                manifest,
                columns,
            })
            .collect())
    }

    /// Analyses the captures and logs of the dataset again, with its parameters.
    ///
    /// The selection of packets, the part of the flows, and the link rate of the dataset apply
    /// unless `options` sets others; everything else comes from `options`. Paths are those of the
    /// first analysis. If the contents of an input have changed since then, the function returns an
    /// error and the dataset stays. `prepared` receives each capture before it is read.
    pub fn analyze(
        &self,
        options: &AnalyzeOptions,
        prepared: impl Fn(Recording) -> Recording,
        out: DatasetDir,
    ) -> Result<Manifest, Error> {
        let captures = self.manifest.captures.iter();
        let captures: Result<Vec<Recording>, Error> = captures
            .map(|capture| {
                let recording = if capture.files.is_empty() {
                    Recording::open_with(Path::new(&capture.file.path), &options.stores)
                } else {
                    let paths = capture.files.iter().map(|file| PathBuf::from(&file.path));
                    open_files(&paths.collect::<Vec<_>>(), &options.stores)
                };
                recording.map(&prepared)
            })
            .collect();
        let captures = captures?;
        let Some(src) = captures.first() else {
            return Err(DatasetError::NoCaptures {
                path: self.path.clone(),
            }
            .into());
        };
        let logs = self.manifest.logs.iter();
        let logs: Vec<LogSource> = logs
            .map(|log| LogSource {
                path: (&log.file.path).into(),
                name: log.file.path.as_str().into(),
                kind: LogKind::named(&log.kind),
                is_optional: false,
            })
            .collect();
        let inputs = AnalyzeInputs {
            logs: &logs,
            known: Some(&self.manifest),
            ..AnalyzeInputs::new(src, captures.get(1))
        };
        analyze(inputs, &self.options(options), out)
    }

    /// `options`, with what the dataset's own options add to them.
    fn options(&self, options: &AnalyzeOptions) -> AnalyzeOptions {
        let mut options = options.clone();
        let own = &self.manifest.options;
        let number = |name: &str| own.get(name).and_then(serde_json::Value::as_i64);
        let text = |name: &str| own.get(name).and_then(serde_json::Value::as_str);
        let flag = |name: &str| own.get(name).and_then(serde_json::Value::as_bool) == Some(true);
        let selection = &mut options.selection;
        if selection.filter.is_none() {
            let filter = text("filter").and_then(|filter| Filter::parse(filter).ok());
            selection.filter = filter.map(Into::into);
        }
        // The captures are the same, so a limit as it was given is the same moment.
        let moment = |given, at| {
            let given = text(given).and_then(|text| text.parse().ok());
            given.or_else(|| number(at).map(|at| Moment::At(Timestamp::from_nanos(at))))
        };
        selection.from = selection.from.or_else(|| moment("from", "from_ns"));
        selection.to = selection.to.or_else(|| moment("to", "to_ns"));
        if flag("inner") {
            options.tunnels = Tunnels::Entered;
        }
        // These two options exclude each other, and the new one counts.
        let is_symmetric = options.symmetric || flag("symmetric") && options.clocks != Clocks::One;
        if flag("one_clock") && !options.symmetric {
            options.clocks = Clocks::One;
        }
        options.symmetric = is_symmetric;
        let rate = number("link_rate_bps").and_then(|rate| u64::try_from(rate).ok());
        options.link_rate_bps = options.link_rate_bps.or(rate);
        options.shard = options.shard.or_else(|| super::shard_of(&self.manifest));
        options.run = self.columns.clone();
        options
    }

    /// The options that differ between this dataset and a later one: name, old value, new value.
    pub fn changed_options<'a>(
        &'a self,
        later: &'a Manifest,
    ) -> impl Iterator<Item = (&'a str, String, String)> {
        // "from_ns" and "to_ns" are the same limits as exact moments, so a different text is no difference.
        let options = later.options.iter();
        let options = options.filter(|(name, _)| !AS_GIVEN.contains(&name.as_str()));
        options.filter_map(|(name, now)| {
            let before = self.manifest.options.get(name)?;
            (before != now).then(|| (name.as_str(), before.to_string(), now.to_string()))
        })
    }
}

/// The columns of a dataset's parameters, in the order of its tables.
pub(super) fn columns_of(dir: &Path, manifest: &Manifest) -> RunColumns {
    let mut columns: Vec<RunColumn> = manifest
        .run
        .iter()
        .map(|(name, value)| RunColumn {
            name: name.clone(),
            description: "Parameter given with --param.".to_owned(),
            value: value_of(value),
        })
        .collect();
    // The manifest has the names in alphabetical order. A table that cannot be read leaves them so.
    let flows = dir.join(super::file_name(DatasetTable::Flows));
    let file = std::fs::File::open(flows).ok();
    if let Some(file) = file.and_then(|file| TableFile::open(file).ok()) {
        let order = file.columns();
        columns.sort_by_key(|column| order.iter().position(|name| *name == column.name));
    }
    RunColumns::new(columns, DatasetTable::has_column)
}

fn value_of(value: &serde_json::Value) -> RunValue {
    use serde_json::Value;
    match value {
        Value::Bool(flag) => RunValue::Flag(Some(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(count) => RunValue::Count(Some(count)),
            None => RunValue::Number(number.as_f64()),
        },
        Value::String(text) => RunValue::Text(Some(text.clone())),
        Value::Null | Value::Array(_) | Value::Object(_) => RunValue::Text(None),
    }
}
