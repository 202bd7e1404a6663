//! What cannot be read, and what cannot be used.

use std::collections::BTreeMap;
use std::io;

use thiserror::Error;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    /// The reader failed.
    #[error("cannot read past line {line}")]
    Read {
        /// The last line read; 0 if there was none.
        line: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// No line holds anything of use, so this is most likely a file of another format.
    #[error("none of {lines} lines can be used{}", FirstUnusable::told(.first.as_ref()))]
    NothingUsable {
        /// How many there are.
        lines: u64,
        /// The first that should have been of use, if any.
        first: Option<FirstUnusable>,
    },
    /// A line cannot be used, and without it the rest would say something else.
    #[error("line {line} cannot be used")]
    Line {
        /// Line in the file, from 1.
        line: u64,
        /// Why.
        source: Unusable,
    },
    /// The JSON text is broken or ends early.
    #[error("line {line}, column {column} is not JSON")]
    Json {
        /// Line in the file, from 1.
        line: u64,
        /// Column in it, from 1.
        column: u64,
        /// What the parser said.
        source: serde_json::Error,
    },
}

/// Why one line cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// It is not laid out as this format's lines are.
    #[error("not a line of this format")]
    OtherLayout,
    /// It holds an event that tells nothing about a sender's congestion state.
    #[error("an event of another kind")]
    OtherEvent,
    /// A field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A field cannot be read.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// It has columns that no header explains.
    #[error("columns without a header that names them")]
    NoHeader,
    /// It is longer than any line of such a log.
    #[error("longer than any line of such a log")]
    TooLong,
    /// It is not text.
    #[error("not UTF-8 text")]
    NotText,
    /// The file ends in its middle, so its last number may lack digits.
    #[error("cut off, as the file ends before the line does")]
    CutOff,
}

/// The first line that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstUnusable {
    /// Line in the file, from 1.
    pub line: u64,
    /// Why.
    pub reason: Unusable,
    /// How it begins.
    pub begins: String,
}

/// What became of the lines of a log: `lines = used + passed_over + unusable()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines read. In a JSON document, its intervals.
    pub lines: u64,
    /// Lines that gave a row, or a part of one.
    pub used: u64,
    /// Lines that are made to hold nothing: headers, comments, empty ones.
    pub passed_over: u64,
    /// Lines that should have been of use and are not, under the reason.
    pub reasons: BTreeMap<Unusable, u64>,
    /// The first of these.
    pub first_unusable: Option<FirstUnusable>,
}

impl Report {
    /// Lines that should have been of use and are not.
    pub fn unusable(&self) -> u64 {
        self.reasons.values().sum()
    }

    pub(super) fn refuse(&mut self, reason: Unusable, begins: &str) {
        *self.reasons.entry(reason).or_default() += 1;
        let line = self.lines;
        self.first_unusable.get_or_insert_with(|| FirstUnusable {
            line,
            reason,
            begins: begins.chars().take(FirstUnusable::CHARACTERS).collect(),
        });
    }
}

impl FirstUnusable {
    /// As much of the line as fits into a message.
    const CHARACTERS: usize = 80;

    fn told(first: Option<&Self>) -> String {
        first.map_or_else(String::new, |first| {
            format!("; line {} is {}", first.line, first.reason)
        })
    }
}
