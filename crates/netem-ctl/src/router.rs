//! The router that emulates a bottleneck.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A host that forwards between the sources on its left interface and the sinks on its right one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// The operating system, which decides the commands: `tc` of iproute2 on Linux, `ipfw` with dummynet
    /// on FreeBSD.
    #[serde(default)]
    pub os: Os,
    /// Interface towards the sources; the bridge, if there are several.
    pub left: Interface,
    /// Interface towards the sinks.
    pub right: Interface,
}

/// A router as its lease describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DescribedRouter {
    #[serde(flatten)]
    pub(crate) router: Router,
    /// MTU of the hosts in bytes; `None` if it is Ethernet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<u32>,
}

/// An operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Os {
    /// Linux.
    #[default]
    Linux,
    /// FreeBSD.
    FreeBsd,
}

/// Name of a network interface. It needs no quotes in a shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interface(String);

/// The text is not the name of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{0}\" is not an interface name: expected 1 to 15 letters, digits, '_', '.', ':' or '-', not \
     starting with '-'"
)]
pub struct InterfaceError(String);

impl Interface {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Interface {
    type Err = InterfaceError;

    fn from_str(text: &str) -> Result<Self, InterfaceError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        // IFNAMSIZ - 1 is 15 on both systems. A leading dash would be an option of `tc`, and the
        // kernel refuses the names `.` and `..`.
        let is_name = (1..=15).contains(&text.len())
            && text.bytes().all(is_plain)
            && !text.starts_with(['-', '.']);
        is_name
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| InterfaceError(text.to_owned()))
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Interface {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Interface {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_have_no_special_meaning_to_a_shell_or_to_tc() {
        for name in ["eth0", "enp3s0f1", "br-lan", "eth0.100", "vtnet0", "a"] {
            assert!(Interface::from_str(name).is_ok(), "{name}");
        }
        for wrong in [
            "",
            "-dev",
            "eth0;reboot",
            "$(id)",
            "eth 0",
            "..",
            "sixteen_letters_",
        ] {
            assert!(Interface::from_str(wrong).is_err(), "{wrong}");
        }
    }
}
