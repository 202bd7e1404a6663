//! What the records of one packet in a capture have in common.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use tcpexp_wire::{Packet, Transport};

/// Number of bytes that are compared after the header fields. TCP options have at most 40 bytes (RFC 9293, section
/// 3.1), and the short header of a QUIC packet at most 25 (RFC 9000, section 17.3.1). In a datagram of Geneve (RFC
/// 8926) with a frame of Ethernet and IPv6, the acknowledgment number of TCP ends at byte 74.
const PREFIX_BYTES: usize = 96;

/// Identifies a packet among the records of one capture.
///
/// The records may have different link headers, such as one with a VLAN tag. If the capture truncates packets,
/// the record with the longer link header has fewer bytes of the packet. So bytes that one of the two records
/// does not have are not compared.
#[derive(Clone, Copy, Debug)]
pub struct RecordIdentity {
    /// Hash of the fields that each usable record has.
    hash: u64,
    /// First captured bytes of the TCP options, or of the payload of other protocols.
    prefix: [u8; PREFIX_BYTES],
    /// Length of `prefix`.
    prefix_bytes: usize,
}

impl RecordIdentity {
    /// Identity of the packet that a record contains.
    pub fn of(packet: &Packet<'_>) -> Self {
        let mut hasher = FixedState::default().build_hasher();
        packet.addresses.source().hash(&mut hasher);
        packet.addresses.destination().hash(&mut hasher);
        packet.ports.source.hash(&mut hasher);
        packet.ports.destination.hash(&mut hasher);
        packet.ip_id.hash(&mut hasher);
        packet.payload_bytes.hash(&mut hasher);
        let captured = match &packet.transport {
            Transport::Tcp(tcp) => {
                (tcp.seq.0, tcp.ack.0).hash(&mut hasher);
                (tcp.flags.bits(), tcp.window).hash(&mut hasher);
                tcp.options.raw()
            }
            Transport::Udp(_) | Transport::Other(_) => packet.payload,
        };
        let compared = &captured[..captured.len().min(PREFIX_BYTES)];
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..compared.len()].copy_from_slice(compared);
        Self {
            prefix,
            prefix_bytes: compared.len(),
            ..Self::of_hash(hasher.finish())
        }
    }

    /// Identity by a hash alone.
    pub const fn of_hash(hash: u64) -> Self {
        Self {
            hash,
            prefix: [0; PREFIX_BYTES],
            prefix_bytes: 0,
        }
    }

    /// Hash of the fields that each record of the packet has.
    #[inline]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// True if both records contain the same packet, as far as both were captured.
    #[inline]
    pub fn agrees(&self, other: &Self) -> bool {
        self.hash == other.hash && self.prefix_agrees(other)
    }

    fn prefix_agrees(&self, other: &Self) -> bool {
        let both = self.prefix_bytes.min(other.prefix_bytes);
        self.prefix[..both] == other.prefix[..both]
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;
    use tcpexp_wire::{LinkType, Tunnels, decode};

    use super::*;

    /// Identity of the only packet of a script, captured up to `snaplen` bytes.
    fn identity(text: &str, snaplen: usize) -> RecordIdentity {
        let (_, frame) = script::packets(text).remove(0);
        let bytes = u32::try_from(frame.len()).unwrap();
        let captured = &frame[..frame.len().min(snaplen)];
        let packet = decode(LinkType::ETHERNET, captured, bytes, Tunnels::Closed);
        RecordIdentity::of(&packet.unwrap())
    }

    #[test]
    fn records_of_a_packet_agree_if_one_is_cut_earlier() {
        let segment = "0.000 > 1:1001(1000) ts 7 3";
        let whole = identity(segment, 1_500);
        // Ethernet, IPv4 and TCP without options take 54 bytes.
        for snaplen in 54..100 {
            assert!(identity(segment, snaplen).agrees(&whole), "{snaplen}");
        }
        let other = identity("0.000 > 1:1001(1000) ts 8 3", 1_500);
        assert!(!other.agrees(&whole));
    }

    #[test]
    fn datagrams_with_different_captured_payload_do_not_agree() {
        let datagram = |number| format!("0.000 > udp 100 num {number} v6");
        let whole = identity(&datagram(1), 1_500);
        let other = identity(&datagram(2), 1_500);
        // Ethernet, IPv6 and UDP take 62 bytes; the first 8 bytes of the payload are the number.
        for snaplen in 62..100 {
            let cut = identity(&datagram(1), snaplen);
            assert!(cut.agrees(&whole), "{snaplen}");
            assert_eq!(cut.agrees(&other), snaplen < 70, "{snaplen}");
        }
    }
}
