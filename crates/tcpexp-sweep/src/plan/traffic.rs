//! Traffic: `[[traffic]]`.

use netem_ctl::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_units::{BitRate, ByteCount, TimeDelta};

use super::commands::{Fault, Parameters};
use super::dscp::Dscp;
use super::tool::{ServerPort, Tool};

/// Longest traffic, and latest start, of a run. Far beyond any experiment, and times to its end fit
/// into 64 bits.
const DAYS: i64 = 366;
const LONGEST: TimeDelta = TimeDelta::from_seconds(DAYS * 86_400);
/// Largest payload of a UDP datagram over IPv4: 65535 bytes without both headers (RFC 768, RFC 791).
const MOST_PAYLOAD_BYTES: u32 = 65_507;
/// Smallest MSS that Linux takes (`TCP_MIN_MSS`).
const SMALLEST_MSS: u32 = 88;
/// Class of all traffic of a run in the results.
const ALL_CLASSES: &str = "all";

/// One entry of `[[traffic]]`: a tool that sends from one host to another, `count` times in
/// parallel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Name, by which tables group rows.
    pub name: String,
    /// The tool; required here or in the matrix.
    pub tool: Tool,
    /// The sending host; the first source by default. `all` is each source: the entry is repeated for
    /// each.
    pub from: Option<String>,
    /// The receiving host; the first sink by default. `all` is each sink. If `from` is `all` too, source N
    /// sends to sink N, beginning again after the last sink.
    pub to: Option<String>,
    /// Start, after the start of all traffic.
    #[serde(default = "zero")]
    #[schemars(with = "Text<TimeDelta>")]
    pub start: TimeDelta,
    /// Duration of sending.
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub duration: Option<TimeDelta>,
    /// Amount to send, in place of a duration. `iperf3` ends and resets the connection once the kernel
    /// has the last byte, so bytes in flight are lost.
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub bytes: Option<ByteCount>,
    /// Number of parallel instances; 0 disables the entry.
    #[serde(default = "one")]
    pub count: u32,
    /// Time between the starts of parallel instances.
    #[serde(default = "zero")]
    #[schemars(with = "Text<TimeDelta>")]
    pub stagger: TimeDelta,
    /// Congestion control of the sender, by its name in the kernel; the host's default if not set. For
    /// tools that cannot choose it per connection, the host's default is set during the run.
    pub cc: Option<String>,
    /// Maximum segment size, in bytes.
    pub mss: Option<u32>,
    /// Socket buffer size at both ends.
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub window: Option<ByteCount>,
    /// Sending rate; unlimited by default for TCP.
    #[schemars(with = "Option<Text<BitRate>>")]
    pub rate: Option<BitRate>,
    /// UDP payload of one packet, in bytes.
    pub packet_bytes: Option<u32>,
    /// Time between pings, between requests, or between the end of a download and the next one. By
    /// default pings are 1 s apart, requests and downloads follow immediately.
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub interval: Option<TimeDelta>,
    /// Bytes of a request; 100 by default, 1 with netperf.
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub request: Option<ByteCount>,
    /// Bytes of a reply; those of the request by default, 1 with netperf.
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub reply: Option<ByteCount>,
    /// Sizes of successive downloads.
    #[schemars(with = "Option<Vec<Text<ByteCount>>>")]
    pub sizes: Option<Vec<ByteCount>>,
    /// Bitrates of a video, ascending. The media time in the buffer of the player decides which bitrate the
    /// next segment has (Huang et al., SIGCOMM 2014, algorithm 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Text<BitRate>>>")]
    pub bitrates: Option<Vec<BitRate>>,
    /// Media time of a segment of a video.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub segment: Option<TimeDelta>,
    /// Media time of a video; the last segment is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub length: Option<TimeDelta>,
    /// Media time for which a player has room; 30 s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub buffer: Option<TimeDelta>,
    /// DSCP of the client's packets: a name such as `ef`, or a number from 0 to 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// Port of the server, the first one of parallel servers; chosen automatically by default.
    pub port: Option<u16>,
    /// Command on the sending host, as a list of words.
    pub command: Option<Vec<String>>,
    /// Command on the receiving host, which runs from before the start to the end.
    pub server: Option<Vec<String>>,
    /// The index of its entry in the plan.
    #[serde(skip)]
    pub(super) entry: usize,
}

impl Traffic {
    /// The first key that is wrong, and how.
    pub(super) fn fault(&self) -> Option<Fault> {
        if let Some(fault) = self.tool.fault(&self.parameters()) {
            return Some(fault);
        }
        for (key, words) in [("command", &self.command), ("server", &self.server)] {
            let first = words.as_ref().map(|words| words.first());
            if first.is_some_and(|first| first.is_none_or(String::is_empty)) {
                return Some((key, "expected a list of words".to_owned()));
            }
        }
        if self.duration.is_some() && self.bytes.is_some() {
            let message = "expected duration or bytes, found both".to_owned();
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
        let longest = i128::from(LONGEST.as_nanos());
        let staggered =
            i128::from(self.stagger.as_nanos()) * i128::from(self.count.saturating_sub(1));
        let times = [
            ("start", i128::from(self.start.as_nanos())),
            ("stagger", staggered),
            (
                "duration",
                self.duration.map_or(0, |span| span.as_nanos().into()),
            ),
        ];
        if let Some((key, _)) = times.into_iter().find(|(_, span)| *span > longest) {
            let message = format!("expected at most {DAYS} days from the start of a run");
            return Some((key, message));
        }
        if self.last_port() > u32::from(u16::MAX) {
            let message = format!(
                "{} servers need ports up to {}: expected at most {}",
                self.count,
                self.last_port(),
                u16::MAX
            );
            return Some(("port", message));
        }
        // The name becomes a file name on the hosts.
        if is_word(&self.name).is_none() {
            return Some(("name", "expected letters, digits, _, -, . and :".to_owned()));
        }
        if self.name == ALL_CLASSES {
            let message = "expected another name: this one stands for all traffic in results";
            return Some(("name", message.to_owned()));
        }
        if let Some(fault) = self.smallest() {
            return Some(fault);
        }
        let cc = self.cc.as_deref()?;
        is_word(cc)
            .is_none()
            .then(|| ("cc", "expected a name such as \"cubic\"".to_owned()))
    }

    /// The first number that is too small, and how.
    fn smallest(&self) -> Option<Fault> {
        let no_bytes = |bytes: Option<ByteCount>| bytes.is_some_and(|bytes| bytes.as_bytes() == 0);
        let sizes = self.sizes.as_deref();
        let wrong = [
            ("bytes", no_bytes(self.bytes), "expected more than 0 bytes"),
            (
                "window",
                no_bytes(self.window),
                "expected more than 0 bytes",
            ),
            (
                "request",
                no_bytes(self.request),
                "expected more than 0 bytes",
            ),
            ("reply", no_bytes(self.reply), "expected more than 0 bytes"),
            (
                "sizes",
                sizes.is_some_and(|sizes| {
                    sizes.is_empty() || sizes.iter().any(|size| size.as_bytes() == 0)
                }),
                "expected at least one size, and none of 0 bytes",
            ),
            (
                "rate",
                self.rate.is_some_and(|rate| rate.as_bps() == 0),
                "expected more than 0 bit/s",
            ),
            (
                "interval",
                self.interval
                    .is_some_and(|interval| interval < TimeDelta::ZERO),
                "expected a time of 0s or more",
            ),
            (
                "packet_bytes",
                self.packet_bytes
                    .is_some_and(|bytes| bytes == 0 || bytes > MOST_PAYLOAD_BYTES),
                "expected 1 to 65507 bytes, the payload of a datagram",
            ),
            (
                "mss",
                self.mss.is_some_and(|mss| mss < SMALLEST_MSS),
                "expected at least 88 bytes",
            ),
            ("port", self.port == Some(0), "expected 1 to 65535"),
        ];
        let first = wrong.into_iter().find(|(_, is_wrong, _)| *is_wrong);
        first.map(|(key, _, message)| (key, message.to_owned()))
    }

    /// Returns the parameters of its tool.
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
            bitrates: self.bitrates.as_deref(),
            segment: self.segment,
            length: self.length,
            buffer: self.buffer,
            dscp: self.dscp,
            port: self.port,
            command: self.command.as_deref(),
            server: self.server.as_deref(),
        }
    }

    /// Returns the last port of its servers, if the plan names the first one.
    fn last_port(&self) -> u32 {
        match (self.tool.port(), self.port) {
            // A disabled entry has a count of 0.
            (ServerPort::Own, Some(first)) => {
                u32::from(first).saturating_add(self.count.saturating_sub(1))
            }
            _ => 0,
        }
    }

    /// Returns the ports of its servers that the plan sets.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let is_own = self.tool.port() == ServerPort::Own;
        let first = self.port.filter(|_| is_own);
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        first
            .into_iter()
            // `fault` refuses a plan that needs ports beyond the range.
            .flat_map(move |first| (first..=u16::MAX).take(count))
    }

    /// End of the last instance; `None` if it depends on the path.
    pub fn end(&self) -> Option<TimeDelta> {
        let later = self.stagger.as_nanos() * i64::from(self.count.saturating_sub(1));
        Some(self.start + TimeDelta::from_nanos(later) + self.duration?)
    }
}

/// The text, if commands and file names can contain it unquoted.
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
