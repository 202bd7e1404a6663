//! The commands of tools that send and receive.

use std::net::IpAddr;

use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use crate::plan::{Tool, Traffic};

/// The ends of a generator.
pub(super) struct End<'a> {
    pub(super) from: Option<IpAddr>,
    pub(super) to: Option<IpAddr>,
    /// What `ssh` calls the host that data goes to.
    pub(super) server_host: &'a str,
    pub(super) port: u16,
}

impl End<'_> {
    /// What tells `iperf` that addresses are IPv6.
    fn family(&self) -> Option<&'static str> {
        self.to.filter(IpAddr::is_ipv6).map(|_| "-V")
    }
}

pub(super) fn text(address: Option<IpAddr>) -> String {
    address
        .map(|address| address.to_string())
        .unwrap_or_default()
}

/// Words one after another, those that are there.
struct Words(Vec<String>);

/// What runs at the client, and at the server if anything must.
pub(super) type Commands = (Vec<String>, Option<Vec<String>>);

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

/// The commands of both ends.
pub(super) fn commands(traffic: &Traffic, at: &End<'_>) -> Commands {
    match traffic.tool {
        Tool::Iperf3 | Tool::Iperf => bulk(traffic, at),
        Tool::Udp => udp(traffic, at),
        Tool::RequestResponse => request_response(traffic, at),
        Tool::Netperf => netperf(traffic, at),
        Tool::Http => http(traffic, at),
        Tool::Rsync | Tool::Scp => file(traffic, at),
        Tool::Ping => ping(traffic, at),
        Tool::Command => (
            traffic.command.clone().unwrap_or_default(),
            traffic.server.clone(),
        ),
    }
}

fn bulk(traffic: &Traffic, at: &End<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let size = traffic.bytes.map(ByteCount::as_bytes);
    let window = traffic.window.map(ByteCount::as_bytes);
    let (name, report, cc, server): (_, &[&str], _, &[&str]) = match traffic.tool {
        Tool::Iperf3 => (
            "iperf3",
            &["--json"],
            "-C",
            &["iperf3", "-s", "-1", "-p", &port],
        ),
        _ => ("iperf", &["-i", "1"], "-Z", &["iperf", "-s", "-p", &port]),
    };
    let family = at.family().filter(|_| traffic.tool == Tool::Iperf);
    let client = Words::new(&[name, "-c", &to, "-p", &port])
        .and(report)
        .and(family.as_slice())
        .with("-t", traffic.duration.map(seconds))
        .with("-n", size)
        .with(cc, traffic.cc.as_ref())
        .with("-M", traffic.mss)
        .with("-w", window)
        .with("-b", traffic.rate.map(BitRate::as_bps));
    // iperf3 tells the server how large its buffers are to be.
    let window = window.filter(|_| traffic.tool == Tool::Iperf);
    let server = Words::new(server).and(family.as_slice());
    (client.0, Some(server.with("-w", window).0))
}

fn udp(traffic: &Traffic, at: &End<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let family = at.family();
    let client = Words::new(&["iperf", "-c", &to, "-u", "-p", &port])
        .and(family.as_slice())
        .with("-b", traffic.rate.map(BitRate::as_bps))
        .with("-l", traffic.packet_bytes)
        .with("-t", traffic.duration.map(seconds));
    let server = Words::new(&["iperf", "-s", "-u", "-p", &port]).and(family.as_slice());
    (client.0, Some(server.with("-l", traffic.packet_bytes).0))
}

fn request_response(traffic: &Traffic, at: &End<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let family = at.family();
    // One request a time, ten at a time without the number; and without a period one each second.
    let period = traffic.interval.map_or_else(|| "0".to_owned(), seconds);
    let client = Words::new(&["iperf", "-c", &to, "-p", &port, "-i", "1", "--bounceback=1"])
        .and(family.as_slice())
        .and(&["--bounceback-period", &period])
        .with("-t", traffic.duration.map(seconds))
        .with("-Z", traffic.cc.as_ref())
        .with("-M", traffic.mss)
        // The server sends back what it got.
        .with(
            "-l",
            traffic.request.or(traffic.reply).map(ByteCount::as_bytes),
        );
    let server = Words::new(&["iperf", "-s", "-p", &port]).and(family.as_slice());
    (client.0, Some(server.0))
}

fn netperf(traffic: &Traffic, at: &End<'_>) -> Commands {
    let (to, port) = (text(at.to), at.port.to_string());
    let bytes = |size: Option<ByteCount>| size.map_or(1, ByteCount::as_bytes);
    let sizes = format!("{},{}", bytes(traffic.request), bytes(traffic.reply));
    let client = Words::new(&["netperf", "-H", &to, "-p", &port, "-t", "TCP_RR"])
        .with("-l", traffic.duration.map(whole_seconds))
        .and(&["--", "-r", &sizes])
        .with("-K", traffic.cc.as_ref());
    (
        client.0,
        Some(Words::new(&["netserver", "-D", "-p", &port]).0),
    )
}

fn http(traffic: &Traffic, at: &End<'_>) -> Commands {
    let (from, port) = (text(at.from), at.port.to_string());
    let pause = traffic.interval.map_or_else(|| "0".to_owned(), seconds);
    let sizes = traffic.sizes.iter().flatten();
    let sizes: Vec<String> = sizes.map(|size| size.as_bytes().to_string()).collect();
    let words = |words: &[&str]| {
        Words::new(words)
            .0
            .into_iter()
            .chain(sizes.clone())
            .collect()
    };
    (
        words(&["download", &from, &port, &pause]),
        Some(words(&["serve_files", &from, &port])),
    )
}

fn file(traffic: &Traffic, at: &End<'_>) -> Commands {
    let size = traffic.bytes.map_or(0, ByteCount::as_bytes).to_string();
    if traffic.tool == Tool::Rsync {
        let (from, port) = (text(at.from), at.port.to_string());
        let server = Words::new(&["serve_rsync", &from, &port, &size]);
        return (
            Words::new(&["pull_with_rsync", &from, &port]).0,
            Some(server.0),
        );
    }
    let (to, port) = (text(at.to), at.port.to_string());
    (
        Words::new(&["push_with_scp", &to, &port, at.server_host, &size]).0,
        None,
    )
}

fn ping(traffic: &Traffic, at: &End<'_>) -> Commands {
    let client = Words::new(&["ping", "-D", "-n"])
        .with("-i", traffic.interval.map(seconds))
        .with("-s", traffic.packet_bytes)
        .with("-w", traffic.duration.map(whole_seconds))
        .and(&[&text(at.to)]);
    (client.0, None)
}

/// A time as most tools take it.
pub(crate) fn seconds(time: TimeDelta) -> String {
    let nanos = time.as_nanos();
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match format!("{part:09}").trim_end_matches('0') {
        "" => whole.to_string(),
        part => format!("{whole}.{part}"),
    }
}

fn whole_seconds(time: TimeDelta) -> String {
    ((time.as_nanos() + 999_999_999) / 1_000_000_000).to_string()
}
