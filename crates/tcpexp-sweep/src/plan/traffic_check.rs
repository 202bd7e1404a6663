//! Checks of `[[traffic]]` that need the hosts, or all entries.

use tcpexp_runs::record::Role;
use toml::Spanned;
use toml::de::DeTable;

use super::error::Fault;
use super::tool::FIRST_PORT;
use super::{Setup, place, processes, together};

/// Bytes of the headers of IPv4 and TCP without options.
const HEADER_BYTES: u32 = 40;

/// Checks all traffic of a setup.
pub(super) fn check(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    if setup.traffic.is_empty() {
        return Err(Fault::new(
            table.span(),
            "expected at least one [[traffic]]",
        ));
    }
    for index in 0..setup.traffic.len() {
        check_one(setup, table, index)?;
    }
    if let Some((index, key, message)) = together::fault(setup) {
        let entry = setup.traffic.get(index).map_or(0, |traffic| traffic.entry);
        let span = place::span(table, &["traffic", &entry.to_string(), key]);
        return Err(Fault::new(span, message));
    }
    check_ports(setup, table)?;
    if let Some((index, message)) = processes::fault(setup) {
        let entry = setup.traffic.get(index).map_or(0, |traffic| traffic.entry);
        let span = place::span(table, &["traffic", &entry.to_string(), "name"]);
        return Err(Fault::new(span, message));
    }
    Ok(())
}

/// Checks one entry, against the hosts and the entries before it.
fn check_one(setup: &Setup, table: &Spanned<DeTable<'_>>, index: usize) -> Result<(), Fault> {
    let traffic = &setup.traffic[index];
    let index_text = traffic.entry.to_string();
    let fault = |key: &str, message: String| {
        let span = place::span(table, &["traffic", &index_text, key]);
        Err(Fault::new(span, message))
    };
    if let Some((key, message)) = traffic.fault() {
        return fault(key, message);
    }
    if setup.traffic[..index]
        .iter()
        .any(|other| other.name == traffic.name && other.entry != traffic.entry)
    {
        return fault(
            "name",
            format!("expected a unique name, found {:?} twice", traffic.name),
        );
    }
    for (key, host) in [
        ("from", setup.source_of(traffic)),
        ("to", setup.sink_of(traffic)),
    ] {
        let known = setup.hosts.get(host);
        if known.is_none_or(|host| host.role == Role::Router) {
            let ends = setup
                .hosts
                .iter()
                .filter(|(_, host)| host.role != Role::Router);
            let names: Vec<_> = ends.map(|(name, _)| name.as_str()).collect();
            let message = format!("expected one of {}, or all", names.join(", "));
            return fault(key, message);
        }
    }
    if setup.source_of(traffic) == setup.sink_of(traffic) {
        return fault("to", "expected a host other than from".to_owned());
    }
    let role = |host: &str| setup.hosts.get(host).map(|host| host.role);
    let (from, to) = (setup.source_of(traffic), setup.sink_of(traffic));
    if role(from) == role(to) {
        let message = format!(
            "expected a host on the other side of the router: {from} and {to} are on the same side"
        );
        return fault("to", message);
    }
    let most = setup
        .prepare
        .mtu
        .map(|mtu| mtu.saturating_sub(HEADER_BYTES));
    if let (Some(mss), Some(most)) = (traffic.mss, most)
        && mss > most
    {
        return fault(
            "mss",
            format!("expected at most {most} bytes with prepare.mtu"),
        );
    }
    Ok(())
}

/// Checks that there are ports for all servers.
fn check_ports(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    // Each server has a port of its own, counted from the first one.
    let instances = setup.traffic.iter().map(|traffic| u64::from(traffic.count));
    let ports = u64::from(u16::MAX - FIRST_PORT) + 1;
    let total: u64 = instances.sum();
    if total > ports {
        let largest = setup.traffic.iter().max_by_key(|traffic| traffic.count);
        let entry = largest.map_or(0, |traffic| traffic.entry);
        let span = place::span(table, &["traffic", &entry.to_string(), "count"]);
        let message = format!("{total} servers need a port each: expected at most {ports} in all");
        return Err(Fault::new(span, message));
    }
    Ok(())
}
