//! Conditions of a filter expression, and their evaluation.

use super::frame::{ARP, Frame, IPV4, IPV6, RARP, Undecided};
use super::value::Comparison;

/// IEEE 802.1Q, 802.1ad and the predecessor of 802.1ad.
const VLAN_TYPES: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Conditions joined by `and` and `or`, which have equal precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) first: Term,
    pub(super) rest: Vec<(Join, Term)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Not(Box<Self>),
    Group(Box<Expression>),
    Test {
        /// Number of VLAN tags before the tested header.
        tags: usize,
        test: Test,
    },
}

/// Which of a packet's two addresses or ports must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
    Either,
    Both,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The `EtherType`.
    Type(u16),
    /// The protocol number in the IP header of one version, or of both if `version` is `None`.
    Protocol {
        version: Option<u16>,
        number: u8,
    },
    /// An IPv4 address in a packet of this type; IP, ARP or RARP if `ether_type` is `None`.
    V4 {
        ether_type: Option<u16>,
        address: u32,
        mask: u32,
        side: Side,
    },
    V6 {
        address: u128,
        mask: u128,
        side: Side,
    },
    /// Port within a range, of one protocol, or of all that have ports.
    Ports {
        protocol: Option<u8>,
        first: u16,
        last: u16,
        side: Side,
    },
    Ether {
        address: [u8; 6],
        side: Side,
    },
    /// The group bit of the Ethernet destination.
    EtherMulticast,
    Ipv4Multicast,
    Ipv6Multicast,
    Vlan(Option<u16>),
    Compare(Comparison),
}

impl Side {
    /// Tests the two sides, source first.
    fn holds(
        self,
        source: impl FnOnce() -> Result<bool, Undecided>,
        destination: impl FnOnce() -> Result<bool, Undecided>,
    ) -> Result<bool, Undecided> {
        match self {
            Self::Source => source(),
            Self::Destination => destination(),
            Self::Either => Ok(source()? || destination()?),
            Self::Both => Ok(source()? && destination()?),
        }
    }
}

impl Expression {
    pub(super) fn holds(&self, frame: &Frame<'_>) -> Result<bool, Undecided> {
        let mut holds = self.first.holds(frame)?;
        for (join, term) in &self.rest {
            // A term that cannot change the result is not evaluated: it might be undecided.
            if holds == (*join == Join::And) {
                holds = term.holds(frame)?;
            }
        }
        Ok(holds)
    }
}

impl Term {
    fn holds(&self, frame: &Frame<'_>) -> Result<bool, Undecided> {
        match self {
            Self::Not(term) => term.holds(frame).map(|holds| !holds),
            Self::Group(expression) => expression.holds(frame),
            Self::Test { tags, test } => test.holds(frame, *tags),
        }
    }
}

impl Test {
    fn holds(&self, frame: &Frame<'_>, tags: usize) -> Result<bool, Undecided> {
        match *self {
            Self::Type(ether_type) => frame.is_type(tags, ether_type),
            Self::Protocol { version, number } => {
                let is_v4 = version != Some(IPV6);
                let is_v6 = version != Some(IPV4);
                Ok(is_v4 && frame.is_ipv4_protocol(tags, number)?
                    || is_v6 && frame.is_ipv6_protocol(tags, number)?)
            }
            Self::V4 {
                ether_type,
                address,
                mask,
                side,
            } => {
                let types = [(IPV4, 12, 16), (ARP, 14, 24), (RARP, 14, 24)];
                for (kind, source, destination) in types {
                    if ether_type.is_none_or(|only| only == kind) && frame.is_type(tags, kind)? {
                        let ip = frame.payload(tags)?;
                        // A mask of 0 needs no byte.
                        let is_at = |at| Ok(mask == 0 || frame.u32(ip + at)? & mask == address);
                        return side.holds(|| is_at(source), || is_at(destination));
                    }
                }
                Ok(false)
            }
            Self::V6 {
                address,
                mask,
                side,
            } => {
                if !frame.is_type(tags, IPV6)? {
                    return Ok(false);
                }
                let ip = frame.payload(tags)?;
                let is_at = |at| frame.is_ipv6_address(ip + at, address, mask);
                side.holds(|| is_at(8), || is_at(24))
            }
            Self::Ports {
                protocol,
                first,
                last,
                side,
            } => {
                let Some(ports) = frame.ports(tags, protocol)? else {
                    return Ok(false);
                };
                let is_at = |at| Ok((first..=last).contains(&frame.u16(at)?));
                side.holds(|| is_at(ports), || is_at(ports + 2))
            }
            Self::Ether { address, side } => {
                let is_at = |at| Ok(frame.bytes(at)? == address);
                Ok(frame.is_ethernet() && side.holds(|| is_at(6), || is_at(0))?)
            }
            Self::EtherMulticast => Ok(frame.is_ethernet() && frame.u8(0)? & 1 == 1),
            Self::Ipv4Multicast => {
                Ok(frame.is_type(tags, IPV4)? && frame.u8(frame.payload(tags)? + 16)? >= 224)
            }
            Self::Ipv6Multicast => {
                Ok(frame.is_type(tags, IPV6)? && frame.u8(frame.payload(tags)? + 24)? == 255)
            }
            Self::Vlan(id) => {
                for ether_type in VLAN_TYPES {
                    if frame.is_type(tags, ether_type)? {
                        return match id {
                            Some(id) => Ok(frame.u16(frame.payload(tags)?)? & 0x0fff == id),
                            None => Ok(true),
                        };
                    }
                }
                Ok(false)
            }
            Self::Compare(ref comparison) => comparison.holds(frame, tags),
        }
    }
}
