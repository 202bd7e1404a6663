//! Conflicts between entries of `[[traffic]]`.

use super::tool::CcChoice;
use super::{Setup, Traffic};

/// Returns the first entry in conflict with another entry: its index, the key and the message.
pub(super) fn fault(setup: &Setup) -> Option<(usize, &'static str, String)> {
    // An entry with a count of 0 does not run, so it conflicts with nothing.
    let runs = |(_, traffic): &(usize, &Traffic)| traffic.count > 0;
    let all = || setup.traffic.iter().enumerate().filter(runs);
    all().find_map(|(index, traffic)| {
        let ports = || port_fault(setup, traffic, all().filter(|(other, _)| *other < index));
        let cc = || cc_fault(setup, traffic, all());
        let (key, message) = ports().or_else(cc)?;
        Some((index, key, message))
    })
}

/// A port that two servers of one host share.
fn port_fault<'a>(
    setup: &Setup,
    traffic: &Traffic,
    earlier: impl Iterator<Item = (usize, &'a Traffic)>,
) -> Option<(&'static str, String)> {
    let taken: Vec<u16> = earlier
        .filter(|(_, other)| server(setup, other) == server(setup, traffic))
        .flat_map(|(_, other)| other.ports())
        .collect();
    let port = traffic.ports().find(|port| taken.contains(port))?;
    let host = server(setup, traffic);
    Some(("port", format!("{port} is already in use on {host}")))
}

/// The host of a tool's server.
fn server<'a>(setup: &'a Setup, traffic: &'a Traffic) -> &'a str {
    if traffic.tool.is_pulled() {
        setup.source_of(traffic)
    } else {
        setup.sink_of(traffic)
    }
}

/// A host-wide congestion control that another generator of the host would use too.
fn cc_fault<'a>(
    setup: &Setup,
    traffic: &Traffic,
    mut all: impl Iterator<Item = (usize, &'a Traffic)>,
) -> Option<(&'static str, String)> {
    let is_of_host = match traffic.tool.cc_choice() {
        CcChoice::Nothing => false,
        CcChoice::Unknown => traffic.cc.is_some(),
        CcChoice::Host => true,
        // Without `cc`, the tool uses the default of its host.
        CcChoice::Tool => traffic.cc.is_none(),
    };
    if !is_of_host {
        return None;
    }
    let host = setup.source_of(traffic);
    let (_, other) = all.find(|(_, other)| {
        let is_set = !other.tool.sets_cc() && other.cc.is_some();
        is_set && setup.source_of(other) == host && other.cc != traffic.cc
    })?;
    let cc = other.cc.as_deref().unwrap_or_default();
    let message = format!(
        "expected cc = {cc:?}, because {} runs on {host} at the same time and cannot set its own",
        other.name
    );
    let key = if traffic.cc.is_some() { "cc" } else { "tool" };
    Some((key, message))
}
