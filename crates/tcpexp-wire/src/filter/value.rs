//! Comparisons of packet bytes: `tcp[tcpflags] & tcp-syn != 0`.

use super::frame::{Frame, IPV6, Undecided};
use crate::protocol::ICMPV6;

/// A number computed from a packet. The arithmetic is that of 32-bit unsigned integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(u32),
    /// Bytes of the frame on the wire.
    Length,
    Bytes {
        header: Header,
        offset: Box<Self>,
        size: Size,
    },
    Negative(Box<Self>),
    Computed(Box<Self>, Operation, Box<Self>),
}

/// Number of bytes of one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    One,
    Two,
    Four,
}

/// The header from which an offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Link,
    /// The header after the link layer, of this `EtherType`.
    Network(u16),
    /// The transport header of this protocol in IPv4.
    Transport(u8),
    /// `ICMPv6` directly after the fixed IPv6 header.
    Icmp6,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Two values and their relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) left: Value,
    pub(super) relation: Relation,
    pub(super) right: Value,
}

impl Comparison {
    /// False if the packet lacks a header that the values use, whatever the relation.
    pub(super) fn holds(&self, frame: &Frame<'_>, tags: usize) -> Result<bool, Undecided> {
        if !self.left.exists(frame, tags)? || !self.right.exists(frame, tags)? {
            return Ok(false);
        }
        let (left, right) = (self.left.of(frame, tags)?, self.right.of(frame, tags)?);
        Ok(match self.relation {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::Less => left < right,
            Relation::LessOrEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterOrEqual => left >= right,
        })
    }
}

impl Value {
    /// True if the packet has all headers of the value.
    fn exists(&self, frame: &Frame<'_>, tags: usize) -> Result<bool, Undecided> {
        Ok(match self {
            Self::Number(_) | Self::Length => true,
            Self::Bytes { header, offset, .. } => {
                offset.exists(frame, tags)? && header.exists(frame, tags)?
            }
            Self::Negative(value) => value.exists(frame, tags)?,
            Self::Computed(left, _, right) => {
                left.exists(frame, tags)? && right.exists(frame, tags)?
            }
        })
    }

    fn of(&self, frame: &Frame<'_>, tags: usize) -> Result<u32, Undecided> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Length => frame.wire_bytes,
            Self::Bytes {
                header,
                offset,
                size,
            } => {
                let offset = usize::try_from(offset.of(frame, tags)?).map_err(|_| Undecided)?;
                let at = header.start(frame, tags)?.checked_add(offset);
                let at = at.ok_or(Undecided)?;
                match size {
                    Size::One => frame.u8(at)?.into(),
                    Size::Two => frame.u16(at)?.into(),
                    Size::Four => frame.u32(at)?,
                }
            }
            Self::Negative(value) => value.of(frame, tags)?.wrapping_neg(),
            Self::Computed(left, operation, right) => {
                let (left, right) = (left.of(frame, tags)?, right.of(frame, tags)?);
                operation.of(left, right).ok_or(Undecided)?
            }
        })
    }
}

impl Operation {
    /// The result; `None` for a division by zero.
    fn of(self, left: u32, right: u32) -> Option<u32> {
        Some(match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide => left.checked_div(right)?,
            Self::Remainder => left.checked_rem(right)?,
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::ShiftLeft => left.checked_shl(right).unwrap_or(0),
            Self::ShiftRight => left.checked_shr(right).unwrap_or(0),
        })
    }
}

impl Header {
    fn exists(self, frame: &Frame<'_>, tags: usize) -> Result<bool, Undecided> {
        Ok(match self {
            Self::Link => true,
            Self::Network(ether_type) => frame.is_type(tags, ether_type)?,
            Self::Transport(protocol) => {
                frame.is_ipv4_protocol(tags, protocol)? && frame.ipv4_transport(tags)?.is_some()
            }
            Self::Icmp6 => {
                frame.is_type(tags, IPV6)? && frame.u8(frame.payload(tags)? + 6)? == ICMPV6
            }
        })
    }

    fn start(self, frame: &Frame<'_>, tags: usize) -> Result<usize, Undecided> {
        match self {
            Self::Link => Ok(0),
            Self::Network(_) => frame.payload(tags),
            Self::Transport(_) => frame.ipv4_transport(tags)?.ok_or(Undecided),
            Self::Icmp6 => Ok(frame.payload(tags)? + 40),
        }
    }
}
