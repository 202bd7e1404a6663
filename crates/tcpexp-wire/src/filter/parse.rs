//! Parser of filter expressions.

use std::net::Ipv6Addr;

use super::address::{ether_address, ipv4};
use super::compare::{comparison, is_comparison};
use super::cursor::Cursor;
use super::error::{FilterError, FilterProblem};
use super::frame::{IPV4, IPV6, WITH_PORTS};
use super::protocol::{Protocol, protocol};
use super::test::{Expression, Join, Side, Term, Test};
use super::value::{Comparison, Relation, Value};
use super::words::number;

/// Words of pcap-filter that begin conditions outside the supported part.
const UNSUPPORTED: [&str; 25] = [
    "gateway",
    "protochain",
    "mpls",
    "pppoed",
    "pppoes",
    "geneve",
    "vxlan",
    "inbound",
    "outbound",
    "ifindex",
    "ifname",
    "on",
    "iso",
    "clnp",
    "esis",
    "isis",
    "stp",
    "ipx",
    "netbeui",
    "atalk",
    "aarp",
    "decnet",
    "lat",
    "byte",
    "llc",
];

/// Parses an expression; `None` if it is empty.
pub(super) fn parse(text: &str) -> Result<Option<Expression>, FilterError> {
    let mut parser = Parser {
        cursor: Cursor::new(text)?,
        tags: 0,
        qualifiers: None,
    };
    if parser.cursor.peek().is_none() {
        return Ok(None);
    }
    let expression = parser.expression()?;
    match parser.cursor.peek() {
        None => Ok(Some(expression)),
        Some(_) => Err(parser.cursor.wrong(FilterProblem::Operator)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
}

/// The words before an address or number.
#[derive(Clone, Copy, Debug)]
struct Qualifiers {
    protocol: Option<Protocol>,
    side: Side,
    kind: Kind,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// Number of `vlan` conditions so far. Each moves all later conditions behind one tag.
    tags: usize,
    /// The qualifiers that an address without its own takes over.
    qualifiers: Option<Qualifiers>,
}

impl Parser<'_> {
    fn expression(&mut self) -> Result<Expression, FilterError> {
        let first = self.term()?;
        let mut rest = Vec::new();
        while let Some(join) = self.join() {
            rest.push((join, self.term()?));
        }
        Ok(Expression { first, rest })
    }

    fn join(&mut self) -> Option<Join> {
        let join = match self.cursor.peek()? {
            "and" | "&&" => Join::And,
            "or" | "||" => Join::Or,
            _ => return None,
        };
        self.cursor.step();
        Some(join)
    }

    fn term(&mut self) -> Result<Term, FilterError> {
        self.cursor.enter()?;
        let term = if self.cursor.takes("!") || self.cursor.takes("not") {
            self.term().map(|term| Term::Not(Box::new(term)))
        } else if self.cursor.peek() == Some("(") && !is_comparison(&self.cursor) {
            self.group()
        } else {
            self.condition()
        };
        self.cursor.leave();
        term
    }

    fn group(&mut self) -> Result<Term, FilterError> {
        self.cursor.step();
        let before = self.qualifiers;
        let inside = self.expression()?;
        self.cursor.expect(")", FilterProblem::Parenthesis)?;
        self.qualifiers = before;
        Ok(Term::Group(Box::new(inside)))
    }

    fn condition(&mut self) -> Result<Term, FilterError> {
        // Only an address passes its qualifiers on.
        let inherited = self.qualifiers.take();
        if is_comparison(&self.cursor) {
            let comparison = comparison(&mut self.cursor)?;
            return Ok(self.test(Test::Compare(comparison)));
        }
        let Some(word) = self.cursor.peek() else {
            return Err(self.cursor.wrong(FilterProblem::Condition));
        };
        if let Some(protocol) = protocol(word) {
            self.cursor.step();
            return self.after_protocol(protocol);
        }
        match word {
            "less" | "greater" => self.length(),
            "vlan" => self.vlan(),
            "broadcast" | "multicast" => self.cast(None),
            _ if UNSUPPORTED.contains(&word) => Err(self.cursor.wrong(FilterProblem::Unsupported)),
            _ => match self.head(None) {
                Some(qualifiers) => self.qualified(qualifiers),
                None => self.inherited(inherited),
            },
        }
    }

    /// A condition that begins with a protocol.
    fn after_protocol(&mut self, protocol: Protocol) -> Result<Term, FilterError> {
        if let Some("broadcast" | "multicast") = self.cursor.peek() {
            return self.cast(Some(protocol));
        }
        if let Some(qualifiers) = self.head(Some(protocol)) {
            return self.qualified(qualifiers);
        }
        let test = match protocol {
            Protocol::Ether => return Err(self.cursor.wrong(FilterProblem::Condition)),
            Protocol::Network(ether_type) => Test::Type(ether_type),
            Protocol::Transport(number, version) => Test::Protocol { version, number },
        };
        Ok(self.test(test))
    }

    /// Reads the direction and the type of an address: `src or dst port`.
    fn head(&mut self, protocol: Option<Protocol>) -> Option<Qualifiers> {
        let side = self.side();
        let kind = match self.cursor.peek() {
            Some("host") => Some(Kind::Host),
            Some("net") => Some(Kind::Net),
            Some("port") => Some(Kind::Port),
            Some("portrange") => Some(Kind::PortRange),
            Some("proto") => Some(Kind::Proto),
            _ => None,
        };
        if kind.is_some() {
            self.cursor.step();
        }
        (side.is_some() || kind.is_some()).then_some(Qualifiers {
            protocol,
            side: side.unwrap_or(Side::Either),
            // pcap-filter(7): without a type, `host` is assumed.
            kind: kind.unwrap_or(Kind::Host),
        })
    }

    fn side(&mut self) -> Option<Side> {
        let (side, other) = match self.cursor.peek()? {
            "src" => (Side::Source, "dst"),
            "dst" => (Side::Destination, "src"),
            _ => return None,
        };
        self.cursor.step();
        // `src or dst port 80` is one direction, `src 10.0.0.1 or dst 10.0.0.2` are two conditions.
        if self.cursor.ahead(1) != Some(other) {
            return Some(side);
        }
        Some(match self.join() {
            Some(Join::Or) => {
                self.cursor.step();
                Side::Either
            }
            Some(Join::And) => {
                self.cursor.step();
                Side::Both
            }
            None => side,
        })
    }

    /// The address or number after its qualifiers.
    fn qualified(&mut self, qualifiers: Qualifiers) -> Result<Term, FilterError> {
        self.qualifiers = Some(qualifiers);
        match self.cursor.peek() {
            // `port (80 or 443)` and `port !80`.
            Some("!" | "not" | "(") => self.term(),
            _ => self.named(qualifiers),
        }
    }

    /// An address or number that takes over the qualifiers of the one before: `port 80 or 443`.
    fn inherited(&mut self, inherited: Option<Qualifiers>) -> Result<Term, FilterError> {
        let begins_address = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit() || c == '\\') || word.contains(':')
        };
        match (inherited, self.cursor.peek()) {
            (Some(qualifiers), Some(_)) => {
                self.qualifiers = inherited;
                self.named(qualifiers)
            }
            (None, Some(word)) if begins_address(word) => {
                Err(self.cursor.wrong(FilterProblem::NoType))
            }
            _ => Err(self.cursor.wrong(FilterProblem::Condition)),
        }
    }

    fn named(&mut self, qualifiers: Qualifiers) -> Result<Term, FilterError> {
        let test = match qualifiers.kind {
            Kind::Host | Kind::Net => self.address(qualifiers)?,
            Kind::Port | Kind::PortRange => self.ports(qualifiers)?,
            Kind::Proto => self.proto(qualifiers)?,
        };
        Ok(self.test(test))
    }

    fn address(&mut self, qualifiers: Qualifiers) -> Result<Test, FilterError> {
        let Qualifiers {
            protocol,
            side,
            kind,
        } = qualifiers;
        let word = self.cursor.word(FilterProblem::Address)?;
        if protocol == Some(Protocol::Ether) {
            if kind == Kind::Net {
                return Err(self.cursor.wrong(FilterProblem::Misplaced));
            }
            let address = ether_address(word);
            let address = address.ok_or_else(|| self.cursor.wrong(FilterProblem::EtherAddress))?;
            self.cursor.step();
            return Ok(Test::Ether { address, side });
        }
        if let Some((address, bits)) = ipv4(word).filter(|&(_, bits)| kind == Kind::Net || bits > 8)
        {
            let ether_type = match protocol {
                None => None,
                Some(Protocol::Network(ether_type)) if ether_type != IPV6 => Some(ether_type),
                Some(_) => return Err(self.cursor.wrong(FilterProblem::Misplaced)),
            };
            self.cursor.step();
            let mask = self.ipv4_mask(kind, bits)?;
            if address & !mask != 0 {
                return Err(self.cursor.wrong_before(FilterProblem::HostBits));
            }
            return Ok(Test::V4 {
                ether_type,
                address,
                mask,
                side,
            });
        }
        let Ok(address) = word.parse::<Ipv6Addr>() else {
            return Err(self.cursor.wrong(FilterProblem::Address));
        };
        if !matches!(protocol, None | Some(Protocol::Network(IPV6))) {
            return Err(self.cursor.wrong(FilterProblem::Misplaced));
        }
        self.cursor.step();
        let bits = self.prefix(kind, 128)?.unwrap_or(128);
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        let address = u128::from(address);
        if address & !mask != 0 {
            return Err(self.cursor.wrong_before(FilterProblem::HostBits));
        }
        Ok(Test::V6 {
            address,
            mask,
            side,
        })
    }

    /// The mask after an IPv4 address of which `bits` bits are given.
    fn ipv4_mask(&mut self, kind: Kind, bits: u32) -> Result<u32, FilterError> {
        if kind == Kind::Net && self.cursor.takes("mask") {
            let mask = ipv4(self.cursor.word(FilterProblem::Address)?);
            let (mask, _) = mask.ok_or_else(|| self.cursor.wrong(FilterProblem::Address))?;
            self.cursor.step();
            return Ok(mask);
        }
        let bits = self.prefix(kind, 32)?.unwrap_or(bits);
        Ok(u32::MAX.checked_shl(32 - bits).unwrap_or(0))
    }

    /// The length of a mask after a slash, up to `max`.
    fn prefix(&mut self, kind: Kind, max: u32) -> Result<Option<u32>, FilterError> {
        if self.cursor.peek() == Some("/") && kind != Kind::Net {
            return Err(self.cursor.wrong(FilterProblem::MaskOfHost));
        }
        if !self.cursor.takes("/") {
            return Ok(None);
        }
        let bits = self.cursor.number(u32::MAX)?;
        if bits > max {
            return Err(self.cursor.wrong_before(FilterProblem::MaskTooLong(max)));
        }
        Ok(Some(bits))
    }

    fn ports(&mut self, qualifiers: Qualifiers) -> Result<Test, FilterError> {
        let protocol = match qualifiers.protocol {
            None => None,
            Some(Protocol::Transport(number, _)) if WITH_PORTS.contains(&number) => Some(number),
            Some(_) => return Err(self.cursor.wrong(FilterProblem::Misplaced)),
        };
        let is_range = qualifiers.kind == Kind::PortRange;
        let expected = if is_range {
            FilterProblem::PortRange
        } else {
            FilterProblem::Port
        };
        let word = self.cursor.word(expected)?;
        let (first, last) = match word.split_once('-') {
            Some(ends) if is_range => ends,
            _ => (word, word),
        };
        let port = |text| number(text).ok_or_else(|| self.cursor.wrong(expected));
        let (first, last) = (port(first)?, port(last)?);
        let limit = |port| {
            u16::try_from(port)
                .map_err(|_| self.cursor.wrong(FilterProblem::TooLarge(u16::MAX.into())))
        };
        let (first, last) = (limit(first)?, limit(last)?);
        self.cursor.step();
        Ok(Test::Ports {
            protocol,
            first: first.min(last),
            last: first.max(last),
            side: qualifiers.side,
        })
    }

    fn proto(&mut self, qualifiers: Qualifiers) -> Result<Test, FilterError> {
        /// Smaller values of the field are lengths (IEEE 802.3, section 3.2.6).
        const MIN_TYPE: u32 = 0x0600;
        let word = self.cursor.word(FilterProblem::Protocol)?;
        let name = word.strip_prefix('\\').and_then(protocol);
        let value = number(word);
        let test = match (qualifiers.protocol, name, value) {
            (Some(Protocol::Ether), Some(Protocol::Network(ether_type)), _) => {
                Test::Type(ether_type)
            }
            (Some(Protocol::Ether), None, Some(value)) => {
                if value < MIN_TYPE {
                    return Err(self.cursor.wrong(FilterProblem::Unsupported));
                }
                let ether_type = u16::try_from(value);
                Test::Type(
                    ether_type.map_err(|_| self.cursor.wrong(FilterProblem::TooLarge(0xffff)))?,
                )
            }
            (None | Some(Protocol::Network(IPV4 | IPV6)), name, value) => {
                let version = match qualifiers.protocol {
                    Some(Protocol::Network(version)) => Some(version),
                    _ => None,
                };
                let number = match (name, value) {
                    (Some(Protocol::Transport(number, _)), _) => number,
                    (None, Some(value)) => u8::try_from(value)
                        .map_err(|_| self.cursor.wrong(FilterProblem::TooLarge(255)))?,
                    _ => return Err(self.cursor.wrong(FilterProblem::Protocol)),
                };
                Test::Protocol { version, number }
            }
            (Some(Protocol::Ether), ..) => return Err(self.cursor.wrong(FilterProblem::Protocol)),
            (Some(_), ..) => return Err(self.cursor.wrong(FilterProblem::Misplaced)),
        };
        self.cursor.step();
        Ok(test)
    }

    fn length(&mut self) -> Result<Term, FilterError> {
        let relation = match self.cursor.peek() {
            Some("less") => Relation::LessOrEqual,
            _ => Relation::GreaterOrEqual,
        };
        self.cursor.step();
        let right = Value::Number(self.cursor.number(u32::MAX)?);
        let left = Value::Length;
        Ok(self.test(Test::Compare(Comparison {
            left,
            relation,
            right,
        })))
    }

    fn vlan(&mut self) -> Result<Term, FilterError> {
        const MAX_ID: u32 = 4095;
        self.cursor.step();
        let has_id = self
            .cursor
            .peek()
            .is_some_and(|word| number(word).is_some());
        let id = if has_id {
            // 4095 fits.
            u16::try_from(self.cursor.number(MAX_ID)?).ok()
        } else {
            None
        };
        let term = self.test(Test::Vlan(id));
        self.tags += 1;
        Ok(term)
    }

    fn cast(&mut self, protocol: Option<Protocol>) -> Result<Term, FilterError> {
        let is_broadcast = self.cursor.peek() == Some("broadcast");
        let test = match protocol {
            None | Some(Protocol::Ether) if is_broadcast => Test::Ether {
                address: [0xff; 6],
                side: Side::Destination,
            },
            None | Some(Protocol::Ether) => Test::EtherMulticast,
            Some(Protocol::Network(IPV4)) if !is_broadcast => Test::Ipv4Multicast,
            Some(Protocol::Network(IPV6)) if !is_broadcast => Test::Ipv6Multicast,
            // The broadcast address depends on the mask of the capturing interface.
            Some(Protocol::Network(IPV4)) => {
                return Err(self.cursor.wrong(FilterProblem::Unsupported));
            }
            Some(_) => return Err(self.cursor.wrong(FilterProblem::Misplaced)),
        };
        self.cursor.step();
        Ok(self.test(test))
    }

    /// A condition behind the VLAN tags so far.
    fn test(&self, test: Test) -> Term {
        Term::Test {
            tags: self.tags,
            test,
        }
    }
}
