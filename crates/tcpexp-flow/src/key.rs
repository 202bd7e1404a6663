//! Who talks to whom.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tcpexp_wire::{Addresses, Packet, Transport};

/// One connection or packet stream within one run; counts up from 0 in order of first appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which way a packet goes within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the initiator to the responder.
    Forward,
    /// From the responder to the initiator.
    Reverse,
}

impl Direction {
    /// Both, in order of their [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// 0 or 1, for arrays with one place per direction.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
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

/// The transport protocols that make flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Transmission Control Protocol.
    Tcp,
    /// User Datagram Protocol.
    Udp,
}

impl Protocol {
    /// The protocol of `packet`.
    pub const fn of(packet: &Packet<'_>) -> Self {
        match packet.transport {
            Transport::Tcp(_) => Self::Tcp,
            Transport::Udp(_) => Self::Udp,
        }
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A flow's protocol and two endpoints, the same for both directions: the lower endpoint is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKey {
    /// Between two IPv4 endpoints: each is the address in the upper 32 bits and the port below.
    V4 {
        /// Transport protocol.
        protocol: Protocol,
        /// The two endpoints, lower first.
        endpoints: [u64; 2],
    },
    /// Between two IPv6 endpoints.
    V6 {
        /// Transport protocol.
        protocol: Protocol,
        /// The two endpoints, lower first: each is the address in network order and the port.
        // Bytes and not a number: aligned to 16 bytes, every key would be twice as large.
        endpoints: [([u8; 16], u16); 2],
    },
}

/// Whole words at a time: every packet's key is hashed.
impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match *self {
            Self::V4 {
                protocol,
                endpoints: [low, high],
            } => {
                state.write_u64(low ^ (protocol as u64) << 48);
                state.write_u64(high);
            }
            Self::V6 {
                protocol,
                endpoints,
            } => {
                let mut ports = protocol as u64;
                for (address, port) in endpoints {
                    state.write_u128(u128::from_le_bytes(address));
                    ports = ports << 16 | u64::from(port);
                }
                state.write_u64(ports);
            }
        }
    }
}

/// One of the two endpoints of a [`FlowKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The one with the smaller address and port.
    Low,
    /// The other.
    High,
}

impl End {
    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }
}

impl FlowKey {
    /// The key of `packet`'s flow and the end that sent it.
    #[inline]
    pub fn of(packet: &Packet<'_>) -> (Self, End) {
        let protocol = Protocol::of(packet);
        let (from, to) = (packet.ports.source, packet.ports.destination);
        match packet.addresses {
            Addresses::V4 {
                source,
                destination,
            } => {
                let source = u64::from(source.to_bits()) << 16 | u64::from(from);
                let destination = u64::from(destination.to_bits()) << 16 | u64::from(to);
                let (endpoints, sender) = ordered(source, destination);
                (
                    Self::V4 {
                        protocol,
                        endpoints,
                    },
                    sender,
                )
            }
            Addresses::V6 {
                source,
                destination,
            } => {
                let (endpoints, sender) =
                    ordered((source.octets(), from), (destination.octets(), to));
                (
                    Self::V6 {
                        protocol,
                        endpoints,
                    },
                    sender,
                )
            }
        }
    }

    /// Transport protocol.
    pub const fn protocol(&self) -> Protocol {
        match *self {
            Self::V4 { protocol, .. } | Self::V6 { protocol, .. } => protocol,
        }
    }

    /// Address and port of one end.
    pub fn endpoint(&self, end: End) -> SocketAddr {
        match *self {
            Self::V4 { endpoints, .. } => {
                let packed = endpoints[end as usize];
                let address = Ipv4Addr::from_bits((packed >> 16 & 0xFFFF_FFFF) as u32);
                SocketAddr::new(IpAddr::V4(address), (packed & 0xFFFF) as u16)
            }
            Self::V6 { endpoints, .. } => {
                let (address, port) = endpoints[end as usize];
                SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)), port)
            }
        }
    }
}

#[inline]
fn ordered<T: PartialOrd>(source: T, destination: T) -> ([T; 2], End) {
    if source <= destination {
        ([source, destination], End::Low)
    } else {
        ([destination, source], End::High)
    }
}
