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
// Few whole words, because a key is made, hashed and compared for every packet.
#[derive(Clone, Copy)]
pub struct FlowKey {
    /// IPv4: the lower address in the upper half of the first word, and the higher address in its
    /// lower half. IPv6: the two halves of the lower address, then those of the higher one.
    addresses: [u64; 4],
    /// From the highest bits on: IP version, protocol number, lower and higher endpoint's port.
    rest: u64,
}

/// Place of the IP version in a key. It is 4 or 6.
const VERSION_SHIFT: u32 = 40;
/// Place of the protocol number in a key.
const PROTOCOL_SHIFT: u32 = 32;
/// Size of a port in bits.
const PORT_BITS: u32 = 16;
/// The IP version of keys with IPv6 addresses.
const IPV6: u64 = 6;

impl PartialEq for FlowKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.addresses, &other.addresses);
        // One branch decides nearly each comparison.
        (a[0] ^ b[0]) | (self.rest ^ other.rest) == 0 && (!self.is_v6() || a[1..] == b[1..])
    }
}

impl Eq for FlowKey {}

impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.addresses[0]);
        // The other words of IPv4 addresses are 0: to hash them adds time and no information.
        if self.is_v6() {
            self.addresses[1..]
                .iter()
                .for_each(|word| state.write_u64(*word));
        }
        state.write_u64(self.rest);
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowKey")
            .field("protocol", &self.protocol())
            .field("low", &self.endpoint(End::Low))
            .field("high", &self.endpoint(End::High))
            .finish()
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
        // Without `map` of arrays, which the compiler does not always inline: two calls for each element.
        let from = u64::from(packet.ports.source);
        let to = u64::from(packet.ports.destination);
        let (addresses, version, [low_port, high_port], is_low) = match packet.addresses {
            Addresses::V4 {
                source,
                destination,
            } => {
                let source = u64::from(source.to_bits());
                let destination = u64::from(destination.to_bits());
                // An address and its port are one number, and to select the smaller one takes no
                // branch, which would be mispredicted at every other packet.
                let (source, destination) =
                    (source << PORT_BITS | from, destination << PORT_BITS | to);
                let (low, high) = (source.min(destination), source.max(destination));
                let addresses = [low >> PORT_BITS << 32 | high >> PORT_BITS, 0, 0, 0];
                let port = u64::from(u16::MAX);
                let ports = [low & port, high & port];
                (addresses, 4, ports, source <= destination)
            }
            Addresses::V6 {
                source,
                destination,
            } => {
                let (source, destination) = (halves(source), halves(destination));
                let is_low = (source, from) <= (destination, to);
                let ([a, b], [c, d], ports) = if is_low {
                    (source, destination, [from, to])
                } else {
                    (destination, source, [to, from])
                };
                ([a, b, c, d], IPV6, ports, is_low)
            }
        };
        let protocol = u64::from(Protocol::of(packet).number());
        let key = Self {
            addresses,
            rest: version << VERSION_SHIFT
                | protocol << PROTOCOL_SHIFT
                | low_port << PORT_BITS
                | high_port,
        };
        (key, if is_low { End::Low } else { End::High })
    }

    /// Returns the protocol.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the protocol number is one byte"
    )]
    pub const fn protocol(&self) -> Protocol {
        Protocol::from_number((self.rest >> PROTOCOL_SHIFT) as u8)
    }

    /// Returns the address and port of one end.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the parts of a word are taken out"
    )]
    pub fn endpoint(&self, end: End) -> SocketAddr {
        let is_low = end == End::Low;
        let address = if self.is_v6() {
            let upper = if is_low { 0 } else { 2 };
            let halves = [upper, upper + 1].map(|half| u128::from(self.addresses[half]));
            IpAddr::V6(Ipv6Addr::from_bits(halves[0] << 64 | halves[1]))
        } else {
            let shift = if is_low { 32 } else { 0 };
            IpAddr::V4(Ipv4Addr::from_bits((self.addresses[0] >> shift) as u32))
        };
        let shift = if is_low { PORT_BITS } else { 0 };
        SocketAddr::new(address, (self.rest >> shift) as u16)
    }

    const fn is_v6(&self) -> bool {
        self.rest >> VERSION_SHIFT == IPV6
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
