//! The hosts of the virtual testbed.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tcpexp_runs::record::Role;

use super::{Host, Lab, Os, Setup};

/// Largest number of hosts on one side: the limit of the lab's topology.
pub(crate) const MAX_HOSTS: u8 = 64;

/// Replaces the hosts of a plan by the testbed's hosts, keeping their names.
pub(crate) fn take_place(setup: &mut Setup) {
    if setup.hosts.is_empty() {
        setup.hosts = hosts(setup.lab);
        return;
    }
    let count = |role| u8::try_from(setup.of_role(role).count()).unwrap_or(u8::MAX);
    setup.lab = Lab {
        sources: count(Role::Source).max(1),
        sinks: count(Role::Sink).max(1),
    };
    let ours = hosts(setup.lab);
    for role in [Role::Source, Role::Router, Role::Sink] {
        let theirs = setup.hosts.values_mut().filter(|host| host.role == role);
        for (theirs, (name, ours)) in theirs.zip(ours.iter().filter(|(_, host)| host.role == role))
        {
            let sysctl = std::mem::take(&mut theirs.sysctl);
            *theirs = Host {
                ssh: Some(name.clone()),
                sysctl,
                ..ours.clone()
            };
        }
    }
}

/// The hosts of a testbed as entries of a plan.
fn hosts(lab: Lab) -> BTreeMap<String, Host> {
    let end = |name: String, role, address: [u8; 4]| {
        let host = Host {
            interface: Some("data".to_owned()),
            address: Some(IpAddr::V4(Ipv4Addr::from(address))),
            ..Host::new(role)
        };
        (name, host)
    };
    let sources = 1..=lab.sources.min(MAX_HOSTS);
    let sinks = 1..=lab.sinks.min(MAX_HOSTS);
    let mut hosts: BTreeMap<_, _> = sources
        .map(|number| {
            end(
                format!("src{number}"),
                Role::Source,
                [172, 16, 10, 2 + number],
            )
        })
        .chain(sinks.map(|number| {
            end(
                format!("dst{number}"),
                Role::Sink,
                [172, 16, 11, 1 + number],
            )
        }))
        .collect();
    let router = Host {
        left: Some("left".to_owned()),
        right: Some("right".to_owned()),
        ..Host::new(Role::Router)
    };
    hosts.insert("rtr".to_owned(), router);
    hosts
}

impl Host {
    fn new(role: Role) -> Self {
        Self {
            role,
            ssh: None,
            os: Os::default(),
            interface: None,
            address: None,
            left: None,
            right: None,
            sysctl: BTreeMap::new(),
        }
    }
}
