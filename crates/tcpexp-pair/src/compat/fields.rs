//! Bytes that identify a packet, and the hash over them.

use std::net::Ipv4Addr;

use crc::{Algorithm, Crc};
use tcpexp_wire::protocol::{TCP, UDP};

/// CRC-64/Jones as in Redis: reflected, initial value 0, no final inversion.
const CRC_64_JONES: Algorithm<u64> = Algorithm {
    width: 64,
    poly: 0xad93_d235_94c9_35a9,
    init: 0,
    refin: true,
    refout: true,
    xorout: 0,
    check: 0xe9c6_d914_c4b8_d9ca,
    residue: 0,
};

static HASH: Crc<u64> = Crc::<u64>::new(&CRC_64_JONES);

/// Header fields that identify a packet, numbered as in the tool's option `-#`.
///
/// The fields are hashed in this order, not by bit: TCP payload comes before TCP options.
///
/// | bit | bytes |
/// |---|---|
/// | 1, 2 | source, destination address |
/// | 4 | protocol |
/// | 8 | Identification |
/// | 16, 32 | TCP or UDP source, destination port |
/// | 64, 128 | TCP sequence, acknowledgment number |
/// | 256 | TCP data offset, flags, window |
/// | 512 | TCP checksum, urgent pointer |
/// | 8192 | the first 12 bytes after the TCP header |
/// | 16384 | TCP options |
/// | 1024 | UDP length, checksum |
/// | 2048 | the first 12 bytes of UDP payload |
/// | 4096 | the first 20 bytes after the IP header of any other protocol |
///
/// A truncated field is hashed as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldMask(pub u32);

impl Default for FieldMask {
    /// Addresses, protocol, Identification and ports.
    fn default() -> Self {
        Self(63)
    }
}

impl FieldMask {
    /// Hash over the selected fields of `packet`; packets with equal hashes count as the same
    /// packet.
    pub(super) fn id(self, packet: Ipv4) -> u64 {
        let mut digest = HASH.digest();
        let mut add = |bit: u32, field: &[u8]| {
            if self.0 & bit != 0 {
                digest.update(field);
            }
        };
        add(1, clip(packet.captured, 12, 4));
        add(2, clip(packet.captured, 16, 4));
        add(4, clip(packet.captured, 9, 1));
        add(8, clip(packet.captured, 4, 2));

        let rest = packet.after_header();
        if matches!(packet.protocol(), TCP | UDP) {
            add(16, clip(rest, 0, 2));
            add(32, clip(rest, 2, 2));
        }
        match packet.protocol() {
            TCP => {
                // If the data offset is cut off, the options are too, and 20 bytes are the fixed
                // header.
                let header_bytes = rest.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4);
                add(64, clip(rest, 4, 4));
                add(128, clip(rest, 8, 4));
                add(256, clip(rest, 12, 4));
                add(512, clip(rest, 16, 4));
                add(8192, clip(rest, header_bytes, 12));
                add(16384, clip(rest, 20, header_bytes.saturating_sub(20)));
            }
            UDP => {
                add(1024, clip(rest, 4, 4));
                add(2048, clip(packet.without_padding(), 8, 12));
            }
            _ => add(4096, clip(rest, 0, 20)),
        }
        digest.finalize()
    }
}

/// The captured bytes of an IPv4 packet, including at least the fixed header.
#[derive(Clone, Copy)]
pub(super) struct Ipv4<'a> {
    captured: &'a [u8],
    header_bytes: usize,
}

impl<'a> Ipv4<'a> {
    /// `None` if this is not IPv4 or the fixed header is truncated.
    pub(super) fn new(captured: &'a [u8]) -> Option<Self> {
        let version_and_length = *captured.first()?;
        let header_bytes = usize::from(version_and_length & 0xf) * 4;
        (version_and_length >> 4 == 4 && header_bytes >= 20 && captured.len() >= 20).then_some(
            Self {
                captured,
                header_bytes,
            },
        )
    }

    pub(super) fn source(self) -> Ipv4Addr {
        self.address(12)
    }

    pub(super) fn destination(self) -> Ipv4Addr {
        self.address(16)
    }

    fn address(self, at: usize) -> Ipv4Addr {
        let b = &self.captured[at..];
        Ipv4Addr::new(b[0], b[1], b[2], b[3])
    }

    fn protocol(self) -> u8 {
        self.captured[9]
    }

    /// The bytes after the IP header, Ethernet padding included.
    fn after_header(self) -> &'a [u8] {
        &self.captured[self.header_bytes.min(self.captured.len())..]
    }

    /// The bytes after the IP header, without Ethernet padding.
    fn without_padding(self) -> &'a [u8] {
        // The total length is 0 where segmentation offload made a datagram too long for the field.
        match usize::from(u16::from_be_bytes([self.captured[2], self.captured[3]])) {
            0 => self.after_header(),
            total => clip(
                self.after_header(),
                0,
                total.saturating_sub(self.header_bytes),
            ),
        }
    }
}

/// Up to `length` bytes from `start` on.
fn clip(bytes: &[u8], start: usize, length: usize) -> &[u8] {
    let start = start.min(bytes.len());
    &bytes[start..(start + length).min(bytes.len())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL_TCP: u32 = 511 + 512 + 8192 + 16384;

    /// A TCP segment with four bytes of options and six of payload.
    fn segment() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 50, 0xab, 0xcd, 0, 0, 64, TCP, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([
            0x13, 0x88, 0, 80, 1, 1, 1, 1, 2, 2, 2, 2, 0x60, 0x10, 3, 3, 4, 4, 0, 0,
        ]);
        bytes.extend(*b"opts");
        bytes.extend(*b"pay-ld");
        bytes
    }

    fn datagram(payload: &[u8], padding: &[u8]) -> Vec<u8> {
        let total = u8::try_from(28 + payload.len()).unwrap();
        let mut bytes = vec![0x45, 0, 0, total, 0, 0, 0, 0, 64, UDP, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x13, 0x88, 0, 53, 0, total - 20, 7, 7]);
        bytes.extend(payload);
        bytes.extend(padding);
        bytes
    }

    fn id(mask: u32, bytes: &[u8]) -> u64 {
        FieldMask(mask).id(Ipv4::new(bytes).unwrap())
    }

    #[test]
    fn the_hash_is_the_one_redis_uses() {
        assert_eq!(HASH.checksum(b"123456789"), CRC_64_JONES.check);
    }

    #[test]
    fn payload_is_hashed_before_options() {
        assert_eq!(
            id(8192 + 16384, &segment()),
            HASH.checksum(b"pay-ldopts"),
            "though the bit for options comes after the one for payload"
        );
    }

    #[test]
    fn every_selected_field_is_hashed_in_the_documented_order() {
        let bytes = segment();
        let expected = [
            &bytes[12..20],
            &bytes[9..10],
            &bytes[4..6],
            &bytes[20..40],
            b"pay-ldopts",
        ]
        .concat();
        assert_eq!(id(ALL_TCP, &bytes), HASH.checksum(&expected));
        assert_eq!(id(63, &bytes), HASH.checksum(&expected[..15]));
        assert_eq!(FieldMask::default(), FieldMask(63));
    }

    #[test]
    fn fields_changed_by_routers_are_never_hashed() {
        let mut later = segment();
        later[1] = 0x03; // congestion experienced
        later[8] = 60; // time to live
        later[10..12].copy_from_slice(&[9, 9]); // header checksum
        assert_eq!(id(u32::MAX, &later), id(u32::MAX, &segment()));
    }

    #[test]
    fn ports_are_not_hashed_without_a_transport_header() {
        let mut ping = segment();
        ping[9] = 1;
        let mut other = ping.clone();
        other[20] ^= 1;
        assert_eq!(id(63, &ping), id(63, &other));
        assert_ne!(id(63 + 4096, &ping), id(63 + 4096, &other));
    }

    #[test]
    fn ethernet_padding_is_not_udp_payload() {
        assert_eq!(
            id(2111, &datagram(b"hi", b"")),
            id(2111, &datagram(b"hi", b"trailer"))
        );
    }

    #[test]
    fn ethernet_padding_is_hashed_after_a_tcp_header() {
        let mut padded = segment();
        padded.extend([0; 2]);
        assert_ne!(id(8192, &padded), id(8192, &segment()));
    }

    #[test]
    fn a_packet_of_another_ip_version_has_no_identity() {
        let mut bytes = segment();
        bytes[0] = 0x65;
        assert!(Ipv4::new(&bytes).is_none());
    }

    proptest! {
        #[test]
        fn arbitrary_packets_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), mask: u32) {
            if let Some(packet) = Ipv4::new(&bytes) {
                let _ = FieldMask(mask).id(packet);
            }
        }

        #[test]
        fn truncated_packets_never_panic(cut in 20_usize..50, mask: u32) {
            let _ = id(mask, &segment()[..cut]);
        }
    }
}
