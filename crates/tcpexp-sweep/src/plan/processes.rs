//! Names of the processes of a run on its hosts, which are also names of files there.

use std::collections::BTreeMap;

use super::{Host, Role, Setup, Traffic};

/// What follows the name of a host in the names of its loggers.
const LOGGERS: [&str; 5] = ["tcp_probe", "siftr", "ss", "ping", "queue"];

/// Returns the first entry of `[[traffic]]` whose process has the name of another one on its host: its
/// index and the message.
pub(super) fn fault(setup: &Setup) -> Option<(usize, String)> {
    let mut taken: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (name, host) in &setup.hosts {
        let own = of_host(setup, name, host).into_iter();
        taken.extend(own.map(|process| ((name.as_str(), process), "a capture or logger")));
    }
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for (index, traffic) in setup.traffic.iter().enumerate() {
        let (from, to) = (setup.source_of(traffic), setup.sink_of(traffic));
        let [client, server] = if traffic.tool.is_pulled() {
            [to, from]
        } else {
            [from, to]
        };
        for _ in 0..traffic.count {
            let number = numbers.entry(traffic.name.as_str()).or_default();
            *number += 1;
            let process = instance(setup, traffic, *number);
            let server_process = server_of(&process);
            for (host, process) in [(client, process), (server, server_process)] {
                let key = (host, process);
                if let Some(other) = taken.get(&key) {
                    let message = format!("{} on {host} is already the name of {other}", key.1);
                    return Some((index, message));
                }
                taken.insert(key, "other traffic");
            }
        }
    }
    None
}

/// Name of instance `number` of a traffic class, from 1, over all its entries.
pub(crate) fn instance(setup: &Setup, traffic: &Traffic, number: u32) -> String {
    // An entry for all hosts is there once for each.
    let alike = |other: &&Traffic| other.name == traffic.name;
    let counts = setup.traffic.iter().filter(alike);
    let total: u64 = counts.map(|traffic| u64::from(traffic.count)).sum();
    match total {
        1 => traffic.name.clone(),
        _ => format!("{}-{number}", traffic.name),
    }
}

/// Name of the server of a traffic instance.
pub(crate) fn server_of(instance: &str) -> String {
    format!("{instance}-server")
}

/// Name of the process of a command's log.
pub(crate) fn command_log(host: &str, log: &str) -> String {
    format!("{host}-log-{log}")
}

/// Name of the process of a logger.
pub(crate) fn logger(host: &str, kind: &str) -> String {
    format!("{host}-{kind}")
}

/// Name of the capture of a router's interface. That of another host has the name of the host.
pub(crate) fn router_capture(host: &str, interface: &str) -> String {
    format!("{host}-{interface}")
}

/// Name of the process that makes the change with this index, from 0.
pub(crate) fn change(index: usize) -> String {
    format!("change-{}", index + 1)
}

/// The processes of a host other than traffic.
fn of_host(setup: &Setup, name: &str, host: &Host) -> Vec<String> {
    let mut all: Vec<String> = LOGGERS.iter().map(|kind| logger(name, kind)).collect();
    let logs = setup.log.iter().filter(|log| log.host == name);
    all.extend(logs.map(|log| command_log(name, &log.name)));
    // No traffic runs on a router.
    if host.role != Role::Router {
        all.push(name.to_owned());
    }
    all
}
