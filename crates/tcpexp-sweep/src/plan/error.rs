//! Errors of plans, with their place in the text.

use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::Spanned;
use toml::de::DeTable;

use super::place;

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

/// The text of a plan, for the line of a fault.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

/// A fault at a range of bytes of the text.
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
        Self::new(error.span().unwrap_or_default(), error.message())
    }
}

impl Source<'_> {
    /// The error for a fault. `root` is the parsed plan, if it could be parsed.
    pub(super) fn error(&self, root: Option<&Spanned<DeTable<'_>>>, fault: Fault) -> PlanError {
        let Fault { span, message } = fault;
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        // A fault of the plan as a whole has no key.
        let root = root.filter(|_| !span.is_empty());
        let key = root.and_then(|root| place::key_at(root.get_ref(), &span));
        PlanError::Wrong {
            path: self.path.to_owned(),
            line: before.split(|byte| *byte == b'\n').count(),
            key: key.map_or_else(String::new, |key| format!("{key}: ")),
            message: message.trim().replace('\n', ", "),
        }
    }
}
