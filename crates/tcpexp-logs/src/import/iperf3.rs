//! The JSON of `iperf3 --json` and `--json-stream`.
//!
//! `--json` is one document and is read whole; `--json-stream` has one event per line. Each stream
//! of each interval is a row.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::net::{IpAddr, SocketAddr};

use serde_json::{Deserializer, Value};
use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::{TimeDelta, Timestamp};

use super::error::{Error, Report, Unusable};
use super::flows::Flows;
use super::rows::{Batch, IntervalSample};

/// The start of a test.
#[derive(Debug, Default)]
struct Test {
    /// Start in whole seconds, the only absolute time in the output of iperf3.
    start: Option<Timestamp>,
    /// Time at the start that iperf3 leaves out (`-O`); the times of later intervals count from its end.
    omitted: TimeDelta,
    streams: HashMap<u64, FlowId>,
}

/// Reads all intervals and passes them to `sink`.
pub(super) fn read<E: From<Error>>(
    log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let (mut test, mut flows, mut report) = (Test::default(), Flows::default(), Report::default());
    let mut failure_text = None;
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
        document(&value, &mut test, &mut flows, &mut batch, &mut report)?;
        failure_text = failure_text.or_else(|| failure_of(&value));
        if !batch.is_empty() {
            sink(batch)?;
        }
    }
    match failure_text {
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

/// A whole test, or one event of a stream.
fn document(
    value: &Value,
    test: &mut Test,
    flows: &mut Flows,
    batch: &mut Batch,
    report: &mut Report,
) -> Result<(), Error> {
    match (value["event"].as_str(), &value["data"]) {
        (Some("start"), start) => test.begin(start, flows, batch)?,
        (Some("interval"), interval) => test.interval(interval, batch, report),
        // Other events, such as `end`, have totals of the test and no intervals.
        (Some(_), _) => {}
        (None, _) => {
            test.begin(&value["start"], flows, batch)?;
            for interval in value["intervals"].as_array().into_iter().flatten() {
                test.interval(interval, batch, report);
            }
        }
    }
    Ok(())
}

/// The protocol of a test (`Ptcp`, `Pudp` and `Psctp` of iperf3).
fn protocol(start: &Value) -> Result<Protocol, Error> {
    match start["test_start"]["protocol"].as_str() {
        // A log without a start has no connections.
        Some("TCP") | None => Ok(Protocol::Tcp),
        Some("UDP") => Ok(Protocol::Udp),
        Some("SCTP") => Ok(Protocol::Other(SCTP)),
        Some(name) => Err(Error::Protocol {
            name: name.to_owned(),
        }),
    }
}

impl Test {
    fn begin(&mut self, start: &Value, flows: &mut Flows, batch: &mut Batch) -> Result<(), Error> {
        let protocol = protocol(start)?;
        let seconds = start["timestamp"]["timesecs"].as_i64();
        self.start =
            seconds.map(|seconds| Timestamp::from_nanos(0) + TimeDelta::from_seconds(seconds));
        batch.coarse_start = self.start;
        let omitted = start["test_start"]["omit"].as_i64().unwrap_or(0);
        self.omitted = TimeDelta::from_seconds(omitted.clamp(0, LONGEST_SECONDS));
        for connected in start["connected"].as_array().into_iter().flatten() {
            let end = |host: &str, port: &str| {
                let address: IpAddr = connected[host].as_str()?.parse().ok()?;
                let port = u16::try_from(connected[port].as_u64()?).ok()?;
                Some(SocketAddr::new(address.to_canonical(), port))
            };
            let ends = end("local_host", "local_port").zip(end("remote_host", "remote_port"));
            // A connection without readable ends is left out; its intervals then count as unusable.
            if let (Some(ends), Some(socket)) = (ends, connected["socket"].as_u64()) {
                let flow = flows.sender(ends, None, batch).flow;
                self.streams.insert(socket, flow);
            }
        }
        // A test has one protocol, so it is that of each flow that its start introduced.
        for flow in &mut batch.flows {
            flow.protocol = protocol;
        }
        Ok(())
    }

    fn interval(&self, interval: &Value, batch: &mut Batch, report: &mut Report) {
        for stream in interval["streams"].as_array().into_iter().flatten() {
            report.lines += 1;
            match self.sample(stream) {
                Ok(sample) => {
                    report.used += 1;
                    batch.intervals.push(sample);
                }
                Err(reason) => report.refuse(reason, &stream.to_string()),
            }
        }
    }

    fn sample(&self, stream: &Value) -> Result<IntervalSample, Unusable> {
        let socket = stream["socket"]
            .as_u64()
            .ok_or(Unusable::Missing("socket"))?;
        let flow = *self
            .streams
            .get(&socket)
            .ok_or(Unusable::Missing("connection of the socket"))?;
        let start = span(&stream["start"]).ok_or(Unusable::Missing("start"))?;
        let end = span(&stream["end"]).ok_or(Unusable::Missing("end"))?;
        let length = end - start;
        // The interval across the end of the omitted time has times of two counts.
        let stated = span(&stream["seconds"]).unwrap_or(length);
        if (stated - length).abs() > TOLERANCE {
            return Err(Unusable::Unreadable("start or end"));
        }
        let is_omitted = stream["omitted"].as_bool().unwrap_or(false);
        let before = if is_omitted {
            TimeDelta::ZERO
        } else {
            self.omitted
        };
        let bytes = stream["bytes"].as_u64();
        let micros = |name: &str| {
            let micros = stream[name].as_i64().filter(|micros| *micros > 0);
            micros.map(TimeDelta::from_micros)
        };
        let sends = stream["sender"].as_bool().unwrap_or(true);
        Ok(IntervalSample {
            start: self.start.unwrap_or_default() + before + start,
            length,
            flow,
            direction: if sends {
                Direction::Forward
            } else {
                Direction::Reverse
            },
            bytes,
            goodput_bps: bytes.and_then(|bytes| rate_bps(bytes, length)),
            retransmitted_segments: stream["retransmits"].as_u64(),
            cwnd_bytes: stream["snd_cwnd"].as_u64(),
            srtt: micros("rtt"),
            rttvar: micros("rttvar"),
            omitted: is_omitted,
        })
    }
}

/// Number of SCTP in the IP header, as IANA assigns it.
const SCTP: u8 = 132;
/// Longest test of iperf3 (`MAX_TIME` in its `iperf.h`).
const LONGEST_SECONDS: i64 = 86_400;
/// Greatest difference between the length of an interval and its `seconds`, which iperf3 prints as a number
/// of single precision.
const TOLERANCE: TimeDelta = TimeDelta::from_millis(10);

/// Seconds with a fraction, in the microseconds that iperf3 measures.
pub(super) fn span(seconds: &Value) -> Option<TimeDelta> {
    // iperf3 measures whole microseconds: rounding removes the error of the binary fraction.
    let micros = (seconds.as_f64()? * 1e6).round();
    // No test lasts thirty years.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within range as just checked"
    )]
    (0.0..1e15)
        .contains(&micros)
        .then(|| TimeDelta::from_micros(micros as i64))
}

fn rate_bps(bytes: u64, length: TimeDelta) -> Option<u64> {
    // A negative or empty interval has no rate. In 64 bits, bytes times 8e9 overflows above 2.3 GB.
    let nanos = u128::try_from(length.as_nanos()).ok()?;
    u64::try_from((u128::from(bytes) * 8_000_000_000).checked_div(nanos)?).ok()
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
        assert_eq!(message("{}"), "none of 0 lines can be used");
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
        assert_eq!(read(Format::Iperf3, &log).1.used, 1);
    }
}
