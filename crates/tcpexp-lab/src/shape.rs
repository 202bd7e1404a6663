//! The hosts of a lab, their names and addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::LabError;

/// The hosts of a lab, by number: sources, routers in a row, sinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    sources: u8,
    sinks: u8,
    routers: u8,
    is_ipv6: bool,
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

/// The third byte of the addresses in the network of the sources. Networks are numbered from left to
/// right.
const FIRST_NETWORK: u8 = 10;
/// The fourth byte of a router's address towards the sources' side if there is a router on that side too.
const SECOND_ROUTER: u8 = 2;
/// The fourth bytes of the hosts of cross traffic.
const CROSS_SOURCE: u8 = 200;
const CROSS_SINK: u8 = 201;
/// Address of the command itself in the control network.
pub const DRIVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// Largest number of hosts on one side.
pub const MAX_HOSTS: u8 = 64;
/// Largest number of routers in a row.
pub const MAX_ROUTERS: u8 = 8;

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
            ..Self::default()
        })
    }

    /// The same hosts with this number of routers in a row, 1 to [`MAX_ROUTERS`]. With several routers,
    /// each router has its own cross-traffic source and sink.
    pub fn with_routers(self, routers: usize) -> Result<Self, LabError> {
        let count = u8::try_from(routers).ok();
        let count = count.filter(|count| (1..=MAX_ROUTERS).contains(count));
        let routers = count.ok_or(LabError::Hosts {
            hosts: "routers",
            asked: routers,
            most: MAX_ROUTERS.into(),
        })?;
        Ok(Self { routers, ..self })
    }

    /// The same hosts with IPv6 addresses beside those of IPv4.
    #[must_use]
    pub const fn with_ipv6(self, is_ipv6: bool) -> Self {
        Self { is_ipv6, ..self }
    }

    /// True if the data networks have IPv6 too.
    pub const fn is_ipv6(self) -> bool {
        self.is_ipv6
    }

    /// The number of data networks: one to each side of each router.
    pub(crate) const fn networks(self) -> u8 {
        self.routers + 1
    }

    /// All hosts: the sources, the routers, the sinks.
    pub fn hosts(self) -> Vec<Host> {
        let mut hosts: Vec<Host> = (1..=self.sources).map(Host::source).collect();
        if self.routers > 1 {
            hosts.extend((1..=self.routers).map(Host::cross_source));
        }
        hosts.extend((1..=self.routers).map(|number| Host::router(number, self.routers)));
        let last = FIRST_NETWORK + self.routers;
        hosts.extend((1..=self.sinks).map(|number| Host::sink(number, last)));
        if self.routers > 1 {
            hosts.extend((1..=self.routers).map(Host::cross_sink));
        }
        hosts
    }
}

impl Default for Shape {
    /// One source, one sink.
    fn default() -> Self {
        Self {
            sources: 1,
            sinks: 1,
            routers: 1,
            is_ipv6: false,
        }
    }
}

impl Host {
    // The last bytes of control addresses: 2 to 9 are routers, 11 to 74 sources, 81 to 88 and 91 to 98
    // the hosts of cross traffic, 101 to 164 sinks. No address occurs twice.
    fn end(name: String, role: Role, data: [u8; 2], control: u8) -> Self {
        let [network, number] = data;
        Self {
            name,
            role,
            interfaces: vec![Interface::new("data", network, number)],
            control: Ipv4Addr::new(10, 99, 0, control),
        }
    }

    fn source(number: u8) -> Self {
        let name = format!("src{number}");
        let data = [FIRST_NETWORK, 2 + number];
        Self::end(name, Role::Source, data, 10 + number)
    }

    fn sink(number: u8, network: u8) -> Self {
        let name = format!("dst{number}");
        Self::end(name, Role::Sink, [network, 1 + number], 100 + number)
    }

    /// The source of cross traffic over one router, to its left.
    fn cross_source(router: u8) -> Self {
        let name = format!("xsrc{router}");
        let data = [FIRST_NETWORK + router - 1, CROSS_SOURCE];
        Self::end(name, Role::Source, data, 80 + router)
    }

    /// The sink of cross traffic over one router, to its right.
    fn cross_sink(router: u8) -> Self {
        let name = format!("xdst{router}");
        let data = [FIRST_NETWORK + router, CROSS_SINK];
        Self::end(name, Role::Sink, data, 90 + router)
    }

    fn router(number: u8, of: u8) -> Self {
        let left = FIRST_NETWORK + number - 1;
        // The first router has no router to its left.
        let on_left = if number == 1 { 1 } else { SECOND_ROUTER };
        Self {
            name: if of == 1 {
                "rtr".to_owned()
            } else {
                format!("rtr{number}")
            },
            role: Role::Router,
            interfaces: vec![
                Interface::new("left", left, on_left),
                Interface::new("right", left + 1, 1),
            ],
            control: Ipv4Addr::new(10, 99, 0, 1 + number),
        }
    }
}

impl Interface {
    const fn new(name: &'static str, network: u8, number: u8) -> Self {
        Self {
            name,
            address: Ipv4Addr::new(172, 16, network, number),
        }
    }

    /// The number of its data network, from 0 at the sources.
    pub(crate) const fn network(self) -> u8 {
        self.address.octets()[2] - FIRST_NETWORK
    }

    /// Its IPv6 address, with the last two numbers of the other one: `fd00:16:10::3` for 172.16.10.3. The
    /// prefix length is 64.
    pub fn ipv6(self) -> Ipv6Addr {
        let [_, _, network, number] = self.address.octets();
        // The digits of an IPv6 address are hexadecimal.
        let digits = |number: u8| {
            let number = u16::from(number);
            number / 100 * 0x100 + number / 10 % 10 * 0x10 + number % 10
        };
        Ipv6Addr::new(0xfd00, 0x16, digits(network), 0, 0, 0, 0, digits(number))
    }

    /// Its Ethernet address: locally administered, with the bytes of its IP address.
    pub fn mac(self) -> String {
        let [a, b, c, d] = self.address.octets();
        format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    }
}

/// The prefixes of a data network, for IPv4 and for IPv6.
pub(crate) fn prefixes(network: u8) -> [String; 2] {
    let first = Interface::new("", FIRST_NETWORK + network, 0);
    [
        format!("{}/24", first.address),
        format!("{}/64", first.ipv6()),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_host_of_the_largest_lab_has_its_own_addresses() {
        let most = usize::from(MAX_HOSTS);
        let shape = Shape::new(most, most).unwrap();
        let hosts = shape.with_routers(MAX_ROUTERS.into()).unwrap().hosts();
        assert_eq!(hosts.len(), 2 * most + 3 * usize::from(MAX_ROUTERS));
        let interfaces = || hosts.iter().flat_map(|host| &host.interfaces);
        let ipv6: BTreeSet<Ipv6Addr> = interfaces().map(|it| it.ipv6()).collect();
        assert_eq!(ipv6.len(), interfaces().count());
        let addresses: BTreeSet<Ipv4Addr> = hosts
            .iter()
            .flat_map(|host| host.interfaces.iter().map(|it| it.address))
            .chain(hosts.iter().map(|host| host.control))
            .chain([DRIVER])
            .collect();
        let routers = usize::from(MAX_ROUTERS);
        assert_eq!(addresses.len(), 2 * hosts.len() + routers + 1);
    }

    #[test]
    fn lab_has_at_least_one_host_on_each_side() {
        let refused = |sources, sinks| Shape::new(sources, sinks).unwrap_err().to_string();
        insta::assert_snapshot!(refused(0, 1), @"a lab has 1 to 64 sources, not 0");
        insta::assert_snapshot!(refused(1, 300), @"a lab has 1 to 64 sinks, not 300");
        let nine = Shape::default().with_routers(9).unwrap_err();
        insta::assert_snapshot!(nine, @"a lab has 1 to 8 routers, not 9");
    }
}
