//! The hosts of the virtual testbed.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tcpexp_runs::record::Role;

use super::{Host, Lab, Os, Setup};

/// Largest number of hosts on one side: the limit of the lab's topology.
pub(crate) const MAX_HOSTS: u8 = 64;

/// A number of hosts that the testbed does not have.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The key of the plan that has the number.
    pub(crate) key: Vec<&'static str>,
    /// The expected form.
    pub(crate) message: String,
}

/// Replaces the hosts of a plan by the testbed's hosts, keeping their names.
pub(crate) fn take_place(setup: &mut Setup) -> Result<(), Refused> {
    if setup.hosts.is_empty() {
        for (key, count) in [("sources", setup.lab.sources), ("sinks", setup.lab.sinks)] {
            check(vec!["lab", key], key, count.into())?;
        }
        setup.hosts = hosts(setup.lab);
        return Ok(());
    }
    // A plan without a source or without a sink is refused later, by role.
    let count = |role, name| {
        let count = setup.of_role(role).count().max(1);
        check(vec!["hosts"], name, count)
    };
    setup.lab = Lab {
        sources: count(Role::Source, "sources")?,
        sinks: count(Role::Sink, "sinks")?,
    };
    let ours = hosts(setup.lab);
    for role in [Role::Source, Role::Router, Role::Sink] {
        let theirs = setup.hosts.values_mut().filter(|host| host.role == role);
        for (theirs, (name, ours)) in theirs.zip(ours.iter().filter(|(_, host)| host.role == role))
        {
            let sysctl = std::mem::take(&mut theirs.sysctl);
            let module = std::mem::take(&mut theirs.module);
            *theirs = Host {
                ssh: Some(name.clone()),
                sysctl,
                module,
                ..ours.clone()
            };
        }
    }
    Ok(())
}

fn check(key: Vec<&'static str>, name: &str, count: usize) -> Result<u8, Refused> {
    let small = u8::try_from(count).ok();
    small
        .filter(|count| (1..=MAX_HOSTS).contains(count))
        .ok_or_else(|| Refused {
            key,
            message: format!("expected 1 to {MAX_HOSTS} {name} on the testbed, found {count}"),
        })
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
    let sources = 1..=lab.sources;
    let sinks = 1..=lab.sinks;
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
            module: BTreeMap::new(),
        }
    }
}
