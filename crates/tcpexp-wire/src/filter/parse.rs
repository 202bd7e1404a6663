//! Parser of filter expressions.

use super::compare::{comparison, is_comparison};
use super::cursor::Cursor;
use super::error::{FilterError, FilterProblem};
use super::frame::{IPV4, IPV6};
use super::operand::{Kind, Qualifiers, operand};
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
        let test = operand(&mut self.cursor, qualifiers)?;
        Ok(self.test(test))
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
