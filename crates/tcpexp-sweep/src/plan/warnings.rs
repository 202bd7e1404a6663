//! Plans that can run, but hardly measure what they are meant to.

use netem_ctl::Os;
use tcpexp_runs::record::Role;

use super::host_kernel::kernel_of;
use super::{Cell, Setup, Traffic};

/// The setting with which a Linux host asks for ECN: 1 of RFC 3168, 3 to 5 of accurate ECN. The default
/// of 2 accepts ECN and does not ask for it.
const TCP_ECN: &str = "net.ipv4.tcp_ecn";

/// Warnings about the cells, for the user before the plan runs.
pub(super) fn warnings(cells: &[Cell]) -> Vec<String> {
    let without = cells
        .iter()
        .filter(|cell| marks_nothing(&cell.setup))
        .count();
    if without == 0 {
        return Vec::new();
    }
    vec![format!(
        "ecn = true marks nothing in {without} of {} cells: no host asks for ECN; \
         prepare.sysctl.net.ipv4.tcp_ecn = 1 makes them",
        cells.len()
    )]
}

/// True if the path is to mark packets and no connection negotiates ECN.
fn marks_nothing(setup: &Setup) -> bool {
    let is_marking = [&setup.path.forward, &setup.path.reverse]
        .iter()
        .any(|path| path.ecn == Some(true));
    let is_linux = setup
        .hosts
        .values()
        .filter(|host| host.role != Role::Router)
        .all(|host| host.os == Os::Linux);
    let mut running = setup.traffic.iter().filter(|traffic| traffic.count > 0);
    is_marking && is_linux && !running.any(|traffic| asks_for_ecn(setup, traffic))
}

fn asks_for_ecn(setup: &Setup, traffic: &Traffic) -> bool {
    // These congestion controls need ECN, so their connections ask for it (`TCP_CONG_NEEDS_ECN`).
    let needs_it = ["dctcp", "prague"];
    if traffic
        .cc
        .as_deref()
        .is_some_and(|cc| needs_it.contains(&cc))
    {
        return true;
    }
    let client = if traffic.tool.is_pulled() {
        setup.sink_of(traffic)
    } else {
        setup.source_of(traffic)
    };
    let Some(host) = setup.hosts.get(client) else {
        return false;
    };
    let setting = kernel_of(setup, host).sysctl.remove(TCP_ECN);
    setting.is_some_and(|value| ["1", "3", "4", "5"].contains(&value.as_str()))
}
