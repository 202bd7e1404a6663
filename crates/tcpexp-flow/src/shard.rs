//! Parts of the flows of a capture, by a hash of their endpoints.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;

use crate::{Flow, Protocol};

/// One of the parts that an analysis is divided into: `2/7` is the second of seven.
///
/// Each flow belongs to one part, which its protocol and its two endpoints determine:
///
/// 1. The key of the flow has 37 bytes: the IP protocol number, then the lower endpoint,
///    then the higher one. An endpoint is the IPv6 address and the port, both in network byte order;
///    an IPv4 address counts as its IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
/// 2. The hash is FNV-1a with 64 bits, followed by the finalizer of `SplitMix64`.
/// 3. The part is the hash modulo the number of parts, plus 1.
///
/// The order of the endpoints makes the hash the same for both directions, and for captures that
/// disagree on the initiator. All connections between the same two endpoints are in one part.
///
/// What belongs to no flow, such as a total over all flows, belongs to the first part.
///
/// ```
/// use tcpexp_flow::{FlowShard, Protocol};
///
/// let shard: FlowShard = "2/7".parse()?;
/// let ends = ["10.0.0.1:40000", "10.0.0.2:5201"].map(|end| end.parse().expect("an endpoint"));
/// assert!(!shard.holds(Protocol::Tcp, ends[0], ends[1]));
/// # Ok::<(), tcpexp_flow::NoShard>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowShard {
    /// From 0.
    index: u32,
    count: NonZeroU32,
}

/// A text that is no [`FlowShard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected I/N, such as 2/7: part I of N, with I from 1 to N")]
pub struct NoShard;

impl FlowShard {
    /// Part `number` of `count`, with `number` from 1 to `count`.
    pub fn new(number: u32, count: u32) -> Option<Self> {
        let count = NonZeroU32::new(count)?;
        let index = number.checked_sub(1)?;
        (index < count.get()).then_some(Self { index, count })
    }

    /// The part of `count` that the flow between these endpoints is in, as in [`holds`](Self::holds).
    pub fn of(count: NonZeroU32, protocol: Protocol, a: SocketAddr, b: SocketAddr) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a remainder is less than its divisor of 32 bits"
        )]
        let index = (hash(protocol, a, b) % u64::from(count.get())) as u32;
        Self { index, count }
    }

    /// Number of this part, from 1.
    pub const fn number(self) -> u32 {
        self.index + 1
    }

    /// Number of all parts.
    pub const fn parts(self) -> NonZeroU32 {
        self.count
    }

    /// [`parts`](Self::parts) as a plain number.
    pub const fn count(self) -> u32 {
        self.count.get()
    }

    /// True for the first part, which also has what belongs to no flow.
    pub const fn is_first(self) -> bool {
        self.index == 0
    }

    /// True if the flow between these endpoints is in this part.
    ///
    /// If a path translates addresses, use the endpoints at the source for both captures.
    pub fn holds(self, protocol: Protocol, a: SocketAddr, b: SocketAddr) -> bool {
        Self::of(self.count, protocol, a, b) == self
    }

    /// True if the flow is in this part.
    pub fn holds_flow(self, flow: &Flow) -> bool {
        self.holds(flow.key.protocol(), flow.initiator(), flow.responder())
    }
}

fn hash(protocol: Protocol, a: SocketAddr, b: SocketAddr) -> u64 {
    // The parameters of the 64-bit FNV-1a by Fowler, Noll and Vo.
    const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let (a, b) = (octets(a), octets(b));
    let key = [protocol.number()]
        .into_iter()
        .chain(a.min(b))
        .chain(a.max(b));
    let hash = key.fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    // The lowest bit of FNV-1a is the parity of the key's lowest bits. Linux gives connections even
    // ports, so without this mixing half of the parts could stay empty.
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

fn octets(end: SocketAddr) -> [u8; 18] {
    let address = match end.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let mut octets = [0; 18];
    octets[..16].copy_from_slice(&address.octets());
    octets[16..].copy_from_slice(&end.port().to_be_bytes());
    octets
}

impl FromStr for FlowShard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let number = |text: &str| {
            // `parse` alone accepts a sign.
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let (part, count) = text.split_once('/').ok_or(NoShard)?;
        let (part, count) = number(part).zip(number(count)).ok_or(NoShard)?;
        Self::new(part, count).ok_or(NoShard)
    }
}

impl fmt::Display for FlowShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number(), self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn ends() -> impl Strategy<Value = SocketAddr> {
        let v4 = any::<(u32, u16)>()
            .prop_map(|(bits, port)| SocketAddr::new(Ipv4Addr::from_bits(bits).into(), port));
        let v6 = any::<(u128, u16)>()
            .prop_map(|(bits, port)| SocketAddr::new(Ipv6Addr::from_bits(bits).into(), port));
        prop_oneof![v4, v6]
    }

    fn parts(count: u32) -> impl Iterator<Item = FlowShard> {
        (1..=count).filter_map(move |number| FlowShard::new(number, count))
    }

    proptest! {
        #[test]
        fn both_directions_of_a_flow_are_in_exactly_one_part(
            a in ends(), b in ends(), is_tcp: bool, count in 1..100_u32,
        ) {
            let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
            let holders = parts(count).filter(|part| part.holds(protocol, a, b)).count();
            prop_assert_eq!(holders, 1);
            for part in parts(count) {
                prop_assert_eq!(part.holds(protocol, a, b), part.holds(protocol, b, a));
            }
        }

        #[test]
        fn a_shard_is_parsed_as_it_is_printed(number in 1..=u32::MAX, more in 0..1_000_u32) {
            let shard = FlowShard::new(number, number.saturating_add(more));
            prop_assert_eq!(shard.map(|shard| shard.to_string().parse()), shard.map(Ok));
        }
    }

    #[test]
    fn hash_is_the_documented_one() {
        // Computed from the documentation by a program in another language.
        let [a, b] = ["10.0.0.1:40000", "10.0.0.2:5201"].map(|end| end.parse().unwrap());
        assert_eq!(hash(Protocol::Tcp, a, b), 0x4990_B623_2862_89B7);
        let [a, b] = ["[2001:db8::2]:443", "[2001:db8::1]:50000"].map(|end| end.parse().unwrap());
        assert_eq!(hash(Protocol::Udp, a, b), 0x48CE_02EE_6F68_454F);
    }

    #[test]
    fn flows_with_consecutive_even_ports_fill_all_parts_alike() {
        for count in [2, 7, 16, 64] {
            let mut flows = vec![0_u32; count as usize];
            let server = "192.0.2.1:443".parse().unwrap();
            for port in (32_768..60_768).step_by(2) {
                let client = SocketAddr::new([198, 51, 100, 7].into(), port);
                for part in parts(count).filter(|part| part.holds(Protocol::Tcp, client, server)) {
                    flows[part.number() as usize - 1] += 1;
                }
            }
            let (least, most) = (flows.iter().min().unwrap(), flows.iter().max().unwrap());
            let mean = 14_000 / count;
            // Six standard deviations of a binomial count.
            let slack = 6 * mean.isqrt();
            assert!(least + slack >= mean && *most <= mean + slack, "{flows:?}");
        }
    }

    #[test]
    fn other_texts_are_not_shards() {
        for wrong in [
            "",
            "1",
            "0/2",
            "3/2",
            "1/0",
            "+1/2",
            "1/ 2",
            "1/2/3",
            "a/b",
            "1/4294967296",
        ] {
            assert_eq!(wrong.parse::<FlowShard>(), Err(NoShard), "{wrong}");
        }
    }
}
