//! Traffic: `[[traffic]]`.

use serde::{Deserialize, Serialize};
use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use super::commands::Parameters;
use super::tool::{Fault, ServerPort, Tool};

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

impl Traffic {
    /// The first key that is wrong, and how.
    pub(super) fn fault(&self) -> Option<Fault> {
        if let Some(fault) = self.tool.fault(&self.parameters()) {
            return Some(fault);
        }
        if self.duration.is_some() && self.bytes.is_some() {
            let message = "expected duration or bytes, and there are both".to_owned();
            return Some(("bytes", message));
        }
        if self.start < TimeDelta::ZERO {
            return Some(("start", "expected a time of 0s or later".to_owned()));
        }
        if self.stagger < TimeDelta::ZERO {
            return Some(("stagger", "expected a time of 0s or more".to_owned()));
        }
        if self.duration.is_some_and(|span| span <= TimeDelta::ZERO) {
            return Some(("duration", "expected more than 0s".to_owned()));
        }
        if self.last_port() > u32::from(u16::MAX) {
            let message = format!(
                "{} servers would have ports up to {}: expected at most {}",
                self.count,
                self.last_port(),
                u16::MAX
            );
            return Some(("port", message));
        }
        if is_word(&self.name).is_none() {
            return Some(("name", "expected letters, digits, _ and -".to_owned()));
        }
        let cc = self.cc.as_deref()?;
        is_word(cc)
            .is_none()
            .then(|| ("cc", "expected a name such as \"cubic\"".to_owned()))
    }

    /// What it asks of its tool.
    pub(crate) fn parameters(&self) -> Parameters<'_> {
        Parameters {
            duration: self.duration,
            bytes: self.bytes,
            cc: self.cc.as_deref(),
            mss: self.mss,
            window: self.window,
            rate: self.rate,
            packet_bytes: self.packet_bytes,
            interval: self.interval,
            request: self.request,
            reply: self.reply,
            sizes: self.sizes.as_deref(),
            port: self.port,
            command: self.command.as_deref(),
            server: self.server.as_deref(),
        }
    }

    /// The last port that its servers take, if the plan names the first one.
    fn last_port(&self) -> u32 {
        match (self.tool.port(), self.port) {
            (ServerPort::Own, Some(first)) => u32::from(first) + self.count.saturating_sub(1),
            _ => 0,
        }
    }

    /// The ports that its servers take by the plan.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let is_own = self.tool.port() == ServerPort::Own;
        let first = self.port.filter(|_| is_own);
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        first
            .into_iter()
            .flat_map(move |first| (first..=u16::MAX).take(count))
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
