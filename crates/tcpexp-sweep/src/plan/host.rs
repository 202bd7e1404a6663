//! Hosts: `[hosts.*]`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netem_ctl::Os;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tcpexp_runs::record::Role;

use super::kernel;
use super::traffic::is_word;

/// A host of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its role.
    #[schemars(schema_with = "role_schema")]
    pub role: Role,
    /// Its name for `ssh`; its name in the plan by default.
    pub ssh: Option<String>,
    /// Its operating system.
    #[serde(default)]
    pub os: Os,
    /// Sources and sinks: the interface of the data.
    pub interface: Option<String>,
    /// Sources and sinks: the address on that interface.
    pub address: Option<IpAddr>,
    /// Router: the interface towards the sources.
    pub left: Option<String>,
    /// Router: the interface towards the sinks.
    pub right: Option<String>,
    /// Kernel settings during a run, in place of equal keys of `[prepare]`.
    #[serde(default, deserialize_with = "kernel::values")]
    #[schemars(schema_with = "kernel::values_schema")]
    pub sysctl: BTreeMap<String, String>,
    /// Parameters of kernel modules during a run, in place of equal keys of `[prepare]`.
    #[serde(
        default,
        deserialize_with = "kernel::values",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "kernel::values_schema")]
    pub module: BTreeMap<String, String>,
}

/// Longest name of an interface on Linux (`IFNAMSIZ` - 1).
const INTERFACE_BYTES: usize = 15;

impl Host {
    /// The interfaces of the data.
    pub fn interfaces(&self) -> Vec<&str> {
        let all = [&self.interface, &self.left, &self.right];
        all.into_iter().flatten().map(String::as_str).collect()
    }

    /// The first key that is wrong, and how.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let (needed, refused): (&[_], &[_]) = match self.role {
            Role::Router => (
                &[("left", &self.left), ("right", &self.right)],
                &[
                    ("interface", self.interface.is_some()),
                    ("address", self.address.is_some()),
                ],
            ),
            Role::Source | Role::Sink => (
                &[("interface", &self.interface)],
                &[
                    ("left", self.left.is_some()),
                    ("right", self.right.is_some()),
                ],
            ),
        };
        if let Some((key, _)) = refused.iter().find(|(_, is_set)| *is_set) {
            let what = match self.role {
                Role::Router => "a router has left and right",
                Role::Source | Role::Sink => "only a router has left and right",
            };
            return Some((key, what.to_owned()));
        }
        for (key, interface) in needed {
            let Some(interface) = interface else {
                return Some(("role", format!("{} needs {key}", self.what())));
            };
            // The file name of a router's capture contains the interface.
            if is_word(interface).is_none() || interface.len() > INTERFACE_BYTES {
                let message = format!("expected the name of an interface, found {interface:?}");
                return Some((key, message));
            }
        }
        if self.role != Role::Router && self.address.is_none() {
            return Some(("role", format!("{} needs address", self.what())));
        }
        let is_name = |name: &String| name.split('@').all(|part| is_word(part).is_some());
        if let Some(name) = self.ssh.as_ref().filter(|name| !is_name(name)) {
            let message = format!("expected a host name that ssh accepts, found {name:?}");
            return Some(("ssh", message));
        }
        None
    }

    const fn what(&self) -> &'static str {
        match self.role {
            Role::Source => "a source",
            Role::Router => "a router",
            Role::Sink => "a sink",
        }
    }
}

fn role_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": [Role::Source, Role::Router, Role::Sink] })
}
