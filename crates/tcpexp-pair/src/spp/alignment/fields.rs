//! The header fields of one packet as comparable numbers.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use foldhash::quality::FixedState;
use tcpexp_wire::{Addresses, Other, Packet, Tcp, Transport, Udp};

/// Number of datagram payload bytes that are compared.
pub(super) const PREFIX_BYTES: usize = 16;

/// The header fields that the path may change, each as a comparable number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) struct FieldValues {
    pub(in crate::spp) is_tcp: bool,
    pub(in crate::spp) source_address: u64,
    pub(in crate::spp) destination_address: u64,
    pub(in crate::spp) source_port: u16,
    pub(in crate::spp) destination_port: u16,
    pub(in crate::spp) ip_id: Option<u16>,
    pub(in crate::spp) ttl: u8,
    /// TCP sequence number; 0 for other protocols, as are the fields below.
    pub(in crate::spp) seq: u32,
    /// TCP acknowledgment number.
    pub(in crate::spp) ack: u32,
    pub(in crate::spp) flags: u16,
    pub(in crate::spp) window: u16,
    pub(in crate::spp) checksum: u16,
    pub(in crate::spp) payload_bytes: u32,
    pub(in crate::spp) timestamps: Option<(u32, u32)>,
    pub(in crate::spp) sack_blocks: u64,
}

impl FieldValues {
    /// The two endpoints, in the same order for both directions.
    pub(super) fn endpoints(&self) -> [(u64, u16); 2] {
        let source = (self.source_address, self.source_port);
        let destination = (self.destination_address, self.destination_port);
        [source.min(destination), source.max(destination)]
    }

    pub(super) fn of(packet: &Packet<'_>) -> Self {
        let (source_address, destination_address) = address_numbers(&packet.addresses);
        let mut fields = Self {
            is_tcp: false,
            source_address,
            destination_address,
            source_port: packet.ports.source,
            destination_port: packet.ports.destination,
            ip_id: packet.ip_id,
            ttl: packet.ttl,
            seq: 0,
            ack: 0,
            flags: 0,
            window: 0,
            checksum: 0,
            payload_bytes: packet.payload_bytes,
            timestamps: None,
            sack_blocks: 0,
        };
        match &packet.transport {
            Transport::Tcp(tcp) => {
                fields.is_tcp = true;
                (fields.seq, fields.ack) = (tcp.seq.0, tcp.ack.0);
                fields.flags = tcp.flags.bits();
                fields.window = tcp.window;
                fields.checksum = tcp.checksum;
                fields.timestamps = tcp.options.timestamps();
                fields.sack_blocks = sack_hash(tcp);
            }
            Transport::Udp(Udp { checksum }) | Transport::Other(Other { checksum, .. }) => {
                fields.checksum = *checksum;
            }
        }
        fields
    }
}

/// Length of a SACK option with one block (RFC 2018, section 3).
const SHORTEST_SACK_BYTES: usize = 10;

/// Hash of a packet's SACK blocks; 0 without any.
#[inline]
pub(in crate::spp) fn sack_hash(tcp: &Tcp<'_>) -> u64 {
    // Most segments hold only the timestamps, and no SACK block fits beside them.
    if tcp.options.raw().len() < SHORTEST_SACK_BYTES || tcp.options.lone_timestamps().is_some() {
        return 0;
    }
    let mut blocks = tcp.options.sack_blocks().peekable();
    if blocks.peek().is_none() {
        return 0;
    }
    let mut hasher = FixedState::default().build_hasher();
    for (left, right) in blocks {
        hasher.write_u64(u64::from(left.0) << 32 | u64::from(right.0));
    }
    hasher.finish()
}

/// Sender and receiver of a datagram.
pub(in crate::spp) type Ends = [(u64, u16); 2];

/// Number of an address, the same at both points: the value of an IPv4 address, or a hash of an
/// IPv6 address outside the IPv4 range.
pub(in crate::spp) fn address_number(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => {
            let mut hasher = FixedState::default().build_hasher();
            hasher.write_u128(v6.to_bits());
            hasher.finish() | 1 << 63
        }
    }
}

fn address_numbers(addresses: &Addresses) -> (u64, u64) {
    (
        address_number(addresses.source()),
        address_number(addresses.destination()),
    )
}

/// Hash of the leading fields that neither routers nor segmentation offload change.
#[inline]
pub(super) fn content_hash(packet: &Packet<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    match &packet.transport {
        Transport::Tcp(tcp) => {
            // A super-packet and its first MTU-sized packet start with the same bytes but end
            // differently, so the hash leaves out the length, PSH and FIN.
            hasher.write_u64(u64::from(tcp.seq.0) << 32 | u64::from(tcp.ack.0));
            hasher.write_u8(u8::from(tcp.flags.syn()) << 1 | u8::from(packet.payload_bytes > 0));
        }
        Transport::Udp(_) | Transport::Other(_) => {
            hasher.write_u32(packet.payload_bytes);
            hasher.write_u16(packet.ip_id.unwrap_or(0));
            // A prefix that only one of the captures holds in full does not identify a packet.
            let expected = PREFIX_BYTES.min(packet.payload_bytes as usize);
            hasher.write(packet.payload.get(..expected).unwrap_or_default());
        }
    }
    hasher.finish()
}

/// Number that a host gives a segment besides the sequence number: the IP ID, or without it the
/// timestamp; 0 without either.
#[inline]
pub(super) fn own_fields(packet: &Packet<'_>, tcp: &Tcp<'_>) -> u32 {
    match packet.ip_id {
        Some(id) if id != 0 => id.into(),
        _ => tcp.options.timestamps().map_or(0, |(tsval, _)| tsval),
    }
}

/// Hash of the fields that a middlebox preserves when it shifts sequence numbers.
#[inline]
pub(super) fn rest_hash(packet: &Packet<'_>, tcp: &Tcp<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let (tsval, tsecr) = tcp.options.timestamps().unwrap_or((0, 0));
    hasher.write_u64(u64::from(tsval) << 32 | u64::from(tsecr));
    hasher.write_u64(
        u64::from(packet.payload_bytes) << 32
            | u64::from(packet.ip_id.unwrap_or(0)) << 16
            | u64::from(tcp.window),
    );
    hasher.write_u16(tcp.flags.bits());
    with_endpoints(hasher.finish(), packet)
}

#[inline]
pub(super) fn with_endpoints(content: u64, packet: &Packet<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u64(content);
    match packet.addresses {
        Addresses::V4 {
            source,
            destination,
        } => {
            hasher.write_u64(u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()));
        }
        Addresses::V6 {
            source,
            destination,
        } => {
            hasher.write_u128(source.to_bits());
            hasher.write_u128(destination.to_bits());
        }
    }
    hasher.write_u32(u32::from(packet.ports.source) << 16 | u32::from(packet.ports.destination));
    hasher.finish()
}
