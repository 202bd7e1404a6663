//! Links whose rate follows a trace.

mod format;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tcpexp_units::{BitRate, TimeDelta};
use thiserror::Error;

use super::{Bottleneck, FULL_FRAME};
use format::Fault;

pub(crate) use format::Opportunities;

/// A link that may send at certain times only, from a file: `trace = "cellular.trace"`.
///
/// The file has one of two forms. A line of one number is a time in milliseconds at which the link may
/// send one full packet; equal times are several packets (the form of mahimahi's mm-link(1)). A line of
/// two numbers is a time in seconds and the rate in Mbit/s from then on, and the last line only ends
/// the trace. Empty lines and lines that begin with `#` are ignored. After its end, the trace repeats.
///
/// In TOML, a trace is the name of its file. Reading the description does not read the file; see
/// [`Bottleneck::read_traces`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Trace {
    /// Name of the file, as written.
    pub file: String,
    /// What the file contains; `None` before it has been read.
    pub facts: Option<TraceFacts>,
    /// The times at which the link may send a packet.
    pub(crate) opportunities: Option<Arc<Opportunities>>,
}

/// The facts of a trace that describe it without its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Number of full packets that the link may send in one pass of the trace.
    pub packets: u32,
    /// Length of the trace.
    pub period: TimeDelta,
    /// SHA-256 of the times, in hex: equal for files with equal times.
    pub sha256: String,
}

/// Why a trace cannot be used.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file is unreadable.
    #[error("cannot read the trace {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line is malformed.
    #[error("{} line {line} ({text:?}): expected {expected}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Its text.
        text: String,
        /// The accepted form.
        expected: &'static str,
    },
    /// The file as a whole is of no use.
    #[error("{}: expected {expected}", path.display())]
    Whole {
        /// The file.
        path: PathBuf,
        /// The expectation.
        expected: &'static str,
    },
}

/// The two forms of a trace in a description: as users write it, and as a router keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the name of a file")]
enum Written {
    File(String),
    Known {
        file: String,
        #[serde(flatten)]
        facts: TraceFacts,
    },
}

impl From<Written> for Trace {
    fn from(written: Written) -> Self {
        let (file, facts) = match written {
            Written::File(file) => (file, None),
            Written::Known { file, facts } => (file, Some(facts)),
        };
        Self {
            file,
            facts,
            opportunities: None,
        }
    }
}

impl From<Trace> for Written {
    fn from(Trace { file, facts, .. }: Trace) -> Self {
        match facts {
            None => Self::File(file),
            Some(facts) => Self::Known { file, facts },
        }
    }
}

impl JsonSchema for Trace {
    fn schema_name() -> Cow<'static, str> {
        "Trace".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Name of a file with the times at which a link may send.",
        })
    }
}

impl Bottleneck {
    /// Reads the files of its traces; relative names are relative to `folder`. A trace that has been read
    /// already is kept.
    ///
    /// Commands for a path with a trace need its times, so [`plan`](fn@crate::plan) refuses a trace that
    /// has not been read.
    pub fn read_traces(&mut self, folder: &Path) -> Result<(), TraceError> {
        for path in [&mut self.forward, &mut self.reverse] {
            if let Some(trace) = &mut path.trace
                && trace.facts.is_none()
            {
                let path = folder.join(&trace.file);
                let text = fs::read_to_string(&path).map_err(|source| TraceError::Read {
                    path: path.clone(),
                    source,
                })?;
                *trace = Trace::of_text(&trace.file, &path, &text)?;
            }
        }
        Ok(())
    }
}

impl Trace {
    /// A trace from the text of the file at `path`. `file` is its name as written in a description.
    pub fn of_text(file: &str, path: &Path, text: &str) -> Result<Self, TraceError> {
        Self::parse(file, text).map_err(|fault| TraceError::of(fault, path.to_owned()))
    }

    fn parse(file: &str, text: &str) -> Result<Self, Fault> {
        let opportunities = Opportunities::parse(text)?;
        Ok(Self {
            file: file.to_owned(),
            facts: Some(TraceFacts::of(&opportunities)),
            opportunities: Some(Arc::new(opportunities)),
        })
    }

    /// The mean rate of the link if it is always full, in Ethernet frames; `None` before the file has
    /// been read.
    pub fn mean_rate(&self) -> Option<BitRate> {
        let facts = self.facts.as_ref()?;
        let period_ns = u128::try_from(facts.period.as_nanos()).ok()?;
        let bits = u128::from(facts.packets) * u128::from(FULL_FRAME) * 8;
        let bps = (bits * 1_000_000_000).checked_div(period_ns)?;
        Some(BitRate::from_bps(u64::try_from(bps).ok()?))
    }
}

impl TraceError {
    fn of(fault: Fault, path: PathBuf) -> Self {
        match fault {
            Fault::Line(line, text, expected) => Self::Line {
                path,
                line,
                text,
                expected,
            },
            Fault::Whole(expected) => Self::Whole { path, expected },
        }
    }
}

impl TraceFacts {
    fn of(opportunities: &Opportunities) -> Self {
        let Opportunities { at_us, period_us } = opportunities;
        let mut hash = Sha256::new();
        hash.update(period_us.to_le_bytes());
        for at in at_us {
            hash.update(at.to_le_bytes());
        }
        let mut sha256 = String::new();
        for byte in hash.finalize() {
            let _ = write!(sha256, "{byte:02x}");
        }
        Self {
            // A trace has fewer than 2^20 packets.
            packets: u32::try_from(at_us.len()).unwrap_or(u32::MAX),
            period: TimeDelta::from_micros((*period_us).into()),
            sha256,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_rate_is_that_of_a_full_link() {
        let trace = Trace::parse("constant.trace", "1\n2\n3\n4\n").unwrap();
        assert_eq!(trace.mean_rate(), Some(BitRate::from_bps(12_112_000)));
    }

    #[test]
    fn description_has_the_facts_of_a_trace_that_was_read() {
        let unread: Trace = serde_json::from_str("\"a.trace\"").unwrap();
        assert_eq!(serde_json::to_string(&unread).unwrap(), "\"a.trace\"");
        let read = Trace::parse("a.trace", "1\n2\n").unwrap();
        let text = serde_json::to_string(&read).unwrap();
        let again: Trace = serde_json::from_str(&text).unwrap();
        assert_eq!((&again.file, &again.facts), (&read.file, &read.facts));
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        // Other forms of the same times are the same trace.
        let rates = Trace::parse("b", "0 12.112\n0.002 0\n").unwrap();
        assert_eq!(rates.facts, read.facts);
    }
}
