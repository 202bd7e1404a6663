//! Flow identity: protocol, endpoints and direction.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use foldhash::fast::FixedState;
use tcpexp_wire::{Addresses, Packet};

use crate::Protocol;

/// Number of a connection or packet stream within one run; counts up from 0 in order of first
/// appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Direction of a packet within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the initiator to the responder.
    Forward,
    /// From the responder to the initiator.
    Reverse,
}

impl Direction {
    /// Both directions, in order of their [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// Returns the opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// Index, 0 or 1, into arrays with one element per direction.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A flow's protocol and its two endpoints, lower endpoint first, so that both directions have the
/// same key.
// IPv4 and IPv6 share one layout, because a key is made, hashed and compared for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// The two addresses as integers, upper half first; the upper half of an IPv4 address is 0.
    addresses: [[u64; 2]; 2],
    ports: [u16; 2],
    protocol: Protocol,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

/// Hashes whole words, because a key is hashed for every packet.
impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [low, high] = self.addresses;
        let [low_port, high_port] = self.ports.map(u64::from);
        state.write_u64(low[1]);
        state.write_u64(high[1]);
        // The upper halves of IPv4 addresses are 0: to hash them adds time and no information.
        if self.version == Version::V6 {
            state.write_u64(low[0]);
            state.write_u64(high[0]);
        }
        state.write_u64(
            (self.version as u64) << 40
                | u64::from(self.protocol.number()) << 32
                | low_port << 16
                | high_port,
        );
    }
}

/// One of the two endpoints of a [`FlowKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end with the smaller address and port.
    Low,
    /// The other end.
    High,
}

impl End {
    /// Returns the other end.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }
}

impl FlowKey {
    /// Returns the key of `packet`'s flow and the end that sent it.
    #[inline]
    pub fn of(packet: &Packet<'_>) -> (Self, End) {
        let (from, to) = (packet.ports.source, packet.ports.destination);
        let (source, destination, version, is_low) = match packet.addresses {
            Addresses::V4 {
                source,
                destination,
            } => {
                let [source, destination] = [source, destination].map(|v4| u64::from(v4.to_bits()));
                // One number for address and port is compared at once.
                let is_low = source << 16 | u64::from(from) <= destination << 16 | u64::from(to);
                ([0, source], [0, destination], Version::V4, is_low)
            }
            Addresses::V6 {
                source,
                destination,
            } => {
                let (source, destination) = (halves(source), halves(destination));
                let is_low = (source, from) <= (destination, to);
                (source, destination, Version::V6, is_low)
            }
        };
        let (addresses, ports, sender) = if is_low {
            ([source, destination], [from, to], End::Low)
        } else {
            ([destination, source], [to, from], End::High)
        };
        let key = Self {
            addresses,
            ports,
            protocol: Protocol::of(packet),
            version,
        };
        (key, sender)
    }

    /// Returns the protocol.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the address and port of one end.
    pub fn endpoint(&self, end: End) -> SocketAddr {
        let [upper, lower] = self.addresses[end as usize];
        let address = match self.version {
            Version::V4 => IpAddr::V4(Ipv4Addr::from_bits((lower & 0xFFFF_FFFF) as u32)),
            Version::V6 => IpAddr::V6(Ipv6Addr::from_bits(
                u128::from(upper) << 64 | u128::from(lower),
            )),
        };
        SocketAddr::new(address, self.ports[end as usize])
    }
}

/// Splits an address into halves, upper half first.
#[inline]
fn halves(address: Ipv6Addr) -> [u64; 2] {
    let bits = address.to_bits();
    [(bits >> 64) as u64, (bits & 0xFFFF_FFFF_FFFF_FFFF) as u64]
}

// The hasher's state is fixed, so that two runs over a capture iterate in the same order.
#[inline]
pub(crate) fn hash(key: &FlowKey) -> u64 {
    FixedState::default().hash_one(key)
}
