//! Logs of kernels and tools.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use tcpexp_logs::import::{Batch, Entry, Format, Unusable};
use tcpexp_table::SenderEvent;
use tcpexp_table::dataset::{
    EventRow, LogRow, LogSample, QueueRow, QueueSource, ReadingRow, RunEvent,
};
use tcpexp_units::{TimeDelta, counted, with_causes};

use super::captured_flows::{CapturedFlows, LogFlows, MAX_CLOCK_OFFSET};
use super::column_log::{ColumnLog, Line};
use super::log_source::{LogKind, LogSource};
use super::manifest::{Checked, LogInput};
use super::names::Names;
use super::span::Span;
use super::survey::Surveyed;
use super::tables::Tables;
use super::test_start::{MAX_DELAY, TestStarts};
use super::{ping_log, queue_log};
use crate::view::View;
use crate::{Error, LogFile, checksum};

/// Result of reading the logs.
#[derive(Debug, Default)]
pub(super) struct ReadLogs {
    pub(super) read: Vec<LogInput>,
    pub(super) warnings: Vec<String>,
}

/// Reads logs into tables.
pub(super) struct Logs<'a> {
    flows: CapturedFlows,
    tables: &'a mut Tables,
    outcome: ReadLogs,
    starts: TestStarts<'a>,
    /// First and last time of the captures, and of the current log.
    of_captures: Span,
    of_log: Span,
    /// How much later than stated the test of the current log started.
    delay: TimeDelta,
}

impl<'a> Logs<'a> {
    pub(super) fn new(
        names: &Names,
        views: [Option<View<'a>>; 2],
        captures: [Option<&Surveyed>; 2],
        tables: &'a mut Tables,
    ) -> Self {
        let mut of_captures = Span::default();
        for (first, last) in captures.iter().flatten().filter_map(|one| one.info.span) {
            of_captures.add(first);
            of_captures.add(last);
        }
        Self {
            flows: CapturedFlows::of(names, captures, of_captures),
            tables,
            outcome: ReadLogs::default(),
            starts: TestStarts::of(views, captures),
            of_captures,
            of_log: Span::default(),
            delay: TimeDelta::ZERO,
        }
    }

    /// Reads all logs. Reports an unreadable optional log as a warning.
    pub(super) fn read(mut self, logs: &[LogSource]) -> Result<ReadLogs, Error> {
        for (place, log) in logs.iter().enumerate() {
            if logs[..place].iter().any(|other| other.path == log.path) {
                let warning = format!("{}: this log is named twice; it is read once", log.name);
                self.outcome.warnings.push(warning);
                continue;
            }
            self.of_log = Span::default();
            self.delay = TimeDelta::ZERO;
            match self.one(log) {
                Ok(read) => {
                    self.outcome.warnings.extend(unused_warning(&read));
                    self.outcome.read.push(read);
                    if self.of_log.is_apart_from(self.of_captures) {
                        self.outcome.warnings.push(format!(
                            "{}: its times are far from those of the captures: it may have another time base, or be of another run",
                            log.name
                        ));
                    }
                }
                // A dataset that cannot be written is an error, whichever log is being read.
                Err(error @ (Error::Write { .. } | Error::Encode { .. })) => return Err(error),
                Err(error) if log.is_optional => {
                    let reason = with_causes(&error);
                    self.outcome
                        .warnings
                        .push(format!("{reason}; the log is left out"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.outcome)
    }

    fn one(&mut self, log: &LogSource) -> Result<LogInput, Error> {
        let opened = |source| Error::Open {
            path: log.path.clone(),
            source,
        };
        // The checksum covers the stored bytes, but `LogFile` decompresses them, so the file is
        // read twice.
        let (bytes, sha256) = File::open(&log.path)
            .and_then(checksum::of)
            .map_err(opened)?;
        let mut file = LogFile::open(&log.path)?;
        let kind = match log.kind {
            Some(kind) => kind,
            None => LogKind::Import(file.guess()?),
        };
        let mut input = LogInput {
            file: Checked {
                path: log.name.to_string(),
                bytes,
                sha256,
            },
            kind: kind.name().to_owned(),
            lines: 0,
            used: 0,
            passed_over: 0,
            not_used: BTreeMap::new(),
        };
        match kind {
            LogKind::Import(format) => self.import(log, file, format, &mut input)?,
            LogKind::Queue => self.lines(
                log,
                file,
                &mut input,
                |_| false,
                |logs, line| {
                    let states = queue_log::states(line)?;
                    Some(states.into_iter().try_for_each(|(at, state)| {
                        logs.of_log.add(at);
                        logs.tables.queue.add(QueueRow {
                            at,
                            source: QueueSource::Log {
                                log: Arc::clone(&log.name),
                                state: Box::new(state),
                            },
                        })
                    }))
                },
            )?,
            LogKind::Columns => self.columns(log, file, &mut input)?,
            LogKind::Ping => {
                self.lines(log, file, &mut input, ping_log::is_remark, |logs, line| {
                    let sample = ping_log::answer(line)?;
                    Some(logs.tables.logs.add(LogRow {
                        log: Arc::clone(&log.name),
                        kind: LogKind::Ping.name().into(),
                        flow: None,
                        direction: None,
                        sample,
                    }))
                })?;
            }
        }
        Ok(input)
    }

    /// Reads a log line by line. `is_remark` is true for a line without data, and `take` returns `None` for
    /// a line of another format.
    fn lines(
        &mut self,
        log: &LogSource,
        file: LogFile,
        input: &mut LogInput,
        is_remark: impl Fn(&str) -> bool,
        take: impl Fn(&mut Self, &str) -> Option<Result<(), Error>>,
    ) -> Result<(), Error> {
        file.each_line(|line| {
            input.lines += 1;
            if line.trim().is_empty() || is_remark(line) {
                input.passed_over += 1;
                return Ok(());
            }
            if let Some(taken) = take(self, line) {
                input.used += 1;
                return taken;
            }
            let reason = "not a line of this format".to_owned();
            *input.not_used.entry(reason).or_default() += 1;
            Ok(())
        })?;
        require_use(input, log)
    }

    /// Reads the output of a command with columns.
    fn columns(
        &mut self,
        log: &LogSource,
        file: LogFile,
        input: &mut LogInput,
    ) -> Result<(), Error> {
        let mut known: Option<ColumnLog> = None;
        file.each_line(|line| {
            input.lines += 1;
            let Some(log_of_columns) = &mut known else {
                known = ColumnLog::of(line);
                input.passed_over += 1;
                // Every further line would be taken for the first.
                return match &known {
                    Some(_) => Ok(()),
                    None => Err(Error::Nothing {
                        path: log.path.clone(),
                        why: "the first line does not name the log and its columns".to_owned(),
                    }),
                };
            };
            match log_of_columns.line(line) {
                Ok(Line::Heading) => input.passed_over += 1,
                Ok(Line::Values(at, values)) => {
                    input.used += 1;
                    for (column, text) in values {
                        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                        self.tables.readings.add(ReadingRow {
                            at,
                            log: Arc::clone(&log.name),
                            name: Arc::clone(&log_of_columns.name),
                            column,
                            value,
                            text: value.is_none().then(|| text.into()),
                        })?;
                    }
                }
                Err(reason) => *input.not_used.entry(reason.to_owned()).or_default() += 1,
            }
            Ok(())
        })?;
        require_use(input, log)
    }

    fn import(
        &mut self,
        log: &LogSource,
        file: LogFile,
        format: Format,
        input: &mut LogInput,
    ) -> Result<(), Error> {
        let mut flows = LogFlows::default();
        let kind: Arc<str> = format.name().into();
        let report = file.read(format, |batch| self.batch(log, &kind, &mut flows, batch))?;
        input.lines = report.lines.lines;
        input.used = report.lines.used;
        input.passed_over = report.lines.passed_over;
        let reasons = report.lines.reasons.iter();
        input.not_used = reasons
            .map(|(reason, count)| (reason.to_string(), *count))
            .collect();
        let name = &log.name;
        let gaps = report.lines.gaps();
        let gaps = gaps.into_iter().map(|gap| format!("{name}: {gap}"));
        self.outcome.warnings.extend(gaps);
        if flows.unplaced > 0 {
            let rows = counted(flows.unplaced, "row");
            self.outcome.warnings.push(format!(
                "{name}: {rows} without a flow: of the captured connections on the same ports, none was open at the time of the row, or several may have been"
            ));
        }
        if flows.outside > 0 {
            let rows = counted(flows.outside, "row");
            self.outcome.warnings.push(format!(
                "{name}: {rows} more than {MAX_CLOCK_OFFSET} outside the time of the only captured connection on the same ports: the clock of the log is wrong, or the rows are of another connection"
            ));
        }
        if report.breaks_off {
            let warning = format!("{name}: compressed data ends early; earlier data was used");
            self.outcome.warnings.push(warning);
        }
        Ok(())
    }

    fn batch(
        &mut self,
        log: &LogSource,
        kind: &Arc<str>,
        flows: &mut LogFlows,
        batch: Batch,
    ) -> Result<(), Error> {
        flows.learn(&self.flows, &batch.flows);
        if let Some(stated) = batch.coarse_start {
            if let Some(delay) = self.starts.delay(stated, &batch.flows)? {
                self.delay = delay;
                flows.early_by = TimeDelta::ZERO;
            } else {
                self.delay = TimeDelta::ZERO;
                flows.early_by = MAX_DELAY;
                self.outcome.warnings.push(format!(
                    "{}: this log has the start of its test in whole seconds, and no capture at its end shows the first data of the test: its times may be more than a second early",
                    log.name
                ));
            }
        }
        let captured = &self.flows;
        let mut placed = |(flow, direction), at, sample| {
            let (flow, direction) = flows.place(captured, (flow, direction), at);
            LogRow {
                log: Arc::clone(&log.name),
                kind: Arc::clone(kind),
                // A direction refers to a flow.
                direction: flow.is_some().then_some(direction),
                flow,
                sample,
            }
        };
        for sample in batch.samples {
            self.of_log.add(sample.at);
            let row = LogSample::Sender(sample);
            let row = placed((sample.flow, sample.direction), sample.at, row);
            self.tables.logs.add(row)?;
        }
        for mut interval in batch.intervals {
            interval.start = interval.start + self.delay;
            self.of_log.add(interval.start);
            let row = LogSample::Interval(interval);
            let row = placed((interval.flow, interval.direction), interval.start, row);
            self.tables.logs.add(row)?;
        }
        let mut event = |flow, event| {
            self.tables.events.add(EventRow {
                capture: None,
                log: Some(Arc::clone(&log.name)),
                flow,
                event: RunEvent::Sender(event),
            })
        };
        for mut change in batch.state_changes {
            let (flow, direction) =
                flows.place(captured, (change.flow, change.direction), change.at);
            change.direction = direction;
            event(flow, SenderEvent::StateChange(change))?;
        }
        for mut retransmit in batch.retransmits {
            let sender = (retransmit.flow, retransmit.direction);
            let (flow, direction) = flows.place(captured, sender, retransmit.at);
            retransmit.direction = direction;
            event(flow, SenderEvent::Retransmit(retransmit))?;
        }
        Ok(())
    }
}

/// A warning of lines that are not used.
fn unused_warning(log: &LogInput) -> Option<String> {
    let cut_off = Unusable::CutOff.to_string();
    // The last line of a log that was still being written is cut off.
    let reasons = log
        .not_used
        .iter()
        .filter(|(reason, _)| **reason != cut_off);
    let unused: u64 = reasons.clone().map(|(_, lines)| lines).sum();
    let reasons: Vec<&str> = reasons.map(|(reason, _)| reason.as_str()).collect();
    let entry = LogKind::named(&log.kind).map_or(Entry::Line, LogKind::entry);
    (unused > 0).then(|| {
        format!(
            "{}: {unused} of {} not used: {}",
            log.file.path,
            counted(log.lines, entry.name()),
            reasons.join(", ")
        )
    })
}

/// Returns an error without a usable line: the log is most likely one of another kind.
fn require_use(input: &LogInput, log: &LogSource) -> Result<(), Error> {
    if input.used > 0 {
        return Ok(());
    }
    Err(Error::Nothing {
        path: log.path.clone(),
        why: format!("none of {} can be used", counted(input.lines, "line")),
    })
}
