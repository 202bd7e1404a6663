//! Checks of flows with a delay of their own that need the hosts.

use std::net::IpAddr;

use netem_ctl::{Bottleneck, Prefix};
use tcpexp_runs::record::Role;
use toml::Spanned;
use toml::de::DeTable;

use super::error::Fault;
use super::{Change, Kind, Setup, place};

/// Refuses flows that no packet can belong to: their delay would silently apply to nothing. Hosts of kind `ssh`
/// may have addresses that the plan does not name.
pub(super) fn check(
    setup: &Setup,
    changes: &[Change],
    table: &Spanned<DeTable<'_>>,
    root: &Spanned<DeTable<'_>>,
) -> Result<(), Fault> {
    if setup.kind == Kind::Ssh {
        return Ok(());
    }
    let hops = setup
        .hops
        .iter()
        .map(|(name, path)| (vec!["hops", name.as_str()], path));
    for (place, path) in std::iter::once((vec!["path"], &setup.path)).chain(hops) {
        if let Some((end, message)) = fault(setup, path) {
            let keys: Vec<&str> = place
                .into_iter()
                .chain(end.iter().map(String::as_str))
                .collect();
            return Err(Fault::new(place::span(table, &keys), message));
        }
    }
    for (index, change) in changes.iter().enumerate() {
        if let Some((_, message)) = fault(setup, &change.path) {
            let span = place::span(root, &["change", &index.to_string()]);
            return Err(Fault::new(span, message));
        }
    }
    Ok(())
}

/// The first address in the flows of a path that covers no host: its key, relative to the table of the path, and
/// the message of the error.
fn fault(setup: &Setup, path: &Bottleneck) -> Option<([String; 4], String)> {
    for (direction, path) in [("forward", &path.forward), ("reverse", &path.reverse)] {
        for (index, flow) in path.flows.iter().flatten().enumerate() {
            let ends = [("source", flow.source), ("destination", flow.destination)];
            let mut others = ends.into_iter().filter_map(|(key, prefix)| {
                prefix
                    .filter(|prefix| !covers_host(setup, prefix))
                    .map(|prefix| (key, prefix))
            });
            if let Some((key, prefix)) = others.next() {
                let keys = [direction, "flows", &index.to_string(), key].map(str::to_owned);
                return Some((keys, expected(setup, &prefix)));
            }
        }
    }
    None
}

fn covers_host(setup: &Setup, prefix: &Prefix) -> bool {
    let mut addresses = setup.hosts.values().filter_map(|host| host.address);
    addresses.any(|address| prefix.contains(address))
}

fn expected(setup: &Setup, prefix: &Prefix) -> String {
    let named = |role| {
        let (name, host) = setup.first(role)?;
        host.address
            .map(|address: IpAddr| format!("{address} of {name}"))
    };
    let known: Vec<String> = [Role::Source, Role::Sink]
        .into_iter()
        .filter_map(named)
        .collect();
    format!(
        "no host has an address in {prefix}: expected an address such as {}",
        known.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::plan::Plan;

    fn plan(kind: &str, flow: &str, more: &str) -> Result<Plan, String> {
        let text = format!(
            "kind = \"{kind}\"\n[path.forward]\nrate = \"2mbit\"\ndelay = \"10ms\"\nbuffer = \"20p\"\nflows = [{{ {flow}, \
             delay = \"40ms\" }}]\n[[traffic]]\nname = \"bulk\"\ntool = \"iperf3\"\nduration = \"5s\"\n{more}"
        );
        Plan::parse(Path::new("plan.toml"), &text).map_err(|error| error.to_string())
    }

    fn refusal(flow: &str) -> String {
        plan("lab", flow, "").unwrap_err()
    }

    #[test]
    fn an_address_of_a_flow_that_covers_no_host_is_refused() {
        let why = "expected an address such as 172.16.10.3 of src1 or 172.16.11.2 of dst1";
        let of = |key: &str, prefix: &str| {
            format!(
                "plan.toml:6: path.forward.flows[1].{key}: no host has an address in {prefix}: {why}"
            )
        };
        assert_eq!(
            refusal("source = \"172.16.10.99\""),
            of("source", "172.16.10.99/32")
        );
        assert_eq!(refusal("source = \"fd00::1\""), of("source", "fd00::1/128"));
        assert_eq!(refusal("destination = \"::/0\""), of("destination", "::/0"));
        for flow in [
            "source = \"172.16.10.3\"",
            "source = \"172.16.10.0/24\"",
            "destination = \"0.0.0.0/0\"",
            "destination_port = 5201",
        ] {
            assert!(plan("netns", flow, "").is_ok(), "{flow}");
        }
    }

    #[test]
    fn an_address_of_a_changed_flow_that_covers_no_host_is_refused() {
        let change = "[[change]]\nat = \"2s\"\nforward.flows = [{ source = \"172.16.10.99\", delay = \"50ms\" }]\n";
        let error = plan("lab", "source = \"172.16.10.3\"", change).unwrap_err();
        assert!(
            error.contains("change[1]: no host has an address in 172.16.10.99/32"),
            "{error}"
        );
    }
}
