//! Queue disciplines, and names for their options.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// First in, first out, room counted in packets.
    Pfifo,
    /// First in, first out, room counted in bytes.
    Bfifo,
    /// Random early detection.
    Red,
    /// Controlled delay, RFC 8289.
    Codel,
    /// `CoDel` with a queue for each flow, RFC 8290.
    FqCodel,
    /// Proportional integral controller, RFC 8033.
    Pie,
    /// PIE with a queue for each flow.
    FqPie,
    /// Shaper and queues in one; it replaces the rate stage.
    Cake,
    /// Stochastic fair queueing. One flow gets at most 127 packets of room.
    Sfq,
}

/// Distribution of jitter. All but the uniform one need the tables of iproute2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Evenly within delay ± jitter.
    Uniform,
    /// Normal, the jitter is the standard deviation.
    Normal,
    /// Pareto.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    ParetoNormal,
}

/// The units between which `cake` shares the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// One queue for all.
    Flowblind,
    /// Between source hosts.
    Srchost,
    /// Between destination hosts.
    Dsthost,
    /// Between pairs of hosts.
    Hosts,
    /// Between flows.
    Flows,
    /// Between source hosts, and between the flows of each.
    DualSrchost,
    /// Between destination hosts, and between the flows of each.
    DualDsthost,
    /// Between hosts of both sides, and between the flows of each.
    TripleIsolate,
}

impl Queue {
    /// All queues.
    pub const ALL: [Self; 9] = [
        Self::Pfifo,
        Self::Bfifo,
        Self::Red,
        Self::Codel,
        Self::FqCodel,
        Self::Pie,
        Self::FqPie,
        Self::Cake,
        Self::Sfq,
    ];

    /// Its name for `tc` and in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfifo => "pfifo",
            Self::Bfifo => "bfifo",
            Self::Red => "red",
            Self::Codel => "codel",
            Self::FqCodel => "fq_codel",
            Self::Pie => "pie",
            Self::FqPie => "fq_pie",
            Self::Cake => "cake",
            Self::Sfq => "sfq",
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Distribution {
    /// Its name for `tc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }
}

impl Isolation {
    /// Its name for `tc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flowblind => "flowblind",
            Self::Srchost => "srchost",
            Self::Dsthost => "dsthost",
            Self::Hosts => "hosts",
            Self::Flows => "flows",
            Self::DualSrchost => "dual-srchost",
            Self::DualDsthost => "dual-dsthost",
            Self::TripleIsolate => "triple-isolate",
        }
    }
}
