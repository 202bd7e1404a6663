//! Command lines of the traffic tools, from the parameters in a plan.

use std::net::IpAddr;

use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use super::dscp::Dscp;

/// A key of `[[traffic]]` and its fault.
pub(super) type Fault = (&'static str, String);

/// A tool's parameters in a plan: the keys of `[[traffic]]` that not all tools take. `None` if the
/// plan leaves a key out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<'a> {
    pub(crate) duration: Option<TimeDelta>,
    pub(crate) bytes: Option<ByteCount>,
    pub(crate) cc: Option<&'a str>,
    pub(crate) mss: Option<u32>,
    pub(crate) window: Option<ByteCount>,
    pub(crate) rate: Option<BitRate>,
    pub(crate) packet_bytes: Option<u32>,
    pub(crate) interval: Option<TimeDelta>,
    pub(crate) request: Option<ByteCount>,
    pub(crate) reply: Option<ByteCount>,
    pub(crate) sizes: Option<&'a [ByteCount]>,
    pub(crate) bitrates: Option<&'a [BitRate]>,
    pub(crate) segment: Option<TimeDelta>,
    pub(crate) length: Option<TimeDelta>,
    pub(crate) buffer: Option<TimeDelta>,
    pub(crate) dscp: Option<Dscp>,
    pub(crate) port: Option<u16>,
    pub(crate) command: Option<&'a [String]>,
    pub(crate) server: Option<&'a [String]>,
}

impl Parameters<'_> {
    /// The keys that are set.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        let all = [
            ("duration", self.duration.is_some()),
            ("bytes", self.bytes.is_some()),
            ("cc", self.cc.is_some()),
            ("mss", self.mss.is_some()),
            ("window", self.window.is_some()),
            ("rate", self.rate.is_some()),
            ("packet_bytes", self.packet_bytes.is_some()),
            ("interval", self.interval.is_some()),
            ("request", self.request.is_some()),
            ("reply", self.reply.is_some()),
            ("sizes", self.sizes.is_some()),
            ("bitrates", self.bitrates.is_some()),
            ("segment", self.segment.is_some()),
            ("length", self.length.is_some()),
            ("buffer", self.buffer.is_some()),
            ("dscp", self.dscp.is_some()),
            ("port", self.port.is_some()),
            ("command", self.command.is_some()),
            ("server", self.server.is_some()),
        ];
        let set = all.into_iter().filter(|(_, is_set)| *is_set);
        set.map(|(key, _)| key).collect()
    }
}

/// The two hosts of a generator, by the direction of its data.
pub(crate) struct Ends<'a> {
    pub(crate) from: Option<IpAddr>,
    pub(crate) to: Option<IpAddr>,
    /// Name for `ssh` of the host that receives the data.
    pub(crate) receiver: &'a str,
    /// The port of the server; 0 for tools without one.
    pub(crate) port: u16,
}

impl Ends<'_> {
    /// Returns the option that `iperf` needs for IPv6 addresses.
    fn family(&self) -> Option<&'static str> {
        self.to.filter(IpAddr::is_ipv6).map(|_| "-V")
    }
}

pub(crate) fn text(address: Option<IpAddr>) -> String {
    address
        .map(|address| address.to_string())
        .unwrap_or_default()
}

/// The words of a command.
struct Words(Vec<String>);

/// The client's command, and the server's if the tool has one.
pub(crate) type Commands = (Vec<String>, Option<Vec<String>>);

impl Words {
    fn new(words: &[&str]) -> Self {
        Self(words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn and(mut self, words: &[&str]) -> Self {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    fn with(mut self, option: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.0.extend([option.to_owned(), value.to_string()]);
        }
        self
    }
}

/// `iperf3`: bulk data over one TCP connection.
pub(crate) fn iperf3(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let client = Words::new(&["iperf3", "-c", &to, "-p", &port, "--json"]);
    // The client sends the size of the socket buffers to its server.
    let server = Words::new(&["iperf3", "-s", "-1", "-p", &port]);
    (bulk(client, asked, "-C").0, Some(server.0))
}

/// Longest test of iperf3 (`MAX_TIME` in its `iperf.h`).
const LONGEST_IPERF3: TimeDelta = TimeDelta::from_seconds(86_400);

/// The fault of a duration that iperf3 does not take.
pub(super) fn not_of_iperf3(asked: &Parameters<'_>) -> Option<Fault> {
    let is_longer = asked.duration.is_some_and(|span| span > LONGEST_IPERF3);
    let message = format!("expected at most {LONGEST_IPERF3}: iperf3 takes no longer time");
    part_of_second(asked, "iperf3; iperf takes parts of a second")
        .or_else(|| is_longer.then_some(("duration", message)))
}

/// The fault of a duration that netperf does not take.
pub(super) fn not_of_netperf(asked: &Parameters<'_>) -> Option<Fault> {
    part_of_second(asked, "netperf")
}

/// The fault of a duration with parts of a second, which the options of some tools drop.
fn part_of_second(asked: &Parameters<'_>, tool: &str) -> Option<Fault> {
    let part = asked.duration?.as_nanos() % 1_000_000_000;
    (part != 0).then(|| ("duration", format!("expected whole seconds with {tool}")))
}

/// `iperf`, version 2: bulk data over one TCP connection.
pub(crate) fn iperf(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let family = at.family();
    let client = Words::new(&["iperf", "-c", &to, "-p", &port, "-i", "1"])
        .and(family.as_slice())
        .with("-l", asked.rate.and_then(write_bytes));
    let server = Words::new(&["iperf", "-s", "-p", &port])
        .and(family.as_slice())
        // The server of iperf 2 needs the option too, unlike the server of iperf3.
        .with("-w", asked.window.map(ByteCount::as_bytes));
    (bulk(client, asked, "-Z").0, Some(server.0))
}

/// Bytes of a write of iperf 2 at a low rate, a tenth of a second of it; `None` for its own 128 KiB. It
/// refuses a rate at which one write takes longer than a second.
fn write_bytes(rate: BitRate) -> Option<u64> {
    const WRITE_BYTES: u64 = 131_072;
    (rate.as_bps() <= WRITE_BYTES * 8).then_some((rate.as_bps() / 80).max(1))
}

/// The options that both versions of `iperf` have; `cc` is the one for the congestion control.
fn bulk(client: Words, asked: &Parameters<'_>, cc: &str) -> Words {
    client
        .with("-t", asked.duration.map(seconds))
        .with("-n", asked.bytes.map(ByteCount::as_bytes))
        .with(cc, asked.cc)
        .with("-M", asked.mss)
        .with("-w", asked.window.map(ByteCount::as_bytes))
        .with("-b", asked.rate.map(BitRate::as_bps))
        // Both versions of iperf take the whole octet, of which DSCP is the upper six bits (RFC 2474).
        .with("-S", asked.dscp.map(Dscp::octet))
}

/// `iperf`, version 2: UDP at a constant rate.
pub(crate) fn udp(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let family = at.family();
    let client = Words::new(&["iperf", "-c", &to, "-u", "-p", &port])
        .and(family.as_slice())
        .with("-b", asked.rate.map(BitRate::as_bps))
        .with("-l", asked.packet_bytes)
        .with("-t", asked.duration.map(seconds))
        .with("-S", asked.dscp.map(Dscp::octet));
    let server = Words::new(&["iperf", "-s", "-u", "-p", &port]).and(family.as_slice());
    (client.0, Some(server.with("-l", asked.packet_bytes).0))
}

/// `iperf`, version 2: requests and replies of one size over one TCP connection.
pub(crate) fn request_response(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let family = at.family();
    // Without the number iperf sends ten requests at a time, without a period one batch each second.
    let period = asked.interval.map_or_else(|| "0".to_owned(), seconds);
    let client = Words::new(&["iperf", "-c", &to, "-p", &port, "-i", "1", "--bounceback=1"])
        .and(family.as_slice())
        .and(&["--bounceback-period", &period])
        .with("-t", asked.duration.map(seconds))
        .with("-Z", asked.cc)
        .with("-M", asked.mss)
        // The server echoes the request, so the reply has the same size.
        .with("-l", asked.request.or(asked.reply).map(ByteCount::as_bytes));
    let server = Words::new(&["iperf", "-s", "-p", &port]).and(family.as_slice());
    (client.0, Some(server.0))
}

/// The fault of a request-response plan that asks for two sizes.
pub(super) fn one_size(asked: &Parameters<'_>) -> Option<Fault> {
    let (request, reply) = (asked.request?, asked.reply?);
    let message = "iperf echoes its request: expected the size of request; netperf supports two \
                   sizes";
    (request != reply).then(|| ("reply", message.to_owned()))
}

/// `netperf`: requests and replies, one after another.
pub(crate) fn netperf(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let bytes = |size: Option<ByteCount>| size.map_or(1, ByteCount::as_bytes);
    let sizes = format!("{},{}", bytes(asked.request), bytes(asked.reply));
    let client = Words::new(&["netperf", "-H", &to, "-p", &port, "-t", "TCP_RR"])
        .with("-l", asked.duration.map(seconds))
        // `-r` and `-K` belong to the test TCP_RR, so they follow `--`.
        .and(&["--", "-r", &sizes])
        .with("-K", asked.cc);
    (
        client.0,
        Some(Words::new(&["netserver", "-D", "-p", &port]).0),
    )
}

/// Files over HTTP, one after another.
pub(crate) fn http(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (from, port) = (text(at.from), at.port.to_string());
    let pause = asked.interval.map_or_else(|| "0".to_owned(), seconds);
    let sizes = asked.sizes.unwrap_or_default().iter();
    let sizes: Vec<String> = sizes.map(|size| size.as_bytes().to_string()).collect();
    let words = |words: &[&str]| {
        Words::new(words)
            .0
            .into_iter()
            .chain(sizes.clone())
            .collect()
    };
    (
        words(&["download_files", &from, &port, &pause]),
        Some(words(&["serve_files", &from, &port])),
    )
}

/// The player's buffer if the plan names none: `maxBufferLength` of hls.js 1.5.
const PLAYER_BUFFER: TimeDelta = TimeDelta::from_seconds(30);

/// A video of segments, each pulled in the bitrate that the player's buffer allows.
pub(crate) fn video(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let (from, port) = (text(at.from), at.port.to_string());
    let millis = |time: Option<TimeDelta>| time.unwrap_or_default().as_nanos() / 1_000_000;
    let segment = millis(asked.segment).max(1);
    // The last segment may be longer than what is left of the video.
    let count = (millis(asked.length) + segment - 1) / segment;
    let buffer = millis(asked.buffer.or(Some(PLAYER_BUFFER)));
    let bitrates = asked.bitrates.unwrap_or_default().iter();
    let bitrates: Vec<u64> = bitrates.map(|rate| rate.as_bps()).collect();
    let words = |words: &[&str], numbers: Vec<String>| {
        let words = Words::new(words).0.into_iter();
        words.chain(numbers).collect::<Vec<String>>()
    };
    let times = [segment, count, buffer].map(|number| number.to_string());
    let rates = bitrates.iter().map(u64::to_string);
    let client = words(
        &["play_video", &from, &port],
        times.into_iter().chain(rates).collect(),
    );
    // As the client computes them.
    let size = |rate: &u64| (i128::from(*rate) * i128::from(segment) / 8_000).to_string();
    let server = words(
        &["serve_files", &from, &port],
        bitrates.iter().map(size).collect(),
    );
    (client, Some(server))
}

/// Checks that the bitrates ascend and that the buffer holds two segments: one that plays, and the next.
pub(super) fn no_video(asked: &Parameters<'_>) -> Option<Fault> {
    let rates = asked.bitrates.unwrap_or_default();
    let is_ascending = rates.is_sorted_by(|one, next| one < next);
    if rates.is_empty() || rates[0] == BitRate::from_bps(0) || !is_ascending {
        let message = "expected bitrates above 0 in ascending order".to_owned();
        return Some(("bitrates", message));
    }
    let segment = asked.segment?;
    let least = TimeDelta::from_millis(1);
    if segment < least {
        return Some(("segment", format!("expected {least} or more")));
    }
    if asked.length? < segment {
        return Some((
            "length",
            format!("expected at least one segment of {segment}"),
        ));
    }
    let twice = segment + segment;
    (asked.buffer.unwrap_or(PLAYER_BUFFER) < twice)
        .then(|| ("buffer", format!("expected two segments, {twice}, or more")))
}

/// A file pulled with `rsync` from a daemon on the host that the data comes from.
pub(crate) fn rsync(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let size = asked.bytes.map_or(0, ByteCount::as_bytes).to_string();
    let (from, port) = (text(at.from), at.port.to_string());
    (
        Words::new(&["pull_with_rsync", &from, &port]).0,
        Some(Words::new(&["serve_rsync", &from, &port, &size]).0),
    )
}

/// A file pushed with `scp` to the `sshd` of the host that receives the data.
pub(crate) fn scp(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let size = asked.bytes.map_or(0, ByteCount::as_bytes).to_string();
    let (to, port) = (text(at.to), at.port.to_string());
    let client = Words::new(&["push_with_scp", &to, &port, at.receiver, &size]);
    (client.0, None)
}

/// The commands of the plan itself.
pub(crate) fn command(asked: &Parameters<'_>, _: &Ends<'_>) -> Commands {
    (
        asked.command.unwrap_or_default().to_vec(),
        asked.server.map(<[String]>::to_vec),
    )
}

/// `ping` at an interval.
pub(crate) fn ping(asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
    let client = Words::new(&["ping", "-D", "-n"])
        .with("-i", asked.interval.map(seconds))
        .with("-s", asked.packet_bytes)
        .with("-Q", asked.dscp.map(Dscp::octet))
        .with("-w", asked.duration.map(whole_seconds))
        .and(&[&text(at.to)]);
    (client.0, None)
}

/// The fault of an interval that ping does not take.
pub(super) fn not_of_ping(asked: &Parameters<'_>) -> Option<Fault> {
    let is_whole = asked.interval.is_none_or(is_interval_of_ping);
    (!is_whole).then(|| ("interval", WHOLE_MILLIS.to_owned()))
}

/// The intervals that ping takes.
pub(super) const WHOLE_MILLIS: &str =
    "expected a whole number of milliseconds, to which ping cuts its interval";

/// True for whole milliseconds: `ping` of iputils cuts the rest off (`ping_rts.interval`), and then floods below
/// 1 ms.
pub(super) fn is_interval_of_ping(interval: TimeDelta) -> bool {
    interval.as_nanos() % 1_000_000 == 0
}

/// A time for ping, which takes whole seconds: rounded up, so that it runs for the planned time at least.
fn whole_seconds(time: TimeDelta) -> String {
    ((time.as_nanos() + 999_999_999) / 1_000_000_000).to_string()
}

/// A time in seconds, with as many decimals as needed.
pub(crate) fn seconds(time: TimeDelta) -> String {
    let nanos = time.as_nanos();
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match format!("{part:09}").trim_end_matches('0') {
        "" => whole.to_string(),
        part => format!("{whole}.{part}"),
    }
}
