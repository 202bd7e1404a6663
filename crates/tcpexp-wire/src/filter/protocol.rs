//! Protocols in filter expressions.

use super::frame::{ARP, IPV4, IPV6, RARP};

/// A protocol keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Ether,
    /// The protocol after the link layer.
    Network(u16),
    /// A protocol in IP of this version, or of both versions.
    Transport(u8, Option<u16>),
}

/// The protocol that a keyword names.
pub(super) fn protocol(word: &str) -> Option<Protocol> {
    use Protocol::{Ether, Network, Transport};
    Some(match word {
        "ether" | "link" => Ether,
        "ip" => Network(IPV4),
        "ip6" => Network(IPV6),
        "arp" => Network(ARP),
        "rarp" => Network(RARP),
        "tcp" => Transport(6, None),
        "udp" => Transport(17, None),
        "sctp" => Transport(132, None),
        "pim" => Transport(103, None),
        "ah" => Transport(51, None),
        "esp" => Transport(50, None),
        "icmp" => Transport(1, Some(IPV4)),
        "igmp" => Transport(2, Some(IPV4)),
        "vrrp" => Transport(112, Some(IPV4)),
        "icmp6" => Transport(58, Some(IPV6)),
        _ => return None,
    })
}
