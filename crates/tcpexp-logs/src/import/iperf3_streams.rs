//! The streams of a test of iperf3, and their intervals.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;
use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::{BitRate, ByteCount, TimeDelta, Timestamp};
use tcpexp_wire::protocol::SCTP;

use super::error::{Error, Report, Unusable};
use super::flows::Flows;
use super::rows::{Batch, IntervalSample};

/// The start of a test.
#[derive(Debug, Default)]
pub(super) struct Test {
    /// Start in whole seconds, the only absolute time in the output of iperf3.
    start: Option<Timestamp>,
    /// Time at the start that iperf3 leaves out (`-O`); the times of later intervals count from its end.
    omitted: TimeDelta,
    /// Whether the end that wrote the log sends, on all streams; `None` if unknown or if both ends send.
    sends: Option<bool>,
    streams: HashMap<u64, FlowId>,
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

/// Whether the end that wrote the log sends. iperf3 before 3.7 states it only by the role of this end and by
/// the option `-R`.
fn sends(start: &Value) -> Option<bool> {
    let has = |name: &str| start[name].is_object();
    let is_client = match (has("connecting_to"), has("accepted_connection")) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let test = &start["test_start"];
    let is_set = |option: &Value| {
        option
            .as_bool()
            .or_else(|| option.as_u64().map(|set| set != 0))
    };
    // With `--bidir`, both ends send.
    if is_set(&test["bidir"]) == Some(true) {
        return None;
    }
    Some(is_client != is_set(&test["reverse"])?)
}

impl Test {
    /// Reads the start of a test. Its streams are new connections, even on the ports of an earlier test.
    pub(super) fn begin(
        &mut self,
        start: &Value,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let protocol = protocol(start)?;
        // Sockets have the same numbers in each test.
        self.streams.clear();
        self.sends = sends(start);
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
                self.streams.insert(socket, flows.another(ends, batch));
            }
        }
        // A test has one protocol, so it is that of each flow that its start introduced.
        for flow in &mut batch.flows {
            flow.protocol = protocol;
        }
        Ok(())
    }

    pub(super) fn interval(&self, interval: &Value, batch: &mut Batch, report: &mut Report) {
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
        let rate = bytes.and_then(|bytes| ByteCount::new(bytes).rate_over(length));
        let micros = |name: &str| {
            let micros = stream[name].as_i64().filter(|micros| *micros > 0);
            micros.map(TimeDelta::from_micros)
        };
        let sends = stream["sender"].as_bool().or(self.sends);
        let sends = sends.ok_or(Unusable::Missing("sender"))?;
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
            goodput_bps: rate.map(BitRate::as_bps),
            retransmitted_segments: stream["retransmits"].as_u64(),
            cwnd_bytes: stream["snd_cwnd"].as_u64(),
            srtt: micros("rtt"),
            rttvar: micros("rttvar"),
            omitted: is_omitted,
        })
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sends;
    use crate::import::Format;
    use crate::import::log::read;

    #[test]
    fn without_the_sender_of_a_stream_the_role_and_the_option_give_its_direction() {
        let start = |role: &str, reverse: u8| json!({role: {"host": "10.0.0.2", "port": 5201}, "test_start": {"reverse": reverse}});
        assert_eq!(sends(&start("connecting_to", 0)), Some(true));
        assert_eq!(sends(&start("connecting_to", 1)), Some(false));
        assert_eq!(sends(&start("accepted_connection", 0)), Some(false));
        assert_eq!(sends(&start("accepted_connection", 1)), Some(true));
        assert_eq!(sends(&start("neither", 0)), None);
        assert_eq!(sends(&json!({"connecting_to": {}, "test_start": {}})), None);
        let both_send = json!({"connecting_to": {}, "test_start": {"reverse": 0, "bidir": 1}});
        assert_eq!(sends(&both_send), None);
    }

    /// A test of one interval, without the sender of its stream.
    fn log(role: &str) -> String {
        format!(
            r#"{{"start": {{"connected": [{{"socket": 5, "local_host": "10.0.0.1", "local_port": 4, "remote_host": "10.0.0.2", "remote_port": 5201}}],
            {role} "test_start": {{"protocol": "TCP", "reverse": 1}}}},
            "intervals": [{{"streams": [{{"socket": 5, "start": 0, "end": 1, "bytes": 9}},
                {{"socket": 5, "start": 1, "end": 2, "bytes": 9, "sender": true}}]}}]}}"#
        )
    }

    #[test]
    fn an_interval_of_unknown_direction_is_unusable() {
        let directions = |role: &str| {
            let (batch, report) = read(Format::Iperf3, &log(role));
            let directions: Vec<String> = batch
                .intervals
                .iter()
                .map(|row| row.direction.to_string())
                .collect();
            (directions.join(" "), report.unusable())
        };
        let client = r#""connecting_to": {"host": "10.0.0.2"},"#;
        assert_eq!(directions(client), ("reverse forward".to_owned(), 0));
        assert_eq!(directions(""), ("forward".to_owned(), 1));
    }
}
