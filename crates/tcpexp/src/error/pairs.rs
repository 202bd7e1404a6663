//! Errors of pairs of captures.

use std::path::PathBuf;

use tcpexp_store::shown_url;
use thiserror::Error;

/// An error of a table of pairs, or of the datasets of pairs.
#[derive(Debug, Error)]
pub enum PairsError {
    /// The path of a capture is not text.
    #[error(
        "{} is not UTF-8, so a table cannot contain this path",
        shown_url(path)
    )]
    NoText {
        /// Path of the file.
        path: PathBuf,
    },
    /// The table of pairs has files of one point only.
    #[error("the pair {pair} has no file at {point}")]
    HalfPair {
        /// Name of the pair.
        pair: String,
        /// The point without a file.
        point: &'static str,
    },
    /// Numbers and names of pairs do not correspond.
    #[error("the pairs {one} and {other} must have different numbers and different names")]
    PairNames {
        /// Name of a pair.
        one: String,
        /// Name of another.
        other: String,
    },
    /// The table of pairs has a file twice, whose packets would count twice.
    #[error("the pair {pair} has the file {} twice at {point}", shown_url(path))]
    FileTwice {
        /// Name of the pair.
        pair: String,
        /// The point.
        point: &'static str,
        /// Path of the file.
        path: PathBuf,
    },
    /// The dataset is not that of a pair.
    #[error(
        "{} is not a part of an analysis of pairs: parts are made with `tcpexp analyze --pairs`",
        shown_url(path)
    )]
    NoPairPart {
        /// Path of the dataset.
        path: PathBuf,
    },
    /// The part is of a pair that the table of pairs does not have.
    #[error(
        "{} belongs to the pair {pair}, which is not in the table of pairs",
        shown_url(path)
    )]
    OtherPair {
        /// Path of the part.
        path: PathBuf,
        /// Its pair.
        pair: String,
    },
    /// The part was made from other files than those of its pair.
    #[error(
        "{} was made from files other than those of the pair {pair}",
        shown_url(path)
    )]
    OtherFiles {
        /// Path of the part.
        path: PathBuf,
        /// Its pair.
        pair: String,
    },
    /// A dataset was analysed again, in place, with options other than those of its name.
    #[error(
        "{} was analysed again with other options: remove it to analyse the pair with the options given now",
        shown_url(path)
    )]
    AnalyzedAgain {
        /// Path of the dataset.
        path: PathBuf,
    },
    /// Pairs have not been analysed.
    #[error("missing parts of the pairs: {missing}")]
    MissingPairs {
        /// The missing pairs.
        missing: String,
    },
}
