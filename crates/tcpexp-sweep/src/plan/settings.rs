//! How runs go, and what is recorded beside the traffic.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;

/// `[capture]`: what is captured, and where.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// Bytes kept of each packet.
    pub snaplen: u32,
    /// Which packets, as `tcpdump` takes it.
    pub filter: String,
    /// Whether the router captures too, at both its interfaces.
    pub router: bool,
    /// The capture's buffer in the kernel, in KiB.
    pub buffer_kib: u32,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            snaplen: 96,
            filter: "tcp or udp".to_owned(),
            router: false,
            buffer_kib: 32_768,
        }
    }
}

/// `[loggers]`: what is logged beside the captures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Loggers {
    /// The kernel's `tcp_probe` tracepoint, on sources.
    pub tcp_probe: bool,
    /// SIFTR, on sources that run FreeBSD.
    pub siftr: bool,
    /// Time between two looks at the sources' sockets with `ss`.
    pub ss: Option<TimeDelta>,
    /// Time between two looks at the router's queues.
    pub queue: Option<TimeDelta>,
    /// Time between two pings from the first source to the first sink.
    pub ping: Option<TimeDelta>,
}

/// `[prepare]`: what hosts are set to for the time of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prepare {
    /// Whether segmentation and receive offloads stay as they are; they are turned off without it,
    /// so that a packet in a queue and in a capture is one on the wire.
    pub keep_offloads: bool,
    /// Kernel settings of sources and sinks.
    pub sysctl: BTreeMap<String, String>,
}

/// `[calibration]`: what a path must show before a run counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calibrate {
    /// Whether anything is tried at all.
    pub enabled: bool,
    /// How far the idle round-trip time may be from the plan's.
    pub rtt_within: TimeDelta,
    /// How far the rate may be from the plan's, in percent.
    pub rate_within_percent: u32,
    /// For how long the path is overloaded.
    pub load: TimeDelta,
}

impl Default for Calibrate {
    fn default() -> Self {
        Self {
            enabled: true,
            rtt_within: TimeDelta::from_millis(1),
            rate_within_percent: 2,
            load: TimeDelta::from_millis(1_000),
        }
    }
}

/// `[run]`: how often, in which order, and what if it fails.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// Runs of each cell.
    pub repetitions: u32,
    /// What order and jitter come from.
    pub seed: u64,
    /// Whether each repetition's cells come in an order of their own, rather than the grid's.
    pub shuffle: bool,
    /// Up to how much later than the plan says each generator starts.
    pub start_jitter: TimeDelta,
    /// Pause after each run.
    pub cooldown: TimeDelta,
    /// How often a run that failed is tried again.
    pub retries: u32,
    /// What happens when a run fails in spite of that.
    pub on_failure: OnFailure,
    /// How long traffic may take that ends by itself.
    pub timeout: TimeDelta,
    /// How far clocks of hosts may be apart.
    pub clock_within: TimeDelta,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            repetitions: 1,
            seed: 1,
            shuffle: true,
            start_jitter: TimeDelta::from_nanos(0),
            cooldown: TimeDelta::from_nanos(0),
            retries: 0,
            on_failure: OnFailure::Continue,
            timeout: TimeDelta::from_millis(600_000),
            clock_within: TimeDelta::from_millis(1_000),
        }
    }
}

/// What a sweep does when a run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Goes on with the next run.
    Continue,
    /// Ends.
    Stop,
}

/// `[lab]`: the virtual testbed that takes the place of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lab {
    /// Sources.
    pub sources: u8,
    /// Sinks.
    pub sinks: u8,
}

impl Default for Lab {
    fn default() -> Self {
        Self {
            sources: 1,
            sinks: 1,
        }
    }
}
