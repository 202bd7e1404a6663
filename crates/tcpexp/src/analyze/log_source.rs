//! A log of a run, and its kind.

use std::path::PathBuf;
use std::sync::Arc;

use tcpexp_logs::import::{Entry, Format};

/// A log of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    /// The file.
    pub path: PathBuf,
    /// Name of the log in tables.
    pub name: Arc<str>,
    /// Kind of the log; `None` to recognise it from the start of the file.
    pub kind: Option<LogKind>,
    /// True if the analysis continues without the log when the log cannot be read.
    pub is_optional: bool,
}

/// Kind of a log, by the program that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// A format of `tcpexp import`.
    Import(Format),
    /// Repeated output of `tc -s -j qdisc show`. Each line is an object with `time_ns` (nanoseconds
    /// since 1970), `interface` and, under `qdiscs`, the output of `tc`.
    Queue,
    /// `ping -D`.
    Ping,
    /// Output of a command with columns. The first line is an object with `name`, `separator` (`whitespace`
    /// or `csv`) and `columns`, a list that is empty if the command prints the names; the others
    /// begin with a time, in nanoseconds since 1970.
    Columns,
}

impl LogKind {
    /// The kinds that are no format of `tcpexp import`.
    const OTHERS: [Self; 3] = [Self::Queue, Self::Ping, Self::Columns];

    /// Returns the names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let import = Format::of_flows().map(Self::Import);
        import.chain(Self::OTHERS).map(Self::name)
    }

    /// The name used on the command line and in the record of a run.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Import(format) => format.name(),
            Self::Queue => "queue",
            Self::Ping => "ping",
            Self::Columns => "columns",
        }
    }

    /// Unit of the counts in the report of a log.
    pub(super) const fn entry(self) -> Entry {
        match self {
            Self::Import(format) => format.entry(),
            Self::Queue | Self::Ping | Self::Columns => Entry::Line,
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        let import = Format::of_flows().map(Self::Import);
        import.chain(Self::OTHERS).find(|kind| kind.name() == name)
    }
}
