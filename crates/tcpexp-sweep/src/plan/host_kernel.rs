//! The kernel settings of each host, from those of `[prepare]` and its own.

use std::collections::BTreeMap;

use netem_ctl::Os;
use tcpexp_runs::record::Role;

use super::kernel::Kernel;
use super::{Host, Kind, Setup};

/// The settings of a host: those of all ends, of its role, and its own.
pub(crate) fn kernel_of(setup: &Setup, host: &Host) -> Kernel {
    let prepare = &setup.prepare;
    let (all, group) = match host.role {
        Role::Router => (Kernel::default(), &prepare.router),
        Role::Source | Role::Sink => {
            let ends = Kernel {
                sysctl: prepare.sysctl.clone(),
                module: prepare.module.clone(),
            };
            let is_source = host.role == Role::Source;
            (
                ends,
                if is_source {
                    &prepare.source
                } else {
                    &prepare.sink
                },
            )
        }
    };
    all.overridden_by(&group.sysctl, &group.module)
        .overridden_by(&host.sysctl, &host.module)
}

/// Returns the fault of a host's settings: the key, and the message.
pub(super) fn fault(setup: &Setup, host: &Host) -> Option<(&'static str, String)> {
    let kernel = kernel_of(setup, host);
    match kernel.module.keys().next() {
        Some(key) if host.os == Os::FreeBsd => {
            let message = format!("FreeBSD has no {key}: expected a setting of sysctl");
            Some(("module", message))
        }
        _ => kernel.fault(),
    }
}

/// A parameter of a module with different values on hosts with one kernel, and the message.
pub(super) fn shared_kernel_fault(setup: &Setup) -> Option<String> {
    // The hosts of these kinds are network namespaces. A module has one set of parameters for all of
    // them.
    if setup.kind == Kind::Ssh {
        return None;
    }
    let mut known: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (name, host) in &setup.hosts {
        for (key, value) in kernel_of(setup, host).module {
            let first = known
                .entry(key.clone())
                .or_insert_with(|| (value.clone(), name));
            if first.0 != value {
                return Some(format!(
                    "{key} is {} on {} and {value} on {name}, but these hosts share one kernel",
                    first.0, first.1
                ));
            }
        }
    }
    None
}
