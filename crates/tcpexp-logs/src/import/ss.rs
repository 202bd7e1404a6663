//! Repeated output of `ss -tin`.
//!
//! A connection takes one line (`-O`) or two, the second indented. `ss` prints no time, so the
//! script that calls it must: in front of each line, or on a line of its own before each call.

use std::net::{IpAddr, SocketAddr};

use tcpexp_measure::sender::SenderSample;
use tcpexp_units::{TimeDelta, Timestamp};

use super::error::{LineUse, Unusable};
use super::fields::Field;
use super::flows::Flows;
use super::rows::{Batch, SenderCounters};
use super::ss_model::model;
use super::ss_sockets::{Counters, Sockets};
use super::state::{blank, finite};

/// The initial timeout, which `ss` omits.
const RTO_NOT_PRINTED: TimeDelta = TimeDelta::from_seconds(3);

/// Context from the previous lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Ss {
    at: Option<Timestamp>,
    /// Endpoints whose details follow on the next line.
    pending: Option<(SocketAddr, SocketAddr)>,
    /// True once a row had a busy time: `ss` omits a time of zero, and Linux before 4.10 counts none.
    has_busy_times: bool,
    sockets: Sockets,
}

impl Ss {
    /// Reads one line.
    pub(super) fn line(
        &mut self,
        text: &str,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<LineUse, Unusable> {
        let mut tokens: Vec<&str> = text.split_ascii_whitespace().collect();
        if let Some(at) = time(&tokens) {
            self.at = Some(at);
            tokens.remove(0);
        }
        // Details follow their endpoints at once, so any other line in between drops the endpoints.
        let pending = self.pending.take();
        // The header repeats at each call, and sockets in these states have no sender.
        if matches!(
            tokens.first(),
            None | Some(&("State" | "Recv-Q" | "LISTEN" | "UNCONN" | "TIME-WAIT"))
        ) {
            return Ok(LineUse::PassedOver);
        }
        let (ends, details) = match head(&tokens) {
            Some((ends, behind)) if tokens[behind..].iter().any(|token| has_details(token)) => {
                (ends, &tokens[behind..])
            }
            Some((ends, _)) => {
                // Without the option `-O`, `ss` prints the details on the next line.
                self.pending = Some(ends);
                return Ok(LineUse::Used);
            }
            None if tokens.iter().any(|token| has_details(token)) => {
                (pending.ok_or(Unusable::Missing("endpoints"))?, &tokens[..])
            }
            None => {
                // It may have been the time of the next lines, in a form that is not known.
                if !(text.starts_with([' ', '\t']) || is_socket(&tokens)) {
                    self.at = None;
                }
                return Err(Unusable::OtherLayout);
            }
        };
        let at = self.at.ok_or(Unusable::Missing("time"))?;
        self.connection(at, ends, &Details(details), flows, batch)?;
        Ok(LineUse::Used)
    }

    fn connection(
        &mut self,
        at: Timestamp,
        ends: (SocketAddr, SocketAddr),
        details: &Details<'_>,
        flows: &mut Flows,
        batch: &mut Batch,
    ) -> Result<(), Unusable> {
        let cwnd = details.find("cwnd").ok_or(Unusable::Missing("cwnd"))?;
        let cwnd: u32 = cwnd.number()?;
        let smss = details.find("mss").map(Field::number::<u32>).transpose()?;
        let threshold = details.find("ssthresh").map(Field::number).transpose()?;
        let srtt = details.find("rtt").map(Field::millis).transpose()?;
        let rto = details.find("rto").map(Field::millis).transpose()?;
        // `retrans:1/78` means 1 retransmitted segment outstanding, and 78 since the start.
        let retrans = details.parts("retrans", ['/'; 3]);
        let (outstanding, total) = match retrans {
            Some([now, total]) => (now.number::<u32>()?, total.number()?),
            None => (0, 0),
        };
        // `tcp_packets_in_flight` of Linux, in segments: unacked + retrans - (sacked + lost).
        let in_network = i64::from(details.count("unacked")?) + i64::from(outstanding);
        let left = i64::from(details.count("sacked")?) + i64::from(details.count("lost")?);
        let busy = details.limited("busy")?;
        let receiver_limited = details.limited("rwnd_limited")?;
        let send_buffer_limited = details.limited("sndbuf_limited")?;
        let counters = Counters {
            retransmitted: total,
            busy,
            bytes_sent: details.total("bytes_sent")?,
            bytes_acked: details.total("bytes_acked")?,
        };

        self.has_busy_times |= busy > TimeDelta::ZERO;
        let known = |time| self.has_busy_times.then_some(time);
        let stream = self.sockets.sender(ends, at, counters, flows, batch);
        batch.samples.push(SenderSample {
            smss_bytes: smss,
            pipe_segments: u32::try_from(in_network - left).ok(),
            cwnd_segments: Some(cwnd),
            cwnd_bytes: smss.map(|smss| u64::from(cwnd) * u64::from(smss)),
            // `ss` also omits a threshold of 65535 or more, which is practically infinite.
            ssthresh_segments: threshold.and_then(finite),
            srtt,
            rto: rto.or(srtt.map(|_| RTO_NOT_PRINTED)),
            model: model(details.0, cwnd),
            ..blank(stream, at)
        });
        batch.counters.push(SenderCounters {
            at,
            flow: stream.flow,
            direction: stream.direction,
            retransmitted_segments: Some(total),
            busy: known(busy),
            receiver_limited: known(receiver_limited),
            send_buffer_limited: known(send_buffer_limited),
        });
        Ok(())
    }
}

/// The time that a script printed at the start of the line. Its fraction, or the token after it,
/// distinguishes it from the queue sizes that may stand there.
fn time(tokens: &[&str]) -> Option<Timestamp> {
    let at = Field::new("time", tokens.first()?).time().ok()?;
    let is_number = |token: &&str| token.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = match tokens {
        [_] => true,
        [first, ..] if first.contains('.') => true,
        // The queue sizes are two numbers before an address. A third number, or a state such as
        // `ESTAB` in second place, makes the first token a time.
        [_, second, third, ..] => !is_number(second) || is_number(third),
        _ => false,
    };
    is_time.then_some(at)
}

/// Both endpoints of a connection, and the number of tokens up to their end.
fn head(tokens: &[&str]) -> Option<((SocketAddr, SocketAddr), usize)> {
    // `Recv-Q Send-Q` precede them, and the state if several states were requested.
    [2, 3].into_iter().find_map(|place| {
        let local = endpoint(tokens.get(place)?)?;
        let remote = endpoint(tokens.get(place + 1)?)?;
        Some(((local, remote), place + 2))
    })
}

/// True if the line has the layout of a socket: sizes of queues before two names with ports, which need not be
/// addresses. No form of a time has it.
fn is_socket(tokens: &[&str]) -> bool {
    [2, 3].into_iter().any(|place| {
        let Some([received, sent, local, remote]) = tokens.get(place - 2..place + 2) else {
            return false;
        };
        let is_number = |token: &str| token.bytes().all(|byte| byte.is_ascii_digit());
        is_number(received) && is_number(sent) && local.contains(':') && remote.contains(':')
    })
}

/// `address%interface:port`, with an IPv6 address in brackets, which end before the interface, or, in old
/// releases, bare.
fn endpoint(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once(':')?;
    let address = address.split('%').next()?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let address: IpAddr = address.parse().ok()?;
    Some(SocketAddr::new(address.to_canonical(), port.parse().ok()?))
}

fn has_details(token: &str) -> bool {
    token.starts_with("cwnd:") || token.starts_with("rto:") || token.starts_with("rtt:")
}

/// `name:value` tokens. `ss` omits zeros.
struct Details<'a>(&'a [&'a str]);

impl<'a> Details<'a> {
    fn find(&self, name: &'static str) -> Option<Field<'a>> {
        // Values look like `rtt:70.774/0.078` and `rwnd_limited:12ms(6.8%)`. NUL fills the third
        // place, as no value contains it.
        self.parts(name, ['/', '(', '\0']).map(|[field, _]| field)
    }

    /// The value up to one of `ends`, and the rest after it.
    fn parts(&self, name: &'static str, ends: [char; 3]) -> Option<[Field<'a>; 2]> {
        let value = self
            .0
            .iter()
            .find_map(|token| token.strip_prefix(name)?.strip_prefix(':'))?;
        let (first, second) = value.split_once(ends).unwrap_or((value, ""));
        Some([first, second].map(|part| Field::new(name, part)))
    }

    fn count(&self, name: &'static str) -> Result<u32, Unusable> {
        self.find(name).map_or(Ok(0), Field::number)
    }

    fn total(&self, name: &'static str) -> Result<u64, Unusable> {
        self.find(name).map_or(Ok(0), Field::number)
    }

    /// Milliseconds, followed by the unit.
    fn limited(&self, name: &'static str) -> Result<TimeDelta, Unusable> {
        let time = self.find(name);
        time.map_or(Ok(TimeDelta::ZERO), |time| time.without("ms").millis())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::import::log::{lines, read, rows_of};
    use crate::import::{Error, Format, import};

    const LINE: &str = "ESTAB 0 456736 10.9.0.1:35908 10.9.0.2:5001 timer:(on,144ms,0) skmem:(r0,rb131072,t0,tb681984,f3168,w488352,o0,bl0,d0) ts sack reno wscale:10,10 rto:272 rtt:70.774/0.078 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:60 ssthresh:37 bytes_sent:2673008 send 9820556bps lastrcv:2144 pacing_rate 11784536bps delivered:1709 busy:2144ms rwnd_limited:12ms(6.8%) unacked:61 retrans:1/78 lost:1 sacked:2 minrtt:41.38 snd_wnd:944128";

    #[test]
    fn one_line_per_connection() {
        assert_snapshot!(rows_of(Format::Ss, &format!("
            1795246987.60 State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
            1795246987.70 {LINE}
            1795246987.70 LISTEN 0 128 0.0.0.0:22 0.0.0.0:*
        ")), @r"
        flow 0: 10.9.0.1:35908 to 10.9.0.2:5001
        1795246987700000000 0 forward: smss 1448 pipe 59 cwnd 60 cwnd_bytes 86880 ssthresh 37 srtt 70.774 ms rto 272.000 ms
        ");
        let (batch, _) = read(Format::Ss, &format!("1.5 {LINE}\n"));
        let counters = batch.counters[0];
        assert_eq!(counters.retransmitted_segments, Some(78));
        assert_eq!(counters.busy.unwrap().as_nanos(), 2_144_000_000);
        assert_eq!(counters.receiver_limited.unwrap().as_nanos(), 12_000_000);
        assert_eq!(counters.send_buffer_limited.unwrap().as_nanos(), 0);
    }

    #[test]
    fn a_log_without_busy_times_leaves_them_unknown() {
        let idle = LINE.replace("busy:2144ms rwnd_limited:12ms(6.8%)", "");
        let busy = |log: &str| {
            let (batch, _) = read(Format::Ss, log);
            let rows = batch.counters.iter();
            rows.map(|row| row.busy.map(TimeDelta::as_nanos))
                .collect::<Vec<_>>()
        };
        assert_eq!(busy(&format!("1.5 {idle}\n2.5 {idle}\n")), [None, None]);
        // Another connection of the log shows that the zero of this one is left out.
        let other = idle.replace(":35908", ":35909");
        let both = busy(&format!("1.5 {LINE}\n1.5 {other}\n"));
        assert_eq!(both, [Some(2_144_000_000), Some(0)]);
    }

    #[test]
    fn two_lines_per_connection_are_read_after_a_line_with_the_time() {
        let log = "
            1795246987
            State Recv-Q Send-Q Local Address:Port Peer Address:Port
            ESTAB 0 0 [2001:db8::1]:22 [2001:db8::2]:5001
            \t cubic wscale:7,7 rto:204 rtt:3.5/2 mss:1428 cwnd:10 send 4.2Mbps
            ESTAB 0 0 10.0.0.1%eth0:22 10.0.0.2:9
            \t cubic rtt:3/2 cwnd:9 ssthresh:7
        ";
        assert_snapshot!(rows_of(Format::Ss, log), @r"
        flow 0: [2001:db8::1]:22 to [2001:db8::2]:5001
        flow 1: 10.0.0.1:22 to 10.0.0.2:9
        1795246987000000000 0 forward: smss 1428 pipe 0 cwnd 10 cwnd_bytes 14280 srtt 3.500 ms rto 204.000 ms
        1795246987000000000 1 forward: pipe 0 cwnd 9 ssthresh 7 srtt 3.000 ms rto 3.000 s
        ");
    }

    #[test]
    fn the_interface_of_an_ipv6_socket_is_no_part_of_its_address() {
        let log = "
            8
            ESTAB 0 0 [fe80::1]%eth0:22 [fe80::2]:9 rtt:1/1 cwnd:1
            ESTAB 0 0 [fe80::3%eth0]:22 [fe80::2]:9 rtt:1/1 cwnd:2
        ";
        assert_snapshot!(rows_of(Format::Ss, log), @r"
        flow 0: [fe80::1]:22 to [fe80::2]:9
        flow 1: [fe80::3]:22 to [fe80::2]:9
        8000000000 0 forward: pipe 0 cwnd 1 srtt 1.000 ms rto 3.000 s
        8000000000 1 forward: pipe 0 cwnd 2 srtt 1.000 ms rto 3.000 s
        ");
    }

    #[test]
    fn only_a_line_that_may_be_a_time_ends_the_time_before() {
        let times = |between: &str| {
            let log = format!("8\n{between}\n1 0 10.0.0.1:2 10.0.0.2:9 rtt:1/1 cwnd:1\n");
            import(Format::Ss, log.as_bytes(), |_| Ok::<_, Error>(())).is_ok()
        };
        assert!(times("ESTAB 0 0 unknown:22 name:9"));
        assert!(times("0 0 unknown:22 name:9"));
        assert!(times("\t something new"));
        assert!(!times("Thu Jan  1 00:00:09 UTC 1970"));
        assert!(!times("1970-01-01T00:00:09Z"));
    }

    #[test]
    fn times_are_distinguished_from_queue_sizes() {
        assert_snapshot!(rows_of(Format::Ss, "
            0 31856 10.9.0.1:52462 10.9.0.2:5001 rtt:1/1 cwnd:1
            7 0 31856 10.9.0.1:52462 10.9.0.2:5001 rtt:1/1 cwnd:2
            0 31856 10.9.0.1:52462 10.9.0.2:5001 rtt:1/1 cwnd:3
            8 ESTAB 0 31856 10.9.0.1:52462 10.9.0.2:5001 rtt:1/1 cwnd:4
        "), @r"
        flow 0: 10.9.0.1:52462 to 10.9.0.2:5001
        7000000000 0 forward: pipe 0 cwnd 2 srtt 1.000 ms rto 3.000 s
        7000000000 0 forward: pipe 0 cwnd 3 srtt 1.000 ms rto 3.000 s
        8000000000 0 forward: pipe 0 cwnd 4 srtt 1.000 ms rto 3.000 s
        1 line: time is missing
        ");
    }

    #[test]
    fn details_without_their_endpoints_are_counted() {
        let (_, report) = read(
            Format::Ss,
            &lines(&format!(
                "
            1.5 {LINE}
            2.5 cubic rtt:1/1 cwnd:10
            2.5 nothing known
        "
            )),
        );
        let reasons: Vec<String> = report.reasons.keys().map(ToString::to_string).collect();
        assert_eq!(
            reasons,
            ["not a line of this format", "endpoints is missing"]
        );
    }
}
