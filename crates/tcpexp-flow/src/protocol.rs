//! The protocol of a flow.

use std::fmt;
use std::sync::LazyLock;

use tcpexp_wire::protocol::{TCP, UDP};
use tcpexp_wire::{Packet, Transport};

/// Protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Transmission Control Protocol.
    Tcp,
    /// User Datagram Protocol.
    Udp,
    /// Another protocol, by its number in the IP header, which is neither 6 nor 17.
    Other(u8),
}

/// Names of protocols that captures often hold, by number in the IP header: IANA's keywords in lower
/// case, without hyphens.
const NAMES: [(u8, &str); 14] = [
    (1, "icmp"),
    (2, "igmp"),
    (33, "dccp"),
    (46, "rsvp"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "icmpv6"),
    (88, "eigrp"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (132, "sctp"),
    (136, "udplite"),
];

impl Protocol {
    /// Returns the protocol of `packet`.
    #[inline]
    pub const fn of(packet: &Packet<'_>) -> Self {
        match packet.transport {
            Transport::Tcp(_) => Self::Tcp,
            Transport::Udp(_) => Self::Udp,
            Transport::Other(ref other) => Self::Other(other.protocol),
        }
    }

    /// Returns the protocol with this number in the IP header.
    pub const fn from_number(number: u8) -> Self {
        match number {
            TCP => Self::Tcp,
            UDP => Self::Udp,
            number => Self::Other(number),
        }
    }

    /// Returns the protocol with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = (0..=u8::MAX).map(Self::from_number);
        all.find(|protocol| protocol.name() == name)
    }

    /// Returns the number in the IP header.
    #[inline]
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => TCP,
            Self::Udp => UDP,
            Self::Other(number) => number,
        }
    }

    /// Returns the name used in tables: `tcp`, `udp`, `icmp`, …, and `ip-253` for a protocol without a
    /// well-known name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Other(number) => {
                let known = NAMES.iter().find(|(known, _)| *known == number);
                known.map_or(&NUMBERED[usize::from(number)], |(_, name)| name)
            }
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Names of protocols that have none in [`NAMES`].
static NUMBERED: LazyLock<[String; 256]> =
    LazyLock::new(|| std::array::from_fn(|number| format!("ip-{number}")));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_identify_a_protocol() {
        for number in 0..=u8::MAX {
            let protocol = Protocol::from_number(number);
            assert_eq!(protocol.number(), number);
            assert_eq!(Protocol::from_name(protocol.name()), Some(protocol));
        }
        assert_eq!(Protocol::from_name("ip"), None);
    }

    #[test]
    fn protocols_without_a_well_known_name_have_their_number() {
        let names = [3, 27, 253].map(|number| Protocol::Other(number).name());
        assert_eq!(names, ["ip-3", "ip-27", "ip-253"]);
    }
}
