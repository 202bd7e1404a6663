//! Errors of surveys.

use std::path::PathBuf;

use tcpexp_store::shown_url;
use thiserror::Error;

/// An error of a survey.
#[derive(Debug, Error)]
pub enum SurveyError {
    /// The survey cannot be parsed.
    #[error("{} is not a survey", shown_url(path))]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The survey has changed since it was made.
    #[error(
        "{} has changed since it was made: make it again with `tcpexp survey`",
        shown_url(path)
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is not a survey, or of another version.
    #[error(
        "{} is {kind}, which this tcpexp does not read as a survey: make it again with `tcpexp survey`",
        shown_url(path)
    )]
    OtherKind {
        /// Path of the file.
        path: PathBuf,
        /// What it is of.
        kind: String,
    },
    /// The capture is not the one of the survey.
    #[error(
        "{} was made from {}, and {} has other contents",
        shown_url(survey),
        shown_url(known),
        shown_url(path)
    )]
    ForeignCapture {
        /// Path of the survey.
        survey: PathBuf,
        /// Path of the capture.
        path: PathBuf,
        /// Path of the surveyed capture.
        known: PathBuf,
    },
    /// The survey was made with other options.
    #[error("{} was made with a different {option}", shown_url(survey))]
    Options {
        /// Path of the survey.
        survey: PathBuf,
        /// The option.
        option: &'static str,
    },
}
