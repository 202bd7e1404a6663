//! Flows that have a delay of their own.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_units::TimeDelta;
use thiserror::Error;

use super::{Path, Text};

/// Maximum number of flows per direction with a delay of their own: each takes a number of the
/// range that the plan reserves on dummynet.
pub(crate) const MAX_FLOWS: u32 = 30;

/// Packets with a delay of their own that share the queue with all others.
///
/// All given fields must match. The first matching entry applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowDelay {
    /// Source address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub source: Option<Prefix>,
    /// Destination address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub destination: Option<Prefix>,
    /// Source port of TCP or UDP. Only the first fragment of a packet has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// Destination port of TCP or UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<u16>,
    /// One-way delay, in place of the path's. A round trip has it twice, unless `reverse` lists flows of
    /// its own. The path's loss applies too, and unless the delay is 0, so do its jitter and
    /// reordering.
    #[schemars(with = "Text<TimeDelta>")]
    pub delay: TimeDelta,
}

/// An address prefix: `172.16.10.3`, `172.16.10.0/24`, `fd00::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

/// The text is not an address prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is not an address: expected for example \"172.16.10.3\" or \"172.16.10.0/24\"")]
pub struct PrefixError(String);

impl FlowDelay {
    /// The same flows seen in the other direction.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            delay: self.delay,
        }
    }

    /// True if packets between these hosts match whatever their ports are.
    fn matches_hosts(&self, source: IpAddr, destination: IpAddr) -> bool {
        let has = |prefix: Option<Prefix>, address| {
            prefix.is_none_or(|prefix: Prefix| prefix.contains(address))
        };
        self.source_port.is_none()
            && self.destination_port.is_none()
            && has(self.source, source)
            && has(self.destination, destination)
    }
}

impl Path {
    /// One-way delay of packets between two hosts whose ports no flow names, such as those of ping.
    pub(super) fn delay_between(&self, source: IpAddr, destination: IpAddr) -> TimeDelta {
        let mut flows = self.flows.iter().flatten();
        let flow = flows.find(|flow| flow.matches_hosts(source, destination));
        flow.map_or(self.delay.unwrap_or_default(), |flow| flow.delay)
    }

    /// The longest of the path's one-way delay and those of flows.
    pub(super) fn longest_delay(&self) -> TimeDelta {
        let flows = self.flows.iter().flatten().map(|flow| flow.delay);
        flows.fold(self.delay.unwrap_or_default(), TimeDelta::max)
    }
}

impl Prefix {
    /// True for an IPv6 prefix.
    pub const fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    /// True if an address begins with this prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        // A shift by all bits of an address is none at all.
        let same = |width: u32, differing: u128| {
            let rest = width - u32::from(self.bits);
            differing.checked_shr(rest).unwrap_or(0) == 0
        };
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                same(32, (own.to_bits() ^ other.to_bits()).into())
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => same(128, own.to_bits() ^ other.to_bits()),
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv6() { 128 } else { 32 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        (bits <= most)
            .then_some(Self { address, bits })
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
