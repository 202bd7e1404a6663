//! Unreadable logs and unusable lines.

use std::collections::BTreeMap;
use std::io;

use tcpexp_units::counted;
use thiserror::Error;

/// Errors of reading a log.
#[derive(Debug, Error)]
pub enum Error {
    /// The reader failed.
    #[error("cannot read past line {line}")]
    Read {
        /// The last line read; 0 if there was none.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// No line is usable: most likely a file of another format.
    #[error("none of {} can be used{}", counted(lines, entry.name()), FirstUnusable::clause(.first.as_ref()))]
    NothingUsable {
        /// Number of entries.
        lines: u64,
        /// What was counted.
        entry: Entry,
        /// The first unusable line, if any.
        first: Option<FirstUnusable>,
    },
    /// A line is unusable, and without it the following lines would be misread.
    #[error("line {line} cannot be used")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The reason.
        source: Unusable,
    },
    /// iperf3 recorded an error, and no interval.
    #[error("the log has no intervals, and iperf3 reports: {message}")]
    TestFailed {
        /// The text of iperf3.
        message: String,
    },
    /// The test of iperf3 has an unknown protocol.
    #[error("the test of iperf3 has the protocol {name}: expected TCP, UDP or SCTP")]
    Protocol {
        /// Its name in the log.
        name: String,
    },
    /// The JSON text ends early.
    #[error("the JSON text ends early, at line {line}")]
    CutJson {
        /// Number of the last line, from 1.
        line: u64,
    },
    /// The JSON text is broken.
    #[error("line {line}, column {column} is not JSON: {why}")]
    Json {
        /// Number of the line, from 1.
        line: u64,
        /// Column, from 1.
        column: u64,
        /// The message of the parser, without the place.
        why: String,
    },
}

/// Reasons why a line is unusable.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// The line does not have the layout of the format.
    #[error("not a line of this format")]
    OtherLayout,
    /// The line holds an event without sender state.
    #[error("an event of another kind")]
    OtherEvent,
    /// A field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The time has no fraction: the trace has a clock such as `counter` or `x86-tsc`, which counts ticks.
    #[error("a time in ticks instead of seconds")]
    Ticks,
    /// A field is malformed.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// The row has more columns than its header, so a value may contain a comma.
    #[error("a row with more columns than the header names")]
    LongRow,
    /// A header names no column for the time, so the rows below it cannot be read.
    #[error("a header without a column for the time")]
    NoTime,
    /// The line is longer than the limit.
    #[error("longer than any line of such a log")]
    TooLong,
    /// The line is not UTF-8 text.
    #[error("not UTF-8 text")]
    NotText,
    /// The file ends within the line, so its last number may lack digits.
    #[error("cut off by the end of the file")]
    CutOff,
}

/// Outcome of a line without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineUse {
    /// The line yielded a row or a part of one.
    Used,
    /// The line holds no data.
    PassedOver,
}

/// What a [`Report`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// Lines of text.
    #[default]
    Line,
    /// Intervals of streams, in the JSON of iperf3.
    Interval,
    /// Values of series and samples, in the JSON of Flent.
    Value,
}

impl Entry {
    /// The name in messages, in the singular.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Interval => "interval",
            Self::Value => "value",
        }
    }
}

/// The first unusable line, or other entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstUnusable {
    /// What `line` counts.
    pub entry: Entry,
    /// Number of the line or entry, from 1.
    pub line: u64,
    /// The reason.
    pub reason: Unusable,
    /// The beginning of the line.
    pub begins: String,
}

/// Counts of the entries of a log: `lines = used + passed_over + unusable()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Unit of all counts of this report.
    pub entry: Entry,
    /// Entries read.
    pub lines: u64,
    /// Entries that yielded a row or a part of one.
    pub used: u64,
    /// Entries without data: headers, comments, empty lines, times without a value.
    pub passed_over: u64,
    /// Unusable entries by reason.
    pub reasons: BTreeMap<Unusable, u64>,
    /// The first unusable entry.
    pub first_unusable: Option<FirstUnusable>,
    /// The first error that iperf3 reports in a log that also has intervals.
    pub failure: Option<String>,
    /// Events that the kernel lost before it could write them to the log, at least.
    pub lost_events: u64,
    /// Lines with an event of the kernel's tracing. Only this form of `tcp_probe` has changes of the congestion
    /// state and retransmissions.
    pub event_lines: u64,
    /// Packets that SIFTR could not log, as it states when it is disabled.
    pub skipped_packets: u64,
}

impl Report {
    /// Number of unusable entries.
    pub fn unusable(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// Sentences on what the log lacks besides the unusable lines.
    pub fn gaps(&self) -> Vec<String> {
        let failure = self.failure.as_ref();
        let failure = failure.map(|error| format!("iperf3 reports an error: {error}"));
        let lost = (self.lost_events > 0).then(|| {
            let lost = counted(self.lost_events, "event");
            format!(
                "the kernel lost at least {lost} of this trace: counts of retransmissions and of state changes may be too low"
            )
        });
        let skipped = (self.skipped_packets > 0).then(|| {
            let packets = counted(self.skipped_packets, "packet");
            format!("SIFTR skipped {packets}, so their rows are missing")
        });
        failure.into_iter().chain(lost).chain(skipped).collect()
    }

    pub(super) fn refuse(&mut self, reason: Unusable, begins: &str) {
        *self.reasons.entry(reason).or_default() += 1;
        let (entry, line) = (self.entry, self.lines);
        self.first_unusable.get_or_insert_with(|| FirstUnusable {
            entry,
            line,
            reason,
            begins: begins.chars().take(FirstUnusable::CHARACTERS).collect(),
        });
    }
}

impl FirstUnusable {
    /// Longest quotation of a line in a message, in characters.
    const CHARACTERS: usize = 80;

    fn clause(first: Option<&Self>) -> String {
        first.map_or_else(String::new, |first| {
            format!("; {} {}: {}", first.entry.name(), first.line, first.reason)
        })
    }
}
