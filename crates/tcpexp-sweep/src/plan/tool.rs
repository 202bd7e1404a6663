//! The traffic tools: one [`ToolSpec`] each.
//!
//! To add a tool, add its specification to [`TOOLS`] and the function for its commands to
//! `commands.rs`. No other code distinguishes tools.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::commands::{self, Commands, Ends, Fault, Parameters};

/// A traffic tool, known by its name in plans.
#[derive(Clone, Copy)]
pub struct Tool(&'static ToolSpec);

/// Alternatives: one of these keys must be set.
pub(super) type OneOf = &'static [&'static str];

/// The properties in which tools differ.
pub(crate) struct ToolSpec {
    /// Name in plans and in records.
    name: &'static str,
    /// Keys that the tool takes in addition to the common ones.
    keys: &'static [&'static str],
    /// The keys that must be set.
    needs: &'static [OneOf],
    /// Source of the sender's congestion control.
    cc: CcChoice,
    /// True if the host that receives the data runs the client.
    is_pulled: bool,
    /// The protocol of its packets.
    sends: Sends,
    /// Port of the server.
    port: ServerPort,
    /// The program of the client.
    client: Program,
    /// The program of the server.
    server: Program,
    /// File extension of the client's log.
    log: &'static str,
    /// The command lines.
    commands: fn(&Parameters<'_>, &Ends<'_>) -> Commands,
    /// Checks the combination of keys; returns a fault, if any.
    fault: fn(&Parameters<'_>) -> Option<Fault>,
}

/// Source of a sender's congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CcChoice {
    /// The tool chooses it for each connection.
    Tool,
    /// The host's default, which is set for the time of a run.
    Host,
    /// The host's default, which is set if the plan names one. It is unknown whether the tool uses
    /// it.
    Unknown,
    /// The tool sends without congestion control.
    Nothing,
}

/// The protocol of a tool's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    Tcp,
    Udp,
    Icmp,
    /// The plan does not state it.
    Unknown,
}

/// The first port for servers: the default port of iperf3.
pub(crate) const FIRST_PORT: u16 = 5201;

/// The port of a tool's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerPort {
    /// The tool has no port.
    Nothing,
    /// Each server has a port of its own.
    Own,
    /// The port of a server that is already running, unless the plan names another port.
    Shared(u16),
}

/// The program that must be installed on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The named program.
    Named(&'static str),
    /// The first word of the command.
    FirstWord,
    /// Any of several programs, or none.
    Any,
}

/// Port of `sshd`.
const SSH_PORT: u16 = 22;

/// A TCP tool with a server of its own, for the fields that most tools share.
const TCP: ToolSpec = ToolSpec {
    name: "",
    keys: &[],
    needs: &[],
    cc: CcChoice::Tool,
    is_pulled: false,
    sends: Sends::Tcp,
    port: ServerPort::Own,
    client: Program::Any,
    server: Program::Any,
    log: "txt",
    commands: commands::command,
    fault: |_| None,
};

/// All tools, in the order that messages list them.
const TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: "iperf3",
        keys: &[
            "duration", "bytes", "cc", "mss", "window", "rate", "dscp", "port",
        ],
        needs: &[&["duration", "bytes"]],
        client: Program::Named("iperf3"),
        server: Program::Named("iperf3"),
        log: "json",
        commands: commands::iperf3,
        fault: commands::not_of_iperf3,
        ..TCP
    },
    ToolSpec {
        name: "iperf",
        keys: &[
            "duration", "bytes", "cc", "mss", "window", "rate", "dscp", "port",
        ],
        needs: &[&["duration", "bytes"]],
        client: Program::Named("iperf"),
        server: Program::Named("iperf"),
        commands: commands::iperf,
        ..TCP
    },
    ToolSpec {
        name: "udp",
        keys: &["duration", "rate", "packet_bytes", "dscp", "port"],
        needs: &[&["duration"], &["rate"]],
        cc: CcChoice::Nothing,
        sends: Sends::Udp,
        client: Program::Named("iperf"),
        server: Program::Named("iperf"),
        commands: commands::udp,
        ..TCP
    },
    ToolSpec {
        name: "request-response",
        keys: &[
            "duration", "cc", "mss", "interval", "request", "reply", "port",
        ],
        needs: &[&["duration"]],
        client: Program::Named("iperf"),
        server: Program::Named("iperf"),
        commands: commands::request_response,
        fault: commands::one_size,
        ..TCP
    },
    ToolSpec {
        name: "netperf",
        keys: &["duration", "cc", "request", "reply", "port"],
        needs: &[&["duration"]],
        client: Program::Named("netperf"),
        server: Program::Named("netserver"),
        commands: commands::netperf,
        fault: commands::not_of_netperf,
        ..TCP
    },
    ToolSpec {
        name: "http",
        keys: &["sizes", "interval", "cc", "port"],
        needs: &[&["sizes"]],
        cc: CcChoice::Host,
        is_pulled: true,
        commands: commands::http,
        ..TCP
    },
    ToolSpec {
        name: "video",
        keys: &["bitrates", "segment", "length", "buffer", "cc", "port"],
        needs: &[&["bitrates"], &["segment"], &["length"]],
        cc: CcChoice::Host,
        is_pulled: true,
        log: "csv",
        commands: commands::video,
        fault: commands::no_video,
        ..TCP
    },
    ToolSpec {
        name: "rsync",
        keys: &["bytes", "cc", "port"],
        needs: &[&["bytes"]],
        cc: CcChoice::Host,
        is_pulled: true,
        client: Program::Named("rsync"),
        server: Program::Named("rsync"),
        commands: commands::rsync,
        ..TCP
    },
    ToolSpec {
        name: "scp",
        keys: &["bytes", "cc", "port"],
        needs: &[&["bytes"]],
        cc: CcChoice::Host,
        port: ServerPort::Shared(SSH_PORT),
        client: Program::Named("scp"),
        commands: commands::scp,
        ..TCP
    },
    ToolSpec {
        name: "ping",
        keys: &["duration", "interval", "packet_bytes", "dscp"],
        needs: &[&["duration"]],
        cc: CcChoice::Nothing,
        sends: Sends::Icmp,
        port: ServerPort::Nothing,
        client: Program::Named("ping"),
        commands: commands::ping,
        fault: commands::not_of_ping,
        ..TCP
    },
    ToolSpec {
        name: "command",
        keys: &["duration", "command", "server", "cc"],
        needs: &[&["command"], &["duration"]],
        cc: CcChoice::Unknown,
        sends: Sends::Unknown,
        port: ServerPort::Nothing,
        client: Program::FirstWord,
        server: Program::FirstWord,
        ..TCP
    },
];

/// The names, as serde's message for unknown ones needs them.
static NAMES: [&str; TOOLS.len()] = {
    // Iterators do not work in constants.
    let mut names = [""; TOOLS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = TOOLS[index].name;
        index += 1;
    }
    names
};

/// The keys that all tools take.
pub(super) const COMMON_KEYS: [&str; 7] =
    ["name", "tool", "from", "to", "start", "count", "stagger"];

impl Tool {
    /// Returns the tool with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        TOOLS.iter().find(|spec| spec.name == name).map(Self)
    }

    /// All tools.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        TOOLS.iter().map(Self)
    }

    /// The keys that it takes in addition to the common ones.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        self.0.keys
    }

    /// Alternatives, of each of which one key must be set.
    pub(super) const fn needs(self) -> &'static [OneOf] {
        self.0.needs
    }

    /// Returns the tool's name.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the client's program, if it is always the same.
    pub const fn client(self) -> Option<&'static str> {
        match self.0.client {
            Program::Named(program) => Some(program),
            Program::FirstWord | Program::Any => None,
        }
    }

    /// True if the tool sets the congestion control of each connection itself. For other tools, the
    /// host's default is set for the time of the run.
    pub fn sets_cc(self) -> bool {
        self.0.cc == CcChoice::Tool
    }

    /// True if the host that receives the data runs the client.
    pub(crate) const fn is_pulled(self) -> bool {
        self.0.is_pulled
    }

    pub(crate) const fn cc_choice(self) -> CcChoice {
        self.0.cc
    }

    pub(crate) const fn sends(self) -> Sends {
        self.0.sends
    }

    pub(crate) const fn port(self) -> ServerPort {
        self.0.port
    }

    /// Returns the programs of client and server.
    pub(crate) const fn programs(self) -> [Program; 2] {
        [self.0.client, self.0.server]
    }

    /// Returns the file extension of the client's log.
    pub(crate) const fn log(self) -> &'static str {
        self.0.log
    }

    /// True if the tool takes this key.
    pub(super) fn takes(self, key: &str) -> bool {
        COMMON_KEYS.contains(&key) || self.0.keys.contains(&key)
    }

    /// Returns the first fault of a plan's parameters for this tool.
    pub(super) fn fault(self, asked: &Parameters<'_>) -> Option<Fault> {
        let (spec, set) = (self.0, asked.keys());
        if let Some(key) = set.iter().find(|key| !self.takes(key)) {
            let takes = spec.keys.join(", ");
            let message = format!("{} has no {key}; it takes {takes}", spec.name);
            return Some((key, message));
        }
        let missing = |one_of: &&OneOf| !one_of.iter().any(|key| set.contains(key));
        if let Some(one_of) = spec.needs.iter().find(missing) {
            let message = format!("{} needs {}", spec.name, one_of.join(" or "));
            return Some(("tool", message));
        }
        (spec.fault)(asked)
    }

    /// Returns the command lines of both ends.
    pub(crate) fn commands(self, asked: &Parameters<'_>, at: &Ends<'_>) -> Commands {
        (self.0.commands)(asked, at)
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Tool {}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl JsonSchema for Tool {
    fn schema_name() -> Cow<'static, str> {
        "Tool".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": NAMES })
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || serde::de::Error::unknown_variant(&name, &NAMES);
        Self::named(&name).ok_or_else(unknown)
    }
}
