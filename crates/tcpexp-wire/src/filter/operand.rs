//! The address, port or protocol that a condition names.

use std::net::Ipv6Addr;

use super::address::{ether_address, ipv4};
use super::cursor::Cursor;
use super::error::{FilterError, FilterProblem};
use super::frame::{IPV4, IPV6, WITH_PORTS};
use super::protocol::{Protocol, protocol};
use super::test::{Side, Test};
use super::words::number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
}

/// The words before an address or number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Qualifiers {
    pub(super) protocol: Option<Protocol>,
    pub(super) side: Side,
    pub(super) kind: Kind,
}

/// Reads the operand of `qualifiers`.
pub(super) fn operand(
    cursor: &mut Cursor<'_>,
    qualifiers: Qualifiers,
) -> Result<Test, FilterError> {
    match qualifiers.kind {
        Kind::Host | Kind::Net => address(cursor, qualifiers),
        Kind::Port | Kind::PortRange => ports(cursor, qualifiers),
        Kind::Proto => proto(cursor, qualifiers),
    }
}

fn address(cursor: &mut Cursor<'_>, qualifiers: Qualifiers) -> Result<Test, FilterError> {
    let Qualifiers {
        protocol,
        side,
        kind,
    } = qualifiers;
    let word = cursor.word(FilterProblem::Address)?;
    if protocol == Some(Protocol::Ether) {
        if kind == Kind::Net {
            return Err(cursor.wrong(FilterProblem::Misplaced));
        }
        let address = ether_address(word);
        let address = address.ok_or_else(|| cursor.wrong(FilterProblem::EtherAddress))?;
        cursor.step();
        return Ok(Test::Ether { address, side });
    }
    if let Some((address, bits)) = ipv4(word).filter(|&(_, bits)| kind == Kind::Net || bits > 8) {
        let ether_type = match protocol {
            None => None,
            Some(Protocol::Network(ether_type)) if ether_type != IPV6 => Some(ether_type),
            Some(_) => return Err(cursor.wrong(FilterProblem::Misplaced)),
        };
        cursor.step();
        let mask = ipv4_mask(cursor, kind, bits)?;
        if address & !mask != 0 {
            return Err(cursor.wrong_before(FilterProblem::HostBits));
        }
        return Ok(Test::V4 {
            ether_type,
            address,
            mask,
            side,
        });
    }
    let Ok(address) = word.parse::<Ipv6Addr>() else {
        return Err(cursor.wrong(FilterProblem::Address));
    };
    if !matches!(protocol, None | Some(Protocol::Network(IPV6))) {
        return Err(cursor.wrong(FilterProblem::Misplaced));
    }
    cursor.step();
    let bits = prefix(cursor, kind, 128)?.unwrap_or(128);
    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    let address = u128::from(address);
    if address & !mask != 0 {
        return Err(cursor.wrong_before(FilterProblem::HostBits));
    }
    Ok(Test::V6 {
        address,
        mask,
        side,
    })
}

/// The mask after an IPv4 address of which `bits` bits are given.
fn ipv4_mask(cursor: &mut Cursor<'_>, kind: Kind, bits: u32) -> Result<u32, FilterError> {
    if kind == Kind::Net && cursor.takes("mask") {
        let mask = ipv4(cursor.word(FilterProblem::Address)?);
        let (mask, _) = mask.ok_or_else(|| cursor.wrong(FilterProblem::Address))?;
        cursor.step();
        return Ok(mask);
    }
    let bits = prefix(cursor, kind, 32)?.unwrap_or(bits);
    Ok(u32::MAX.checked_shl(32 - bits).unwrap_or(0))
}

/// The length of a mask after a slash, up to `max`.
fn prefix(cursor: &mut Cursor<'_>, kind: Kind, max: u32) -> Result<Option<u32>, FilterError> {
    if cursor.peek() == Some("/") && kind != Kind::Net {
        return Err(cursor.wrong(FilterProblem::MaskOfHost));
    }
    if !cursor.takes("/") {
        return Ok(None);
    }
    let bits = cursor.number(u32::MAX)?;
    if bits > max {
        return Err(cursor.wrong_before(FilterProblem::MaskTooLong(max)));
    }
    Ok(Some(bits))
}

fn ports(cursor: &mut Cursor<'_>, qualifiers: Qualifiers) -> Result<Test, FilterError> {
    let protocol = match qualifiers.protocol {
        None => None,
        Some(Protocol::Transport(number, _)) if WITH_PORTS.contains(&number) => Some(number),
        Some(_) => return Err(cursor.wrong(FilterProblem::Misplaced)),
    };
    let is_range = qualifiers.kind == Kind::PortRange;
    let expected = if is_range {
        FilterProblem::PortRange
    } else {
        FilterProblem::Port
    };
    let word = cursor.word(expected)?;
    let (first, last) = match word.split_once('-') {
        Some(ends) if is_range => ends,
        _ => (word, word),
    };
    let port = |text| number(text).ok_or_else(|| cursor.wrong(expected));
    let (first, last) = (port(first)?, port(last)?);
    let limit = |port| {
        u16::try_from(port).map_err(|_| cursor.wrong(FilterProblem::TooLarge(u16::MAX.into())))
    };
    let (first, last) = (limit(first)?, limit(last)?);
    cursor.step();
    Ok(Test::Ports {
        protocol,
        first: first.min(last),
        last: first.max(last),
        side: qualifiers.side,
    })
}

fn proto(cursor: &mut Cursor<'_>, qualifiers: Qualifiers) -> Result<Test, FilterError> {
    /// Smaller values of the field are lengths (IEEE 802.3, section 3.2.6).
    const MIN_TYPE: u32 = 0x0600;
    let word = cursor.word(FilterProblem::Protocol)?;
    let name = word.strip_prefix('\\').and_then(protocol);
    let value = number(word);
    let test = match (qualifiers.protocol, name, value) {
        (Some(Protocol::Ether), Some(Protocol::Network(ether_type)), _) => Test::Type(ether_type),
        (Some(Protocol::Ether), None, Some(value)) => {
            if value < MIN_TYPE {
                return Err(cursor.wrong(FilterProblem::Unsupported));
            }
            let ether_type = u16::try_from(value);
            Test::Type(ether_type.map_err(|_| cursor.wrong(FilterProblem::TooLarge(0xffff)))?)
        }
        (None | Some(Protocol::Network(IPV4 | IPV6)), name, value) => {
            let version = match qualifiers.protocol {
                Some(Protocol::Network(version)) => Some(version),
                _ => None,
            };
            let number = match (name, value) {
                (Some(Protocol::Transport(number, _)), _) => number,
                (None, Some(value)) => {
                    u8::try_from(value).map_err(|_| cursor.wrong(FilterProblem::TooLarge(255)))?
                }
                _ => return Err(cursor.wrong(FilterProblem::Protocol)),
            };
            Test::Protocol { version, number }
        }
        (Some(Protocol::Ether), ..) => return Err(cursor.wrong(FilterProblem::Protocol)),
        (Some(_), ..) => return Err(cursor.wrong(FilterProblem::Misplaced)),
    };
    cursor.step();
    Ok(test)
}
