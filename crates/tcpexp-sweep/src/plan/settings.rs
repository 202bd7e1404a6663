//! Settings of runs, captures, loggers and calibration.

use std::collections::BTreeMap;

use netem_ctl::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;

use super::Setup;
use super::commands::{WHOLE_MILLIS, is_interval_of_ping};
use super::kernel::{self, Kernel};

/// `[capture]`: settings of the captures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// Bytes captured of each packet.
    pub snaplen: u32,
    /// Filter expression of `tcpdump`. The default includes ICMP in cells whose only traffic is `ping`.
    pub filter: String,
    /// Also capture at both interfaces of the router.
    pub router: bool,
    /// Size of the kernel's capture buffer, in KiB.
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

/// `[loggers]`: logs beside the captures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Loggers {
    /// The kernel's `tcp_probe` tracepoint, on sources.
    pub tcp_probe: bool,
    /// SIFTR, on sources that run FreeBSD.
    pub siftr: bool,
    /// Interval of `ss` on sources.
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub ss: Option<TimeDelta>,
    /// Interval of reading the router's queues.
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub queue: Option<TimeDelta>,
    /// Interval of pings from the first source to the first sink.
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub ping: Option<TimeDelta>,
}

/// `[prepare]`: settings of hosts during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prepare {
    /// Keep segmentation and receive offloads. By default they are turned off, so that a packet in
    /// a queue or capture is a packet on the wire; a run fails if one cannot be turned off.
    pub keep_offloads: bool,
    /// Initial congestion window of sources and sinks, in segments: an attribute of their routes. Linux
    /// only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initcwnd: Option<u32>,
    /// MTU of the data interfaces of sources and sinks, from 576 to 1500 bytes. A buffer in bytes,
    /// time or BDP is converted to packets of this size where a queue counts packets. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Kernel settings of sources and sinks by their names for `sysctl`:
    /// `sysctl.net.ipv4.tcp_ecn = 1`.
    #[serde(deserialize_with = "kernel::values")]
    #[schemars(schema_with = "kernel::values_schema")]
    pub sysctl: BTreeMap<String, String>,
    /// Parameters of kernel modules of sources and sinks: `module.tcp_cubic.hystart = 0`.
    #[serde(
        deserialize_with = "kernel::values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "kernel::values_schema")]
    pub module: BTreeMap<String, String>,
    /// Settings of sources, in place of equal keys of all ends.
    #[serde(skip_serializing_if = "Kernel::is_empty")]
    pub source: Kernel,
    /// Settings of sinks, in place of equal keys of all ends.
    #[serde(skip_serializing_if = "Kernel::is_empty")]
    pub sink: Kernel,
    /// Settings of the router.
    #[serde(skip_serializing_if = "Kernel::is_empty")]
    pub router: Kernel,
}

/// `[calibration]`: checks of the path before each run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calibrate {
    /// Calibrate the path before each run.
    pub enabled: bool,
    /// Largest difference of the idle round-trip time from the plan.
    #[schemars(with = "Text<TimeDelta>")]
    pub rtt_within: TimeDelta,
    /// Largest difference of the rate from the plan, in percent.
    pub rate_within_percent: u32,
    /// Duration of the overload that measures the rate; longer on slow paths, for 200 packets.
    #[schemars(with = "Text<TimeDelta>")]
    pub load: TimeDelta,
}

impl Default for Calibrate {
    fn default() -> Self {
        Self {
            enabled: true,
            rtt_within: TimeDelta::from_millis(1),
            rate_within_percent: 2,
            load: TimeDelta::from_millis(500),
        }
    }
}

/// `[run]`: repetitions, order and failures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// Number of runs of each cell.
    pub repetitions: u32,
    /// Seed of the order and of the start jitter.
    pub seed: u64,
    /// Shuffle the cells in each repetition, rather than keep the order of the grid.
    pub shuffle: bool,
    /// Largest random delay of the start of each generator.
    #[schemars(with = "Text<TimeDelta>")]
    pub start_jitter: TimeDelta,
    /// Pause after each run.
    #[schemars(with = "Text<TimeDelta>")]
    pub cooldown: TimeDelta,
    /// Number of retries of a failed run.
    pub retries: u32,
    /// Action after all retries failed.
    pub on_failure: OnFailure,
    /// Time limit for traffic without a duration.
    #[schemars(with = "Text<TimeDelta>")]
    pub timeout: TimeDelta,
    /// Largest difference between a host's clock and ours.
    #[schemars(with = "Text<TimeDelta>")]
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

/// Action after a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Continue with the next run.
    Continue,
    /// End the sweep.
    Stop,
}

/// `[lab]`: size of the virtual testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lab {
    /// Number of sources.
    pub sources: u8,
    /// Number of sinks.
    pub sinks: u8,
    /// Number of routers in a row, up to 8. One is `rtr`; several are `rtr1`, `rtr2`, …, each with a
    /// source and a sink of cross traffic beside it: `xsrc1` and `xdst1`, …
    #[serde(skip_serializing_if = "is_one")]
    pub routers: u8,
    /// Give the hosts IPv6 addresses, and send the traffic over IPv6.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ipv6: bool,
    /// Memory of the guest, which also holds the files of a run; 3072 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 512))]
    pub memory_mib: Option<u32>,
}

impl Lab {
    /// Name of the first router.
    pub const fn first_router(self) -> &'static str {
        if self.routers > 1 { "rtr1" } else { "rtr" }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(count: &u8) -> bool {
    *count == 1
}

impl Default for Lab {
    fn default() -> Self {
        Self {
            sources: 1,
            sinks: 1,
            routers: 1,
            ipv6: false,
            memory_mib: None,
        }
    }
}

/// Bytes of the headers of Ethernet, IPv4 and TCP, without which a capture shows nothing.
const LEAST_SNAPLEN: u32 = 54;

impl Setup {
    /// The first setting that no run can use: its key, and what was expected.
    pub(super) fn unusable_setting(&self) -> Option<([&'static str; 2], &'static str)> {
        let none = TimeDelta::ZERO;
        let stops = |interval: Option<TimeDelta>| interval.is_some_and(|interval| interval <= none);
        let Capture {
            snaplen,
            buffer_kib,
            ..
        } = self.capture;
        let pause = "expected a time of 0s or more";
        let interval = "expected more than 0s";
        let wrong = [
            (["loggers", "ss"], stops(self.loggers.ss), interval),
            (["loggers", "queue"], stops(self.loggers.queue), interval),
            (["loggers", "ping"], stops(self.loggers.ping), interval),
            (
                ["loggers", "ping"],
                !self.loggers.ping.is_none_or(is_interval_of_ping),
                WHOLE_MILLIS,
            ),
            (["run", "start_jitter"], self.run.start_jitter < none, pause),
            (["run", "cooldown"], self.run.cooldown < none, pause),
            (["run", "timeout"], self.run.timeout <= none, interval),
            (
                ["run", "clock_within"],
                self.run.clock_within <= none,
                interval,
            ),
            (["calibration", "load"], self.calibration.load < none, pause),
            (
                ["calibration", "rtt_within"],
                self.calibration.rtt_within < none,
                pause,
            ),
            (
                ["capture", "snaplen"],
                // tcpdump captures whole packets with 0.
                (1..LEAST_SNAPLEN).contains(&snaplen),
                "expected at least 54 bytes, the headers of a TCP segment, or 0 for whole packets",
            ),
            (
                ["capture", "buffer_kib"],
                buffer_kib == 0,
                "expected at least 1",
            ),
        ];
        let first = wrong.into_iter().find(|(_, is_wrong, _)| *is_wrong);
        first.map(|(keys, _, expected)| (keys, expected))
    }
}
