//! Errors of plans, with their place in the text.

use std::ops::Range;
use std::path::PathBuf;

use netem_ctl::with_plain_types;
use thiserror::Error;

/// Why a plan is refused.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The plan has a fault.
    #[error("{}:{line}: {key}{message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, followed by a colon; empty if the text is not TOML.
        key: String,
        /// The fault and the expected form.
        message: String,
    },
}

/// A fault at a range of bytes of all files of the plan.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { span, message }
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        Self::new(
            error.span().unwrap_or_default(),
            with_plain_types(error.message()),
        )
    }
}
