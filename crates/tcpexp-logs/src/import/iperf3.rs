//! The JSON of `iperf3 --json` and `--json-stream`.
//!
//! `--json` is one document and is read whole; `--json-stream` has one event per line. Each stream
//! of each interval is a row.

use std::collections::HashSet;
use std::io::{self, BufRead};

use serde_json::{Deserializer, Value};

use super::error::{Error, Report, Unusable};
use super::flows::Flows;
use super::format::Format;
use super::iperf3_streams::Test;
use super::rows::Batch;

/// Reads all intervals and passes them to `sink`.
pub(super) fn read<E: From<Error>>(
    log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let mut tests = Tests::default();
    let mut report = Report {
        entry: Format::Iperf3.entry(),
        ..Report::default()
    };
    for value in Deserializer::from_reader(log).into_iter::<Value>() {
        let value = match value {
            Ok(value) => value,
            // The events before this line of a stream are complete.
            Err(error) if report.used > 0 && !error.is_io() => {
                report.lines += 1;
                report.refuse(Unusable::CutOff, "");
                break;
            }
            Err(error) => return Err(failure(error).into()),
        };
        // One batch per event keeps the memory for a stream of events constant.
        let mut batch = Batch::default();
        tests.document(&value, &mut batch, &mut report)?;
        report.failure = report.failure.take().or_else(|| failure_of(&value));
        if !batch.is_empty() {
            sink(batch)?;
        }
    }
    match report.failure {
        // A test that failed later has intervals, which are used.
        Some(message) if report.used == 0 => Err(Error::TestFailed { message }.into()),
        _ => Ok(report),
    }
}

/// The error of a test, at the end of a document or in an event of a stream (`iperf_err` of iperf3).
fn failure_of(value: &Value) -> Option<String> {
    let error = match value["event"].as_str() {
        Some("error") => &value["data"],
        _ => &value["error"],
    };
    error.as_str().map(str::to_owned)
}

pub(super) fn failure(source: serde_json::Error) -> Error {
    let (line, column) = (source.line() as u64, source.column() as u64);
    if source.is_io() {
        let source = io::Error::from(source);
        return Error::Read { line, source };
    }
    if source.is_eof() {
        return Error::CutJson { line };
    }
    let text = source.to_string();
    let place = format!(" at line {line} column {column}");
    Error::Json {
        line,
        column,
        why: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
    }
}

/// The tests of a log.
#[derive(Default)]
struct Tests {
    current: Test,
    flows: Flows,
    /// Identities of the tests so far.
    begun: HashSet<String>,
}

impl Tests {
    /// Reads a whole test, or one event of a stream.
    fn document(
        &mut self,
        value: &Value,
        batch: &mut Batch,
        report: &mut Report,
    ) -> Result<(), Error> {
        match (value["event"].as_str(), &value["data"]) {
            (Some("start"), start) => {
                self.begun.extend(identity(start));
                self.current.begin(start, &mut self.flows, batch)?;
            }
            (Some("interval"), interval) => self.current.interval(interval, batch, report),
            // Other events, such as `end`, have totals of the test and no intervals.
            (Some(_), _) => {}
            (None, _) => {
                let start = &value["start"];
                // `--json-stream-full-output` prints the document of a test after its events.
                let is_known = identity(start).is_some_and(|test| !self.begun.insert(test));
                if is_known {
                    return Ok(());
                }
                self.current.begin(start, &mut self.flows, batch)?;
                for interval in value["intervals"].as_array().into_iter().flatten() {
                    self.current.interval(interval, batch, report);
                }
            }
        }
        Ok(())
    }
}

/// What distinguishes the start of a test from those of all others, as one end logs it; `None` if nothing does.
fn identity(start: &Value) -> Option<String> {
    // The client makes a random cookie for each test. Both ends log it, with their own views of the streams.
    let cookie = start["cookie"].as_str();
    let has_time = start["timestamp"]["timesecs"].is_number();
    match cookie {
        Some(cookie) => Some(format!("{cookie} {}", start["connected"])),
        None => has_time.then(|| start.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_flow::Protocol;

    use crate::import::log::read;
    use crate::import::{Batch, Error, Format, import};

    const START: &str = r#"{"connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 33504, "remote_host": "10.0.0.2", "remote_port": 5201}],
        "timestamp": {"timesecs": 1767225609}, "test_start": {"protocol": "TCP"}}"#;
    const FIRST: &str = r#"{"streams": [{"socket": 5, "start": 0, "end": 1.000058, "bytes": 1250000, "bits_per_second": 9999420.03, "retransmits": 7, "snd_cwnd": 151552, "rtt": 60021, "rttvar": 120, "omitted": false, "sender": true}], "sum": {}}"#;
    const SECOND: &str = r#"{"streams": [{"socket": 5, "start": 1.000058, "end": 2.000001, "bytes": 0, "sender": false},
        {"socket": 6, "start": 1.0, "end": 2.0}]}"#;

    fn rows_of(log: &str) -> String {
        let (
            Batch {
                flows, intervals, ..
            },
            report,
        ) = read(Format::Iperf3, log);
        let rows: Vec<String> = intervals
            .iter()
            .map(|row| {
                format!(
                    "{} {} {}: {} {:?} bytes {:?} bit/s, {:?} again, cwnd {:?}, srtt {}",
                    row.start.as_nanos(),
                    row.flow,
                    row.direction,
                    row.length,
                    row.bytes,
                    row.goodput_bps,
                    row.retransmitted_segments,
                    row.cwnd_bytes,
                    row.srtt.map_or("?".to_owned(), |srtt| srtt.to_string()),
                )
            })
            .collect();
        let reasons: Vec<String> = report.reasons.keys().map(ToString::to_string).collect();
        format!(
            "{} to {}\n{}\n{}",
            flows[0].local.unwrap(),
            flows[0].remote.unwrap(),
            rows.join("\n"),
            reasons.join("\n")
        )
    }

    #[test]
    fn intervals_of_a_document_are_rows() {
        let log = format!(r#"{{"start": {START}, "intervals": [{FIRST}, {SECOND}], "end": {{}}}}"#);
        assert_snapshot!(rows_of(&log), @r"
        10.0.0.1:33504 to 10.0.0.2:5201
        1767225609000000000 0 forward: 1.000 s Some(1250000) bytes Some(9999420) bit/s, Some(7) again, cwnd Some(151552), srtt 60.021 ms
        1767225610000058000 0 reverse: 999.943 ms Some(0) bytes Some(0) bit/s, None again, cwnd None, srtt ?
        connection of the socket is missing
        ");
    }

    #[test]
    fn truncated_stream_of_events_keeps_complete_events() {
        let log = format!(
            "{{\"event\": \"start\", \"data\": {START}}}\n{{\"event\": \"interval\", \"data\": {FIRST}}}\n{{\"event\": \"inter"
        );
        assert_snapshot!(rows_of(&log), @r"
        10.0.0.1:33504 to 10.0.0.2:5201
        1767225609000000000 0 forward: 1.000 s Some(1250000) bytes Some(9999420) bit/s, Some(7) again, cwnd Some(151552), srtt 60.021 ms
        cut off by the end of the file
        ");
    }

    #[test]
    fn text_other_than_json_is_an_error_with_its_place() {
        let message = |log: &str| {
            let failed = import(Format::Iperf3, log.as_bytes(), |_| Ok::<_, Error>(()));
            failed.unwrap_err().to_string()
        };
        assert_eq!(
            message("Connecting to host"),
            "line 1, column 1 is not JSON: expected value"
        );
        assert_eq!(
            message("{\"start\": 1,\n"),
            "the JSON text ends early, at line 2"
        );
        assert_eq!(message("{}"), "none of 0 intervals can be used");
    }

    #[test]
    fn the_protocol_of_the_flows_is_that_of_the_test() {
        let log = |protocol: &str| {
            let start = START.replace("TCP", protocol);
            format!(r#"{{"start": {start}, "intervals": [{FIRST}], "end": {{}}}}"#)
        };
        for (name, protocol) in [
            ("TCP", Protocol::Tcp),
            ("UDP", Protocol::Udp),
            ("SCTP", Protocol::Other(132)),
        ] {
            let (batch, _) = read(Format::Iperf3, &log(name));
            assert_eq!(batch.flows[0].protocol, protocol);
        }
        let other = log("DCCP");
        let failed = import(Format::Iperf3, other.as_bytes(), |_| Ok::<_, Error>(()));
        assert_eq!(
            failed.unwrap_err().to_string(),
            "the test of iperf3 has the protocol DCCP: expected TCP, UDP or SCTP"
        );
    }

    #[test]
    fn failed_test_gives_the_error_of_iperf3() {
        let failed = |log: &str| {
            let failed = import(Format::Iperf3, log.as_bytes(), |_| Ok::<_, Error>(()));
            failed.unwrap_err().to_string()
        };
        let message = "the log has no intervals, and iperf3 reports: unable to connect";
        for log in [
            r#"{"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}"#,
            "{\"event\": \"error\", \"data\": \"unable to connect\"}\n{\"event\": \"end\", \"data\": {}}\n",
        ] {
            assert_eq!(failed(log), message);
        }
        let log =
            format!(r#"{{"start": {START}, "intervals": [{FIRST}], "error": "interrupted"}}"#);
        let report = read(Format::Iperf3, &log).1;
        assert_eq!(report.used, 1);
        assert_eq!(report.failure.as_deref(), Some("interrupted"));
    }

    #[test]
    fn document_after_the_events_of_its_test_adds_nothing() {
        for start in [
            START.to_owned(),
            START.replacen('{', "{\"cookie\": \"abc\", ", 1),
        ] {
            let log = format!(
                r#"{{"event": "start", "data": {start}}}
                {{"event": "interval", "data": {FIRST}}}
                {{"start": {start}, "intervals": [{FIRST}], "end": {{}}}}"#
            );
            let (batch, report) = read(Format::Iperf3, &log);
            assert_eq!((batch.flows.len(), batch.intervals.len()), (1, 1));
            assert_eq!((report.lines, report.used), (1, 1));
        }
    }

    #[test]
    fn tests_on_the_same_ports_are_flows_of_their_own() {
        let first = format!(r#"{{"start": {START}, "intervals": [{FIRST}]}}"#);
        let later = first.replace("1767225609", "1767229209");
        let (batch, _) = read(Format::Iperf3, &(first + &later));
        assert_eq!(batch.flows.len(), 2);
        let flows: Vec<u32> = batch.intervals.iter().map(|row| row.flow.0).collect();
        assert_eq!(flows, [0, 1]);
    }

    #[test]
    fn an_unusable_interval_is_named_by_its_number() {
        let log = format!(r#"{{"start": {START}, "intervals": [{FIRST}, {SECOND}]}}"#);
        let first = read(Format::Iperf3, &log).1.first_unusable.unwrap();
        assert_eq!((first.entry.name(), first.line), ("interval", 3));
    }
}
