//! The look at a host before a run.

use std::collections::BTreeSet;

use tcpexp_runs::record::Role;

use super::generator::Generator;
use super::phases::{Named, dir};
use super::words::words;
use crate::plan::{Os, Setup};

/// What the look before a run sources.
const PREFLIGHT_SH: &str = include_str!("preflight.sh");

/// Looks at a host, changing nothing.
pub(crate) fn preflight(
    setup: &Setup,
    (name, host): Named<'_>,
    generators: &[Generator],
    owner: &str,
) -> String {
    let mut script = format!("{PREFLIGHT_SH}\n");
    let mut line = |line: String| script.push_str(&(line + "\n"));
    line(words(["is_free", &dir(name), owner]));
    let mut tools = vec!["tcpdump", "tar", "sysctl"];
    if host.os == Os::Linux {
        tools.extend(["ip", "ethtool"]);
    }
    let programs = generators
        .iter()
        .flat_map(|generator| generator.programs_on(name));
    tools.extend(programs);
    match (host.role, host.os) {
        (Role::Router, Os::Linux) => {
            tools.push("tc");
            tools.extend(setup.loggers.queue.map(|_| "bash"));
        }
        (Role::Router, Os::FreeBsd) => tools.push("ipfw"),
        (Role::Source, _) => {
            tools.extend(["ping", "iperf3"]);
            if setup.loggers.ss.is_some() {
                tools.push("ss");
            }
        }
        (Role::Sink, _) => tools.push("iperf3"),
    }
    tools.sort_unstable();
    tools.dedup();
    line(words(["tools"].into_iter().chain(tools)));
    // Those of a router are looked at by who makes the path there.
    if let Some(interface) = &host.interface {
        line(words(["has_interface", interface]));
    }
    if let (Some(interface), Some(address)) = (&host.interface, host.address) {
        line(words(["has_address", interface, &address.to_string()]));
        for (_, other) in other_side(setup, host.role) {
            if let Some(address) = other.address {
                line(words(["has_route", &address.to_string(), interface]));
            }
        }
    }
    let ccs = generators
        .iter()
        .filter(|generator| generator.source_host == name);
    let ccs: BTreeSet<&str> = ccs
        .filter_map(|generator| generator.record.cc.as_deref())
        .collect();
    for cc in ccs {
        line(words(["has_cc", cc]));
    }
    line("has_room 20000".to_owned());
    script
}

fn other_side(setup: &Setup, role: Role) -> Vec<Named<'_>> {
    let other = if role == Role::Source {
        Role::Sink
    } else {
        Role::Source
    };
    setup.of_role(other).collect()
}

/// Prints what a host is and what its tools are; nothing needs to be there.
pub(crate) const VERSIONS: &str = "uname -a
for tool in tc tcpdump iperf iperf3 ethtool ssh; do
    case $tool in tc | ssh) option=-V ;; *) option=--version ;; esac
    echo \"$tool: $($tool $option 2>&1 | head -n 1)\"
done
sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.rmem_max net.ipv4.tcp_ecn 2>/dev/null || :
ip -o link 2>/dev/null || ifconfig
tc qdisc show 2>/dev/null || :
";
