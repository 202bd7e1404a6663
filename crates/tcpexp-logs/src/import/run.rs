//! Reads a whole log.

use std::cmp::Reverse;
use std::io::BufRead;
use std::mem;

use super::error::{Error, LineUse, Report, Unusable};
use super::flows::Flows;
use super::format::Format;
use super::header::Header;
use super::lines::{self, Lines};
use super::probe_log::ProbeLog;
use super::rows::Batch;
use super::siftr::Siftr;
use super::ss::Ss;
use super::tcp_info::{self, TcpInfo};
use super::web10g::{self, Web10g};
use super::{flent, iperf3, probe_columns, probe_losses};

/// Lines per batch.
const BATCH_LINES: u64 = 4_096;

impl Format {
    /// Guesses the format of a log from its `beginning`: the format that can use most lines. `None` if no
    /// format can use a line.
    pub fn guess(beginning: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(beginning);
        // Of the logs with sender state and intervals, only iperf3's is JSON. Its parser rejects a
        // document cut short, so it cannot try a beginning.
        if text
            .trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t'])
            .starts_with('{')
        {
            return Some(Self::Iperf3);
        }
        // Each format loses the last line of the beginning, which is usually cut off.
        let used = |format: Self| {
            let report = import(format, beginning, |_| Ok::<_, Error>(()));
            report.map_or(0, |report| report.used)
        };
        let by_line = Self::ALL.into_iter().filter(|format| !format.is_document());
        let (used, format) = by_line
            .map(|format| (used(format), format))
            // On a tie, the first format wins.
            .max_by_key(|(used, format)| (*used, Reverse(*format)))?;
        (used > 0).then_some(format)
    }
}

/// Reads `log` and passes its rows to `sink`, in the order of the log.
///
/// Memory depends on the number of connections in the log, not on its length.
pub fn import<E: From<Error>>(
    format: Format,
    log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let log = lines::without_mark(log).map_err(|source| Error::Read { line: 0, source })?;
    // A used line need not give a row: `ss` prints endpoints and their details on separate lines.
    let mut gave_rows = false;
    let mut lost_events = 0;
    let counted = |batch: Batch| {
        gave_rows |= batch.has_rows();
        lost_events += batch.lost_events;
        sink(batch)
    };
    let mut report = match format {
        Format::TcpProbe => by_line(Parser::TcpProbe(ProbeLog::default()), log, counted),
        Format::TcpInfo => by_line(Parser::TcpInfo(TcpInfo::default()), log, counted),
        Format::Ss => by_line(Parser::Ss(Ss::default()), log, counted),
        Format::Siftr => by_line(Parser::Siftr(Siftr::default()), log, counted),
        Format::Web10g => by_line(Parser::Web10g(Web10g::default()), log, counted),
        Format::Iperf3 => iperf3::read(log, counted),
        Format::Flent => flent::read(log, counted),
    }?;
    report.lost_events = lost_events;
    if gave_rows {
        return Ok(report);
    }
    let nothing = Error::NothingUsable {
        lines: report.lines,
        entry: report.entry,
        first: report.first_unusable,
    };
    Err(nothing.into())
}

fn by_line<E: From<Error>>(
    mut parser: Parser,
    log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let (mut flows, mut batch, mut report) =
        (Flows::default(), Batch::default(), Report::default());
    let mut lines = Lines::new(log);
    loop {
        let line = report.lines;
        let read = lines
            .advance()
            .map_err(|source| Error::Read { line, source })?;
        let Some(text) = read else { break };
        report.lines += 1;
        match text.and_then(|text| parser.line(text, &mut flows, &mut batch)) {
            Ok(LineUse::Used) => report.used += 1,
            Ok(LineUse::PassedOver) => report.passed_over += 1,
            Err(reason) => report.refuse(reason, &lines.beginning()),
        }
        if report.lines.is_multiple_of(BATCH_LINES) && !batch.is_empty() {
            sink(mem::take(&mut batch))?;
        }
    }
    if !batch.is_empty() {
        sink(batch)?;
    }
    match parser {
        Parser::TcpProbe(log) => report.event_lines = log.event_lines,
        Parser::Siftr(siftr) => report.skipped_packets = siftr.skipped_packets,
        Parser::TcpInfo(_) | Parser::Ss(_) | Parser::Web10g(_) => {}
    }
    Ok(report)
}

/// The state of each format between lines.
enum Parser {
    TcpProbe(ProbeLog),
    TcpInfo(TcpInfo),
    Ss(Ss),
    Siftr(Siftr),
    Web10g(Web10g),
}

impl Parser {
    /// Columns by which a header is recognised.
    fn columns(&self) -> &'static [&'static str] {
        match self {
            Self::TcpProbe(_) => &probe_columns::COLUMNS,
            Self::TcpInfo(_) => &tcp_info::COLUMNS,
            Self::Web10g(_) => &web10g::NAMES,
            Self::Ss(_) | Self::Siftr(_) => &[],
        }
    }

    fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        // A trace of the kernel begins with comments, such as `# tracer: nop`. The names of columns
        // may be a comment too.
        let is_comment = text.starts_with('#') && !Header::is_one(text, self.columns());
        if text.trim_start().is_empty() || is_comment {
            if matches!(self, Self::TcpProbe(_)) {
                batch.lost_events += probe_losses::overwritten(text).unwrap_or(0);
            }
            return Ok(LineUse::PassedOver);
        }
        match self {
            Self::TcpProbe(log) => log.line(text, flows, batch),
            Self::TcpInfo(log) => log.line(text, flows, batch),
            Self::Ss(ss) => ss.line(text, flows, batch),
            Self::Siftr(siftr) => siftr.line(text, flows, batch),
            Self::Web10g(web10g) => web10g.line(text, flows, batch),
        }
    }
}
