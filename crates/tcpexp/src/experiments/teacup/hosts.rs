//! The side of the bottleneck that each host of an experiment is on.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_runs::record::Role;
use tcpexp_units::Timestamp;

use crate::{CaptureOptions, Error, Recording, flows};

/// What a host's capture shows of it.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Its address in the capture; `None` if unknown.
    own: Option<IpAddr>,
    /// Payload bytes from one address to another.
    payload: BTreeMap<(IpAddr, IpAddr), u64>,
    /// Time of the first packet.
    pub(super) first: Option<Timestamp>,
}

impl Host {
    /// Reads a capture. `addresses` are those of the host, or none if they are not known.
    pub(super) fn read(
        name: &str,
        path: &Path,
        addresses: &BTreeSet<IpAddr>,
    ) -> Result<Self, Error> {
        let mut host = Self {
            name: name.to_owned(),
            path: path.to_owned(),
            ..Self::default()
        };
        let recording = Recording::open(path)?;
        flows(&recording, &CaptureOptions::default(), |ended| {
            for one in ended {
                host.take(&one);
            }
            Ok::<_, Error>(())
        })?;
        host.own = host.own_of(addresses);
        Ok(host)
    }

    fn take(&mut self, flow: &ConnectionSummary) {
        let (a, b) = (flow.initiator.ip(), flow.responder.ip());
        for (ends, direction) in [(a, b), (b, a)].into_iter().zip(&flow.directions) {
            *self.payload.entry(ends).or_default() += direction.payload_bytes;
        }
        let first = self.first.get_or_insert(flow.first_at);
        *first = flow.first_at.min(*first);
    }

    /// Returns the host's address: the only known address in the capture or, if none is known, the only
    /// address that takes part in all flows.
    fn own_of(&self, known: &BTreeSet<IpAddr>) -> Option<IpAddr> {
        let ends: BTreeSet<IpAddr> = self.payload.keys().map(|(from, _)| *from).collect();
        let is_in_all = |end: &&IpAddr| {
            self.payload
                .keys()
                .all(|(from, to)| from == *end || to == *end)
        };
        let mut own: Vec<&IpAddr> = ends.intersection(known).collect();
        if known.is_empty() {
            own = ends.iter().filter(is_in_all).collect();
        }
        // Of two hosts that talk to each other only, either address is an end of all flows.
        match own[..] {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn sent(&self) -> u64 {
        let own = self
            .payload
            .iter()
            .filter(|((from, _), _)| Some(*from) == self.own);
        own.map(|(_, bytes)| bytes).sum()
    }

    fn talks_to(&self, other: &Self) -> bool {
        let ends = self.own.zip(other.own);
        ends.is_some_and(|(a, b)| {
            self.payload.contains_key(&(a, b)) || other.payload.contains_key(&(b, a))
        })
    }
}

/// The sides of the hosts: those that exchange packets are on different sides, and the host that sends
/// most payload is a source.
///
/// An error states why the hosts do not form two sides.
pub(super) fn roles(hosts: &[Host]) -> Result<Vec<Role>, String> {
    // Two captures of one path need no addresses: either may be the source.
    if hosts.len() == 2 && hosts.iter().any(|host| host.own.is_none()) {
        return Ok(vec![Role::Source, Role::Sink]);
    }
    let mut roles: Vec<Option<Role>> = vec![None; hosts.len()];
    let mut by_sent: Vec<usize> = (0..hosts.len()).collect();
    by_sent.sort_by_key(|place| std::cmp::Reverse(hosts[*place].sent()));
    for start in by_sent {
        if roles[start].is_some() {
            continue;
        }
        roles[start] = Some(Role::Source);
        let mut open = vec![start];
        while let Some(place) = open.pop() {
            let role = match roles[place] {
                Some(Role::Source) => Role::Sink,
                _ => Role::Source,
            };
            for other in 0..hosts.len() {
                if other == place || !hosts[place].talks_to(&hosts[other]) {
                    continue;
                }
                match roles[other] {
                    None => {
                        roles[other] = Some(role);
                        open.push(other);
                    }
                    Some(known) if known == role => {}
                    Some(_) => {
                        return Err(format!(
                            "its hosts do not form two sides: {} and {} exchange packets with each other and with the same hosts",
                            hosts[place].name, hosts[other].name
                        ));
                    }
                }
            }
        }
    }
    Ok(roles.into_iter().flatten().collect())
}

/// The addresses in the output of `ifconfig` or of Windows' `ipconfig`, without loopback.
pub(super) fn addresses(text: &str) -> BTreeSet<IpAddr> {
    let address = |line: &str| -> Option<IpAddr> {
        let line = line.trim();
        let text = match line.split_once(|c: char| c.is_whitespace()) {
            Some(("inet" | "inet6", rest)) => rest.trim_start_matches("addr:").trim(),
            // `IPv4 Address. . . . : 10.0.0.1`
            _ if line.starts_with("IPv") || line.starts_with("IP Address") => {
                line.split_once(": ")?.1.trim()
            }
            _ => return None,
        };
        let word = text.split([' ', '/', '%', '(']).next()?;
        word.parse().ok()
    };
    text.lines()
        .filter_map(address)
        .filter(|address| !address.is_loopback())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_three_systems() {
        let text = "em1: flags=8843<UP>\n\tinet 172.16.10.60 netmask 0xffffff00 broadcast 172.16.10.255\n\
            eth0  Link encap:Ethernet\n          inet addr:172.16.11.67  Bcast:172.16.11.255\n\
            lo0:\n\tinet 127.0.0.1 netmask 0xff000000\n\tinet6 fe80::1%em1 prefixlen 64\n\
            \u{20}  IPv4 Address. . . . . . . . . . . : 172.16.12.1(Preferred)\n";
        let found: Vec<String> = addresses(text).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["172.16.10.60", "172.16.11.67", "172.16.12.1", "fe80::1"]
        );
    }

    fn host(name: &str, own: &str, peers: &[(&str, u64)]) -> Host {
        let own: IpAddr = own.parse().unwrap();
        let sent = peers
            .iter()
            .map(|(peer, bytes)| ((own, peer.parse().unwrap()), *bytes));
        Host {
            name: name.to_owned(),
            own: Some(own),
            payload: sent.collect(),
            ..Host::default()
        }
    }

    #[test]
    fn hosts_that_exchange_packets_are_on_different_sides() {
        let hosts = [
            host("a", "10.0.1.1", &[("10.0.2.1", 10)]),
            host("b", "10.0.2.1", &[("10.0.1.1", 900), ("10.0.1.2", 900)]),
            host("c", "10.0.1.2", &[("10.0.2.1", 10)]),
        ];
        assert_eq!(
            roles(&hosts).unwrap(),
            [Role::Sink, Role::Source, Role::Sink]
        );
        let ring = [
            host("a", "10.0.1.1", &[("10.0.2.1", 10), ("10.0.3.1", 10)]),
            host("b", "10.0.2.1", &[("10.0.3.1", 900)]),
            host("c", "10.0.3.1", &[]),
        ];
        assert!(roles(&ring).unwrap_err().contains("do not form two sides"));
    }
}
