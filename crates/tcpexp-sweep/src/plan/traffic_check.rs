//! Checks of `[[traffic]]` that need the hosts, or all entries.

use std::net::IpAddr;

use tcpexp_runs::record::Role;
use tcpexp_units::TimeDelta;
use toml::Spanned;
use toml::de::DeTable;

use super::error::Fault;
use super::tool::FIRST_PORT;
use super::{Kind, Setup, place, processes, together};

/// Bytes of the headers of IPv4 and TCP without options (RFC 6691, section 2).
const HEADER_BYTES: u32 = 40;

/// Bytes of the headers of IPv6 and TCP without options.
const HEADER_BYTES_OF_IPV6: u32 = 60;

/// The MTU of the virtual testbed and of network namespaces, if the plan sets no other.
const TESTBED_MTU: u32 = 1_500;

/// Checks all traffic of a setup.
pub(super) fn check(setup: &Setup, table: &Spanned<DeTable<'_>>) -> Result<(), Fault> {
    if setup.traffic.is_empty() {
        return Err(Fault::new(
            table.span(),
            "expected at least one [[traffic]]",
        ));
    }
    // An entry may be disabled, but a run without any traffic measures nothing.
    if setup.traffic.iter().all(|traffic| traffic.count == 0) {
        let span = place::span(table, &["traffic", "0", "count"]);
        let message = "expected at least 1 in one [[traffic]], found 0 in all";
        return Err(Fault::new(span, message));
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
    // A written count may be 1 in some cells.
    let is_counted = place::is_written(table, &["traffic", &index_text, "count"]);
    if traffic.stagger > TimeDelta::ZERO && !is_counted {
        return fault("stagger", "needs count: there is one instance".to_owned());
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
    match (traffic.mss, most_mss(setup, to)) {
        (Some(mss), Some((most, mtu))) if mss > most => fault(
            "mss",
            format!("expected at most {most} bytes: the MTU is {mtu}"),
        ),
        _ => Ok(()),
    }
}

/// The largest MSS of a connection to a host, and the MTU that it follows from; `None` if the MTU is not known.
fn most_mss(setup: &Setup, to: &str) -> Option<(u32, u32)> {
    let of_testbed = (setup.kind != Kind::Ssh).then_some(TESTBED_MTU);
    let mtu = setup.prepare.mtu.or(of_testbed)?;
    let address = setup.hosts.get(to).and_then(|host| host.address);
    let headers = match address {
        Some(IpAddr::V6(_)) => HEADER_BYTES_OF_IPV6,
        _ => HEADER_BYTES,
    };
    Some((mtu.saturating_sub(headers), mtu))
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
