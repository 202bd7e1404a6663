//! The hosts of the virtual testbed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netem_ctl::Os;
use tcpexp_runs::record::Role;

use super::{Host, Lab, Setup};

/// Largest number of hosts on one side: the limit of the lab's topology.
pub(crate) const MAX_HOSTS: u8 = 64;

/// Largest number of routers in a row: the limit of the lab's topology.
const MAX_ROUTERS: u8 = 8;

/// Minimum memory of a guest. While it boots, it holds its programs twice: with a release build, 300 MiB are too
/// little and 400 are enough.
const MIN_MEMORY_MIB: u32 = 512;

/// A setting that the testbed does not have.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The key of the plan that has the number.
    pub(crate) key: Vec<&'static str>,
    /// The expected form.
    pub(crate) message: String,
}

/// Replaces the hosts of a plan by the testbed's hosts, keeping their names.
pub(crate) fn take_place(setup: &mut Setup) -> Result<(), Refused> {
    check_memory(setup.lab)?;
    if setup.hosts.is_empty() {
        for (key, count, most) in [
            ("sources", setup.lab.sources, MAX_HOSTS),
            ("sinks", setup.lab.sinks, MAX_HOSTS),
            ("routers", setup.lab.routers, MAX_ROUTERS),
        ] {
            check(vec!["lab", key], key, count.into(), most)?;
        }
        setup.hosts = hosts(setup.lab);
        return Ok(());
    }
    // A plan without a source or without a sink is refused later, by role.
    let count = |role, name| {
        let count = setup.of_role(role).count().max(1);
        check(vec!["hosts"], name, count, MAX_HOSTS)
    };
    if setup.lab.routers > 1 || setup.of_role(Role::Router).count() > 1 {
        return Err(Refused {
            key: vec!["hosts"],
            message: "expected no hosts of the plan: several routers are the testbed's own, by \
                      lab.routers"
                .to_owned(),
        });
    }
    setup.lab = Lab {
        sources: count(Role::Source, "sources")?,
        sinks: count(Role::Sink, "sinks")?,
        ..setup.lab
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

fn check_memory(lab: Lab) -> Result<(), Refused> {
    match lab.memory_mib {
        Some(memory_mib) if memory_mib < MIN_MEMORY_MIB => Err(Refused {
            key: vec!["lab", "memory_mib"],
            message: format!("expected at least {MIN_MEMORY_MIB} MiB, found {memory_mib}"),
        }),
        _ => Ok(()),
    }
}

fn check(key: Vec<&'static str>, name: &str, count: usize, most: u8) -> Result<u8, Refused> {
    let small = u8::try_from(count).ok();
    small
        .filter(|count| (1..=most).contains(count))
        .ok_or_else(|| Refused {
            key,
            message: format!("expected 1 to {most} {name} on the testbed, found {count}"),
        })
}

/// The hosts of a testbed as entries of a plan.
fn hosts(lab: Lab) -> BTreeMap<String, Host> {
    // Networks are numbered from left to right, beginning with 10.
    let end = |name: String, role, [network, number]: [u8; 2]| {
        let address = if lab.ipv6 {
            format!("fd00:16:{network}::{number}")
        } else {
            format!("172.16.{network}.{number}")
        };
        let host = Host {
            interface: Some("data".to_owned()),
            address: address.parse::<IpAddr>().ok(),
            ..Host::new(role)
        };
        (name, host)
    };
    let mut hosts = BTreeMap::new();
    let last = 10 + lab.routers;
    hosts.extend(
        (1..=lab.sources).map(|number| end(format!("src{number}"), Role::Source, [10, 2 + number])),
    );
    hosts.extend(
        (1..=lab.sinks).map(|number| end(format!("dst{number}"), Role::Sink, [last, 1 + number])),
    );
    let router = Host {
        left: Some("left".to_owned()),
        right: Some("right".to_owned()),
        ..Host::new(Role::Router)
    };
    if lab.routers == 1 {
        hosts.insert(lab.first_router().to_owned(), router);
        return hosts;
    }
    for number in 1..=lab.routers {
        hosts.insert(format!("rtr{number}"), router.clone());
        hosts.extend([
            end(format!("xsrc{number}"), Role::Source, [9 + number, 200]),
            end(format!("xdst{number}"), Role::Sink, [10 + number, 201]),
        ]);
    }
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
