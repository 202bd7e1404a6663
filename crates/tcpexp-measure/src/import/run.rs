//! Reading a whole log.

use std::io::BufRead;
use std::mem;

use super::error::{Error, Report, Unusable};
use super::flows::Flows;
use super::lines::Lines;
use super::rows::Batch;
use super::{probe_columns, probe_events, tcp_info};

/// Lines that make a batch.
const BATCH_LINES: u64 = 4_096;

/// The logs that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Linux's `tcp_probe` in any of three forms, told apart line by line: events as tracefs prints
    /// them, with `tcp_cong_state_set` and `tcp_retransmit_skb` among them; the old
    /// `/proc/net/tcpprobe`; a CSV whose header names `time,src,dst,snd_nxt,snd_una,snd_cwnd,
    /// ssthresh,snd_wnd,srtt_us`.
    ///
    /// A row is the state when a segment arrives, before it is processed.
    TcpProbe,
    /// `TCP_INFO` polled by the sending application into a CSV without endpoints: `time, ca_state,
    /// rto, unacked, sacked, lost, retrans, rtt, snd_ssthresh, snd_cwnd, total_retrans, busy_time,
    /// rwnd_limited, sndbuf_limited, app_limited, retransmits`; the time in seconds, all others as
    /// in the kernel's `struct tcp_info`.
    ///
    /// A row is the state between two segments.
    TcpInfo,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::TcpProbe, Self::TcpInfo];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpProbe => "tcp_probe",
            Self::TcpInfo => "tcpinfo",
        }
    }
}

/// What a line that is no error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It gave a row, or a part of one.
    Used,
    /// It is made to hold nothing.
    PassedOver,
}

/// Reads `log` and hands its rows to `sink`, in the order of the log.
///
/// Memory follows the connections that the log tells of, not its length.
pub fn import<E: From<Error>>(
    format: Format,
    log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let mut parser = match format {
        Format::TcpProbe => Parser::TcpProbe(None),
        Format::TcpInfo => Parser::TcpInfo,
    };
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
            Ok(Taken::Used) => report.used += 1,
            Ok(Taken::PassedOver) => report.passed_over += 1,
            Err(reason) => report.refuse(reason, &lines.beginning()),
        }
        if report.lines.is_multiple_of(BATCH_LINES) && !batch.is_empty() {
            sink(mem::take(&mut batch))?;
        }
    }
    if !batch.is_empty() {
        sink(batch)?;
    }
    if report.used == 0 {
        let (lines, first) = (report.lines, report.first_unusable);
        return Err(Error::NothingUsable { lines, first }.into());
    }
    Ok(report)
}

/// What a format remembers from line to line.
enum Parser {
    TcpProbe(Option<probe_columns::Columns>),
    TcpInfo,
}

impl Parser {
    fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<Taken, Unusable> {
        if text.trim_start().is_empty() || text.starts_with('#') {
            return Ok(Taken::PassedOver);
        }
        match self {
            Self::TcpProbe(columns) => {
                if probe_columns::is_header(text) {
                    *columns = Some(probe_columns::Columns::of(text));
                    return Ok(Taken::PassedOver);
                }
                match columns {
                    Some(columns) => columns.row(text, flows, batch),
                    None if probe_events::has_event(text) => probe_events::line(text, flows, batch),
                    None => probe_columns::proc_line(text, flows, batch),
                }?;
            }
            Self::TcpInfo if tcp_info::is_header(text) => return Ok(Taken::PassedOver),
            Self::TcpInfo => tcp_info::line(text, flows, batch)?,
        }
        Ok(Taken::Used)
    }
}
