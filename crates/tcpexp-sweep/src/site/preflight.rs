//! Preflight: checks a host before a run.

use std::collections::BTreeSet;

use netem_ctl::Os;
use tcpexp_host::command_line;
use tcpexp_runs::record::Role;

use super::Named;
use super::generator::Generator;
use super::phases::{dir, parameters};
use crate::plan::{self, Setup};

/// The functions of the preflight script.
pub(super) const PREFLIGHT_SH: &str = include_str!("preflight.sh");

/// The script that checks a host. It changes nothing.
pub(crate) fn preflight(
    setup: &Setup,
    (name, host): Named<'_>,
    generators: &[Generator],
    owner: &str,
) -> String {
    let mut script = format!("{PREFLIGHT_SH}\n");
    let mut line = |line: String| script.push_str(&(line + "\n"));
    line(command_line(["is_free", &dir(name), owner]));
    let tools = tools(setup, (name, host), generators);
    line(command_line(["tools"].into_iter().chain(tools)));
    // netem-ctl checks the interfaces of the router.
    if let Some(interface) = &host.interface {
        line(command_line(["has_interface", interface]));
    }
    if let (Some(interface), Some(address)) = (&host.interface, host.address) {
        line(command_line([
            "has_address",
            interface,
            &address.to_string(),
        ]));
        for (_, other) in other_side(setup, host.role) {
            if let Some(address) = other.address {
                line(command_line(["has_route", &address.to_string(), interface]));
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
        line(command_line(["has_cc", cc]));
    }
    let kernel = plan::kernel_of(setup, host);
    for key in kernel.sysctl.keys() {
        line(command_line(["has_setting", key]));
    }
    for (module, name, _) in parameters(&kernel) {
        line(command_line(["has_parameter", module, name]));
    }
    line("has_room 20000".to_owned());
    script
}

/// The programs that a run needs on a host.
fn tools<'a>(
    setup: &Setup,
    (name, host): Named<'_>,
    generators: &'a [Generator],
) -> BTreeSet<&'a str> {
    let mut tools = BTreeSet::from(["tcpdump", "tar", "sysctl"]);
    if host.os == Os::Linux {
        tools.extend(["ip", "ethtool"]);
    }
    let programs = generators
        .iter()
        .flat_map(|generator| generator.programs_on(name));
    tools.extend(programs);
    match (host.role, host.os) {
        (Role::Router, Os::Linux) => {
            tools.insert("tc");
            // The logger of queues talks to one `tc` for all reads, by a coprocess of bash.
            tools.extend(setup.loggers.queue.map(|_| "bash"));
        }
        (Role::Router, Os::FreeBsd) => {
            tools.insert("ipfw");
        }
        (Role::Source, _) => {
            tools.extend(setup.calibration.enabled.then_some("ping"));
            tools.extend(setup.is_loaded().then_some("iperf3"));
            if setup.loggers.ss.is_some() {
                tools.insert("ss");
            }
        }
        (Role::Sink, _) => tools.extend(setup.is_loaded().then_some("iperf3")),
    }
    tools
}

fn other_side(setup: &Setup, role: Role) -> Vec<Named<'_>> {
    let other = if role == Role::Source {
        Role::Sink
    } else {
        Role::Source
    };
    setup.of_role(other).collect()
}

/// Prints the system of a host and the versions of its tools, as far as they are there.
pub(crate) const VERSIONS: &str = include_str!("versions.sh");
