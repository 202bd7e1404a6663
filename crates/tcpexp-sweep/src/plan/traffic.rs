//! What sends: `[[traffic]]`.

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};
use tcpexp_units::{BitRate, ByteCount, TimeDelta};

/// One entry of `[[traffic]]`: a tool that sends from one host to another, once or several times
/// side by side.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// What it is called, and what rows of the tables are grouped by.
    pub name: String,
    /// The tool.
    pub tool: Tool,
    /// The host that data comes from; the first source without it.
    pub from: Option<String>,
    /// The host that data goes to; the first sink without it.
    pub to: Option<String>,
    /// When it starts, after the start of all traffic.
    #[serde(default = "zero")]
    pub start: TimeDelta,
    /// For how long it sends.
    pub duration: Option<TimeDelta>,
    /// How much it sends, in place of for how long. `iperf3` ends when the last byte is handed to the
    /// kernel and resets the connection, so what is on its way then does not arrive.
    pub bytes: Option<ByteCount>,
    /// How many of it run side by side; 0 leaves it out.
    #[serde(default = "one")]
    pub count: u32,
    /// Time between the starts of those side by side.
    #[serde(default = "zero")]
    pub stagger: TimeDelta,
    /// Congestion control of the host that data comes from, as the kernel names it; the host's own
    /// without it. Tools that cannot choose one send with what is set as their host's own
    /// meanwhile.
    pub cc: Option<String>,
    /// Maximum segment size, in bytes.
    pub mss: Option<u32>,
    /// Socket buffers of both ends.
    pub window: Option<ByteCount>,
    /// Rate that it sends at; without it, TCP sends what it can.
    pub rate: Option<BitRate>,
    /// UDP payload of one packet, in bytes.
    pub packet_bytes: Option<u32>,
    /// Time between pings, between requests, or from the end of a download to the next. Without it
    /// requests and downloads follow at once, and pings each second.
    pub interval: Option<TimeDelta>,
    /// Bytes of a request: 100, or 1 with netperf, without it.
    pub request: Option<ByteCount>,
    /// Bytes of a reply: as many as of a request, or 1 with netperf, without it.
    pub reply: Option<ByteCount>,
    /// Sizes of what is downloaded, one after another.
    pub sizes: Option<Vec<ByteCount>>,
    /// The server's port, or the first one of several side by side; chosen without it.
    pub port: Option<u16>,
    /// What runs on the host that data comes from, each word by itself.
    pub command: Option<Vec<String>>,
    /// What runs on the host that data goes to, from before the start to the end.
    pub server: Option<Vec<String>>,
}

/// What sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// `iperf3`, one TCP connection.
    Iperf3,
    /// `iperf`, version 2, one TCP connection.
    Iperf,
    /// `iperf`, version 2: UDP at a constant rate.
    Udp,
    /// `iperf`, version 2: requests and replies of one size over one TCP connection.
    RequestResponse,
    /// `netperf`'s `TCP_RR`: requests and replies, one after another.
    Netperf,
    /// Files over HTTP, one after another.
    Http,
    /// A file with `rsync`, from a daemon that the run starts.
    Rsync,
    /// A file with `scp`; the hosts' own `sshd` and keys must let them.
    Scp,
    /// `ping`.
    Ping,
    /// Any command.
    Command,
}

/// What a tool needs: one of these keys.
type OneOf = &'static [&'static str];

impl Tool {
    /// The tool of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(name);
        Self::deserialize(name).ok()
    }

    /// The keys that it takes beside those that all take.
    const fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Iperf3 | Self::Iperf => {
                &["duration", "bytes", "cc", "mss", "window", "rate", "port"]
            }
            Self::Udp => &["duration", "rate", "packet_bytes", "port"],
            Self::RequestResponse => &[
                "duration", "cc", "mss", "interval", "request", "reply", "port",
            ],
            Self::Netperf => &["duration", "cc", "request", "reply", "port"],
            Self::Http => &["sizes", "interval", "cc", "port"],
            Self::Rsync | Self::Scp => &["bytes", "cc", "port"],
            Self::Ping => &["duration", "interval", "packet_bytes"],
            Self::Command => &["duration", "command", "server", "cc"],
        }
    }

    /// What must be there.
    const fn needs(self) -> &'static [OneOf] {
        match self {
            Self::Iperf3 | Self::Iperf => &[&["duration", "bytes"]],
            Self::Udp => &[&["duration"], &["rate"]],
            Self::RequestResponse | Self::Netperf | Self::Ping => &[&["duration"]],
            Self::Http => &[&["sizes"]],
            Self::Rsync | Self::Scp => &[&["bytes"]],
            Self::Command => &[&["command"], &["duration"]],
        }
    }

    /// Whether it takes a key.
    pub(super) fn takes(self, key: &str) -> bool {
        ["name", "tool", "from", "to", "start", "count", "stagger"].contains(&key)
            || self.own_keys().contains(&key)
    }

    /// Whether it asks the kernel for a congestion control itself; for others their host's own is
    /// set for the time of the run.
    pub const fn sets_cc(self) -> bool {
        matches!(
            self,
            Self::Iperf3 | Self::Iperf | Self::RequestResponse | Self::Netperf
        )
    }

    /// Whether the host that gets the data asks for it.
    pub(crate) const fn is_pulled(self) -> bool {
        matches!(self, Self::Http | Self::Rsync)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf3 => "iperf3",
            Self::Iperf => "iperf",
            Self::Udp => "udp",
            Self::RequestResponse => "request-response",
            Self::Netperf => "netperf",
            Self::Http => "http",
            Self::Rsync => "rsync",
            Self::Scp => "scp",
            Self::Ping => "ping",
            Self::Command => "command",
        }
    }

    /// The program that sends, if it is always the same.
    pub const fn client(self) -> Option<&'static str> {
        match self {
            Self::Iperf3 => Some("iperf3"),
            Self::Iperf | Self::Udp | Self::RequestResponse => Some("iperf"),
            Self::Netperf => Some("netperf"),
            Self::Rsync => Some("rsync"),
            Self::Scp => Some("scp"),
            Self::Ping => Some("ping"),
            Self::Http | Self::Command => None,
        }
    }
}

impl Traffic {
    /// The first key that is wrong, and how.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let set = self.keys();
        let tool = self.tool;
        if let Some(key) = set.iter().find(|key| !tool.takes(key)) {
            let takes = tool.own_keys().join(", ");
            let message = format!("{} has no {key}; it takes {takes}", tool.name());
            return Some((key, message));
        }
        let missing = |one_of: &&OneOf| !one_of.iter().any(|key| set.contains(key));
        if let Some(one_of) = tool.needs().iter().find(missing) {
            let message = format!("{} needs {}", tool.name(), one_of.join(" or "));
            return Some(("tool", message));
        }
        if set.contains(&"duration") && set.contains(&"bytes") {
            let message = "expected duration or bytes, and there are both".to_owned();
            return Some(("bytes", message));
        }
        if tool == Tool::RequestResponse
            && let (Some(request), Some(reply)) = (self.request, self.reply)
            && request != reply
        {
            let message = "iperf replies with what it got: expected the size of request; netperf \
                           has two sizes";
            return Some(("reply", message.to_owned()));
        }
        if self.start.as_nanos() < 0 {
            return Some(("start", "expected a time from the start on".to_owned()));
        }
        if self.duration.is_some_and(|span| span.as_nanos() <= 0) {
            return Some(("duration", "expected more than nothing".to_owned()));
        }
        is_word(&self.name)
            .is_none()
            .then(|| ("name", "expected letters, digits, _ and -".to_owned()))
            .or_else(|| {
                let cc = self.cc.as_deref()?;
                is_word(cc)
                    .is_none()
                    .then(|| ("cc", "expected a name such as \"cubic\"".to_owned()))
            })
    }

    /// The keys that are set, those left out that all tools take.
    fn keys(&self) -> Vec<&'static str> {
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
            ("port", self.port.is_some()),
            ("command", self.command.is_some()),
            ("server", self.server.is_some()),
        ];
        let set = all.into_iter().filter(|(_, is_set)| *is_set);
        set.map(|(key, _)| key).collect()
    }

    /// The ports of its servers that the plan names.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let is_own = self.tool != Tool::Scp;
        let first = self.port.filter(|_| is_own).map(u32::from);
        let count = self.count;
        let all = first
            .into_iter()
            .flat_map(move |first| first..first + count);
        all.filter_map(|port| u16::try_from(port).ok())
    }

    /// When the last of it ends; `None` if that depends on the path.
    pub fn end(&self) -> Option<TimeDelta> {
        let later = self.stagger.as_nanos() * i64::from(self.count.saturating_sub(1));
        Some(self.start + TimeDelta::from_nanos(later) + self.duration?)
    }
}

/// The text, if it can stand in a command and in a file's name as it is.
pub(super) fn is_word(text: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    (!text.is_empty() && !text.starts_with(['-', '.']) && text.bytes().all(is_plain))
        .then_some(text)
}

fn zero() -> TimeDelta {
    TimeDelta::from_nanos(0)
}

fn one() -> u32 {
    1
}
