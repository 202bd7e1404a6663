//! Selection of packets by an expression in the syntax of pcap-filter(7).

mod address;
mod compare;
mod cursor;
mod error;
mod frame;
mod operand;
mod parse;
mod protocol;
mod test;
mod value;
mod words;

use std::fmt;
use std::str::FromStr;

pub use error::{FilterError, FilterProblem};

use crate::LinkType;
use frame::Frame;
use parse::parse;
use test::Expression;

/// A condition on packets, in the syntax of pcap-filter(7), as in `tcpdump -r FILE EXPRESSION`.
///
/// Has `host`, `net`, `port`, `portrange`, `proto`, with `src` and `dst`; the protocols `ether`,
/// `ip`, `ip6`, `arp`, `rarp`, `tcp`, `udp`, `sctp`, `icmp`, `icmp6`, `igmp`, `pim`, `ah`, `esp`
/// and `vrrp`; `vlan`, `broadcast`, `multicast`, `less`, `greater`; comparisons of packet bytes
/// and of `len`, such as `tcp[tcpflags] & tcp-syn != 0`; and `and`, `or`, `not` and parentheses. As
/// in pcap-filter(7), `and` and `or` have equal precedence, and a qualifier holds for the addresses
/// that follow, as in `port 80 or 443`. Names of hosts and ports are not resolved.
///
/// The meaning is that of libpcap for savefiles:
/// - A packet is not selected if the expression needs a byte that was not captured. libpcap's
///   optimiser needs fewer bytes of some expressions, so it selects more of the packets that are cut
///   inside their headers.
/// - Ports in IPv6 are found only if TCP, UDP or SCTP directly follows the fixed header.
/// - `vlan` moves all conditions after it behind the tag: `vlan and port 80`. Without `vlan`, the
///   conditions do not match a tagged packet.
/// - Tunnels are not entered.
///
/// A condition on a header that the link type lacks, such as `ether host` in a cooked capture,
/// matches no packet; libpcap refuses it.
///
/// ```
/// # use etherparse::PacketBuilder;
/// use tcpexp_wire::{Filter, LinkType};
///
/// # let mut frame = Vec::new();
/// # PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
/// #     .tcp(40_000, 5201, 1_000, 65_535).syn().write(&mut frame, &[])?;
/// // `frame` is a SYN from 10.0.0.1:40000 to 10.0.0.2:5201.
/// let filter: Filter = "tcp dst port 5201 and net 10.0.0.0/8".parse()?;
/// assert!(filter.matches(LinkType::ETHERNET, &frame, 54));
///
/// let error = Filter::parse("tcp prot 5201").unwrap_err();
/// assert_eq!(error.to_string(), "at column 5, `prot`: expected and, or, or the end");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    /// `None` for the empty expression, which selects all packets.
    expression: Option<Expression>,
}

impl Filter {
    /// Parses an expression. The empty expression selects all packets.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self {
            text: text.to_owned(),
            expression: parse(text)?,
        })
    }

    /// True if the expression selects this record: `captured` bytes of a frame that had
    /// `wire_bytes` bytes on the wire.
    pub fn matches(&self, link: LinkType, captured: &[u8], wire_bytes: u32) -> bool {
        let frame = Frame::new(link, captured, wire_bytes);
        // A byte beyond the captured part ends the evaluation, even inside `not`.
        self.expression
            .as_ref()
            .is_none_or(|expression| expression.holds(&frame).unwrap_or(false))
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        Filter::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_its_place() {
        for (text, expected) in [
            (
                "tcp prot 80",
                "at column 5, `prot`: expected and, or, or the end",
            ),
            (
                "port http",
                "at column 6, `http`: expected the number of a port",
            ),
            (
                "tcp port 80 or 99999",
                "at column 16, `99999`: expected a number up to 65535",
            ),
            (
                "host example.org",
                "at column 6, `example.org`: expected an IP address; names are not resolved",
            ),
            (
                "10.0.0.1",
                "at column 1, `10.0.0.1`: expected host, net, port or another type before this",
            ),
            (
                "tcp host 10.0.0.1",
                "at column 10, `10.0.0.1`: does not go with the protocol before it",
            ),
            (
                "net 10.0.0.1/8",
                "at column 14, `8`: the address has bits outside its mask",
            ),
            (
                "host 10.0.0.0/8",
                "at column 14, `/`: only a net has a mask: write net before the address",
            ),
            ("(tcp", "at column 5, the end: expected )"),
            (
                "tcp or",
                "at column 7, the end: expected a condition, such as host 10.0.0.1, net \
                 10.0.0.0/8, tcp or port 80",
            ),
            ("mpls 5", "at column 1, `mpls`: not supported here"),
            ("tcp[2:3] = 1", "at column 7, `3`: expected 1, 2 or 4 bytes"),
            ("tcp § udp", "at column 5, `§`: unknown character"),
        ] {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn the_depth_of_an_expression_is_limited() {
        for (start, open) in [("", "("), ("", "not "), ("len = ", "("), ("len = ", "-")] {
            let text = format!("{start}{}", open.repeat(100_000));
            let problem = Filter::parse(&text).unwrap_err().problem;
            assert_eq!(problem, FilterProblem::TooDeep, "{start}{open}");
        }
        let long = format!("len = 1{}", "+1".repeat(100_000));
        let problem = Filter::parse(&long).unwrap_err().problem;
        assert_eq!(problem, FilterProblem::TooDeep);
        // Joins do not nest.
        let ports = vec!["port 80"; 100_000].join(" or ");
        assert!(Filter::parse(&ports).is_ok());
    }

    #[test]
    fn a_byte_that_was_not_captured_selects_nothing() {
        let not_tcp = Filter::parse("not tcp").unwrap();
        assert!(!not_tcp.matches(LinkType::ETHERNET, &[0; 13], 60));
        assert!(not_tcp.matches(LinkType::ETHERNET, &[0; 14], 60));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics_the_parser(text in any::<String>()) {
            let _ = Filter::parse(&text);
        }

        #[test]
        fn arbitrary_words_and_frames_never_panic(
            words in prop::collection::vec(prop::sample::select(vec![
                "tcp", "udp", "ip", "ip6", "ether", "host", "net", "port", "portrange", "proto",
                "src", "dst", "and", "or", "not", "!", "(", ")", "[", "]", ":", "/", "-", "<<",
                "vlan", "less", "len", "=", "10.0.0.1", "::1", "80", "1-2", "0x", "\\tcp",
                "02:00:00:00:00:01", "multicast", "tcpflags", "mask", "4294967295",
            ]), 0..12),
            link in any::<u16>(),
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Ok(filter) = Filter::parse(&words.join(" ")) {
                for link in [LinkType(link), LinkType::ETHERNET, LinkType::LINUX_SLL2] {
                    filter.matches(link, &bytes, 80);
                }
            }
        }
    }
}
