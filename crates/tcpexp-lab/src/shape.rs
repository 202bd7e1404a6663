//! The hosts of a lab, their names and addresses.

use std::net::Ipv4Addr;

use crate::LabError;

/// The number of hosts on each side of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    sources: u8,
    sinks: u8,
}

/// The role of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends data; connected to the router's interface `left`.
    Source,
    /// Forwards; its interfaces are `left` and `right`.
    Router,
    /// Receives data; connected to the router's interface `right`.
    Sink,
}

/// One host of a lab: a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name for `ssh` and in plans: `src1`, `rtr`, `dst1`.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its interfaces in the data networks.
    pub interfaces: Vec<Interface>,
    /// The address of its sshd in the control network; in a virtual machine only.
    pub control: Ipv4Addr,
}

/// An interface in a data network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `data` on sources and sinks, `left` and `right` on the router.
    pub name: &'static str,
    /// Its address. The prefix length is 24.
    pub address: Ipv4Addr,
}

/// The router's address in the network of the sources: their gateway.
pub const LEFT: Ipv4Addr = Ipv4Addr::new(172, 16, 10, 1);
/// The router's address in the network of the sinks: their gateway.
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(172, 16, 11, 1);
/// Address of the command itself in the control network.
pub const DRIVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// Largest number of hosts on one side.
pub const MAX_HOSTS: u8 = 64;

impl Shape {
    /// A lab with this number of sources and of sinks, each 1 to [`MAX_HOSTS`].
    pub fn new(sources: usize, sinks: usize) -> Result<Self, LabError> {
        let checked = |hosts, asked| {
            u8::try_from(asked)
                .ok()
                .filter(|count| (1..=MAX_HOSTS).contains(count))
                .ok_or(LabError::Hosts {
                    hosts,
                    asked,
                    most: MAX_HOSTS.into(),
                })
        };
        Ok(Self {
            sources: checked("sources", sources)?,
            sinks: checked("sinks", sinks)?,
        })
    }

    /// All hosts: the sources, the router, the sinks.
    pub fn hosts(self) -> Vec<Host> {
        let mut hosts: Vec<Host> = self.sources().collect();
        hosts.push(Host::router());
        hosts.extend(self.sinks());
        hosts
    }

    pub(crate) fn sources(self) -> impl Iterator<Item = Host> {
        (1..=self.sources).map(Host::source)
    }

    pub(crate) fn sinks(self) -> impl Iterator<Item = Host> {
        (1..=self.sinks).map(Host::sink)
    }
}

impl Default for Shape {
    /// One source, one sink.
    fn default() -> Self {
        Self {
            sources: 1,
            sinks: 1,
        }
    }
}

impl Host {
    fn source(number: u8) -> Self {
        Self {
            name: format!("src{number}"),
            role: Role::Source,
            interfaces: vec![Interface {
                name: "data",
                address: Ipv4Addr::new(172, 16, 10, 2 + number),
            }],
            // Sources have 11 to 74 and sinks 101 to 164, as `MAX_HOSTS` is 64, so no address
            // occurs twice.
            control: Ipv4Addr::new(10, 99, 0, 10 + number),
        }
    }

    fn router() -> Self {
        Self {
            name: "rtr".to_owned(),
            role: Role::Router,
            interfaces: vec![
                Interface {
                    name: "left",
                    address: LEFT,
                },
                Interface {
                    name: "right",
                    address: RIGHT,
                },
            ],
            control: Ipv4Addr::new(10, 99, 0, 2),
        }
    }

    fn sink(number: u8) -> Self {
        Self {
            name: format!("dst{number}"),
            role: Role::Sink,
            interfaces: vec![Interface {
                name: "data",
                address: Ipv4Addr::new(172, 16, 11, 1 + number),
            }],
            control: Ipv4Addr::new(10, 99, 0, 100 + number),
        }
    }
}

impl Interface {
    /// Its Ethernet address: locally administered, with the bytes of its IP address.
    pub fn mac(self) -> String {
        let [a, b, c, d] = self.address.octets();
        format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_host_of_the_largest_lab_has_its_own_addresses() {
        let most = usize::from(MAX_HOSTS);
        let hosts = Shape::new(most, most).unwrap().hosts();
        let addresses: BTreeSet<Ipv4Addr> = hosts
            .iter()
            .flat_map(|host| host.interfaces.iter().map(|it| it.address))
            .chain(hosts.iter().map(|host| host.control))
            .chain([DRIVER])
            .collect();
        assert_eq!(addresses.len(), 2 * hosts.len() + 2);
    }

    #[test]
    fn lab_has_at_least_one_host_on_each_side() {
        let refused = |sources, sinks| Shape::new(sources, sinks).unwrap_err().to_string();
        insta::assert_snapshot!(refused(0, 1), @"a lab has 1 to 64 sources, not 0");
        insta::assert_snapshot!(refused(1, 300), @"a lab has 1 to 64 sinks, not 300");
    }
}
