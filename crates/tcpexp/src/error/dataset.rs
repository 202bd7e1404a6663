//! Errors of datasets.

use std::path::PathBuf;

use tcpexp_flow::FlowShard;
use tcpexp_store::shown_url;
use tcpexp_table::dataset::TableMismatch;
use thiserror::Error;

/// An error of the directory of a dataset, of its manifest or of its runs.
#[derive(Debug, Error)]
pub enum DatasetError {
    /// The parent folder of the dataset does not exist.
    #[error(
        "cannot write {}: directory {} does not exist",
        shown_url(path),
        shown_url(folder)
    )]
    NoFolder {
        /// Path of the dataset.
        path: PathBuf,
        /// Path of the missing folder.
        folder: PathBuf,
    },
    /// The directory is not a dataset, so replacing it would destroy other files.
    #[error(
        "{} contains something other than a dataset: name another directory",
        shown_url(path)
    )]
    NotOurs {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Another run wrote a dataset to the place in a store.
    #[error(
        "another run wrote to {} at the same time: its tables replaced those of this run",
        shown_url(path)
    )]
    Overwritten {
        /// The place.
        path: PathBuf,
    },
    /// The path of an input is not text.
    #[error(
        "{} is not UTF-8, so the manifest of a dataset cannot contain this path",
        shown_url(path)
    )]
    NoText {
        /// Path of the file.
        path: PathBuf,
    },
    /// The directory is neither a run nor a sweep, and has no datasets.
    #[error(
        "{} has neither a run.json, nor runs, nor datasets of tcpexp analyze",
        shown_url(path)
    )]
    NoRuns {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The run has no capture at its source or its sink.
    #[error("{} names no capture of a source or a sink", shown_url(path))]
    NoCaptures {
        /// Path of the run's record.
        path: PathBuf,
    },
    /// The manifest of the dataset cannot be parsed.
    #[error("{} is not the manifest of a dataset", shown_url(path))]
    Manifest {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The manifest is not that of a dataset.
    #[error("{} is the manifest of \"{kind}\", not of a dataset", shown_url(path))]
    OtherManifest {
        /// Path of the file.
        path: PathBuf,
        /// Kind in the manifest.
        kind: String,
    },
    /// The dataset does not have the tables that its manifest lists.
    #[error("the dataset {} is damaged", shown_url(path))]
    Damaged {
        /// Path of the dataset.
        path: PathBuf,
        /// Cause.
        source: TableMismatch,
    },
    /// Two datasets would have the same file name.
    #[error(
        "{} and {} would have the same file name in each table",
        shown_url(path),
        shown_url(other)
    )]
    SameRun {
        /// Path of the dataset.
        path: PathBuf,
        /// Path of the other.
        other: PathBuf,
    },
    /// A file has other contents than in an earlier analysis.
    #[error("{} has changed since the dataset was made", shown_url(path))]
    OtherContents {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another version of `tcpexp` wrote the dataset.
    #[error(
        "{} has version {version}, but this tcpexp reads version {known}: analyze the captures again",
        shown_url(path)
    )]
    Version {
        /// Path of the manifest.
        path: PathBuf,
        /// Version in the manifest.
        version: u32,
        /// Version that can be read.
        known: u32,
    },
    /// The dataset is not a part of a divided analysis.
    #[error(
        "{} is a whole dataset, not a part of one: parts are made with --shard",
        shown_url(path)
    )]
    NoPart {
        /// Path of the dataset.
        path: PathBuf,
    },
    /// Parts of different analyses cannot be merged.
    #[error(
        "{} and {} are parts of different analyses: they differ in {what}",
        shown_url(path),
        shown_url(other)
    )]
    ForeignPart {
        /// Path of the part.
        path: PathBuf,
        /// Path of the part it is compared with.
        other: PathBuf,
        /// The first difference: a field of the manifests.
        what: String,
    },
    /// A part is given twice.
    #[error("{} and {} are both part {shard}", shown_url(path), shown_url(other))]
    SamePart {
        /// Path of the part.
        path: PathBuf,
        /// Path of the other.
        other: PathBuf,
        /// The part.
        shard: FlowShard,
    },
    /// Two datasets of one pair and the same options.
    #[error(
        "{} and {} are copies of one dataset",
        shown_url(path),
        shown_url(other)
    )]
    SameDataset {
        /// Path of the dataset.
        path: PathBuf,
        /// Path of the other.
        other: PathBuf,
    },
    /// Parts are missing.
    #[error("of {count} parts, these are missing: {missing}")]
    MissingParts {
        /// Number of all parts.
        count: u32,
        /// The missing parts.
        missing: String,
    },
}
