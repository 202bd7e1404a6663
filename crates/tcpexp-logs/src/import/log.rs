//! For tests: formats the rows of a log as text.

use std::fmt::Write;
use tcpexp_units::counted;

use super::rows::Batch;
use super::{Error, Format, Report, import};

/// All rows of a valid log.
pub(super) fn read(format: Format, log: &str) -> (Batch, Report) {
    let mut all = Batch::default();
    let report = import(format, log.as_bytes(), |batch| {
        all.flows.extend(batch.flows);
        all.samples.extend(batch.samples);
        all.state_changes.extend(batch.state_changes);
        all.retransmits.extend(batch.retransmits);
        all.counters.extend(batch.counters);
        all.intervals.extend(batch.intervals);
        all.lost_events += batch.lost_events;
        Ok::<_, Error>(())
    })
    .unwrap();
    (all, report)
}

/// The lines of a log, without the indentation of a test.
pub(super) fn lines(log: &str) -> String {
    log.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Flows and samples, one per line, without unknown values.
pub(super) fn rows_of(format: Format, log: &str) -> String {
    let (batch, report) = read(format, &lines(log));
    let mut text = String::new();
    for flow in &batch.flows {
        let ends = [flow.local, flow.remote]
            .map(|end| end.map_or_else(|| "?".to_owned(), |end| end.to_string()));
        let _ = writeln!(text, "flow {}: {} to {}", flow.flow, ends[0], ends[1]);
    }
    for row in &batch.samples {
        let _ = write!(
            text,
            "{} {} {}:",
            row.at.as_nanos(),
            row.flow,
            row.direction
        );
        let mut known = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = write!(text, " {name} {value}");
            }
        };
        known("una", row.snd_una.map(|una| una.seq().0.to_string()));
        known("nxt", row.snd_nxt.map(|nxt| nxt.seq().0.to_string()));
        known("smss", row.smss_bytes.map(|bytes| bytes.to_string()));
        known(
            "flight",
            row.flight_size_bytes.map(|bytes| bytes.to_string()),
        );
        known(
            "pipe",
            row.pipe_segments.map(|segments| segments.to_string()),
        );
        known(
            "cwnd",
            row.cwnd_segments.map(|segments| segments.to_string()),
        );
        known("cwnd_bytes", row.cwnd_bytes.map(|bytes| bytes.to_string()));
        known(
            "ssthresh",
            row.ssthresh_segments.map(|segments| segments.to_string()),
        );
        known("phase", row.phase.map(|phase| phase.name().to_owned()));
        known("epoch", row.recovery_epoch.map(|epoch| epoch.to_string()));
        known("srtt", row.srtt.map(|srtt| srtt.to_string()));
        known("rto", row.rto.map(|rto| rto.to_string()));
        known(
            "usable",
            row.usable_window_bytes.map(|bytes| bytes.to_string()),
        );
        text.push('\n');
    }
    for (reason, count) in &report.reasons {
        let _ = writeln!(text, "{}: {reason}", counted(count, "line"));
    }
    text
}
