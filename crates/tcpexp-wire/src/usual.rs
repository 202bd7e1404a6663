//! Decodes the usual record: TCP in IP on Ethernet, with nothing between them.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::damage;
use crate::protocol::TCP;
use crate::{Addresses, Packet, Ports, SeqNum, Tcp, TcpFlags, TcpOptions, Transport};

/// Bytes of the fixed TCP header.
const TCP_BYTES: usize = 20;

/// Bytes of an Ethernet header.
const ETHERNET_BYTES: usize = 14;
/// Bytes of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Bytes of the fixed IPv6 header.
const IPV6_BYTES: usize = 40;

/// The headers of a usual record.
#[derive(Clone, Copy)]
pub(crate) enum Usual<'a> {
    V4(Headers<'a, IPV4_BYTES>),
    V6(Headers<'a, IPV6_BYTES>),
}

/// A segment directly after a fixed IP header of `N` bytes.
#[derive(Clone, Copy)]
pub(crate) struct Headers<'a, const N: usize> {
    ip: &'a [u8; N],
    tcp: &'a [u8; TCP_BYTES],
    options: &'a [u8],
    payload: &'a [u8],
    /// Length of the TCP header and the payload.
    segment_bytes: u32,
}

/// Finds the headers of a usual record; `None` for any other record, which may be a packet too.
///
/// Each header has a fixed place, so few checks cover all fields. Checking each header as a separate
/// slice takes more instructions. So does a function call, which would pass the headers through memory.
#[inline(always)]
pub(crate) fn headers(frame: &[u8]) -> Option<Usual<'_>> {
    /// Flag of further fragments, and fragment offset.
    const FRAGMENTED: u16 = 0x3fff;
    let (link, rest) = frame.split_first_chunk::<ETHERNET_BYTES>()?;
    match [link[12], link[13]] {
        [0x08, 0x00] => {
            let (ip, rest) = rest.split_first_chunk()?;
            // Version 4 and no options (RFC 791, section 3.1).
            if ip[0] != 0x45 || ip[9] != TCP || word(ip, 6) & FRAGMENTED != 0 {
                return None;
            }
            // A length of zero has other meanings: see `decode`.
            let segment_bytes = usize::from(word(ip, 2)).checked_sub(IPV4_BYTES)?;
            Headers::new(ip, rest, segment_bytes).map(Usual::V4)
        }
        [0x86, 0xdd] => {
            let (ip, rest) = rest.split_first_chunk()?;
            let segment_bytes = usize::from(word(ip, 4));
            // As above (RFC 8200, section 3).
            if ip[0] >> 4 != 6 || ip[6] != TCP || segment_bytes == 0 {
                return None;
            }
            Headers::new(ip, rest, segment_bytes).map(Usual::V6)
        }
        _ => None,
    }
}

impl<'a, const N: usize> Headers<'a, N> {
    /// `rest` starts with the TCP header (RFC 9293, section 3.1).
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a part of `headers`")]
    fn new(ip: &'a [u8; N], rest: &'a [u8], segment_bytes: usize) -> Option<Self> {
        // The rest of the record may be link padding.
        let captured = &rest[..rest.len().min(segment_bytes)];
        let (tcp, rest) = captured.split_first_chunk::<TCP_BYTES>()?;
        // `None` for a length below the minimum.
        let options_bytes = (usize::from(tcp[12] >> 4) * 4).checked_sub(TCP_BYTES)?;
        let (options, payload) = rest.split_at_checked(options_bytes)?;
        Some(Self {
            ip,
            tcp,
            options,
            payload,
            segment_bytes: u32::try_from(segment_bytes).ok()?,
        })
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "to hand a packet over in memory takes half as long as to decode it"
    )]
    fn packet(&self, ip: IpFields) -> Packet<'a> {
        let Self { tcp, options, .. } = *self;
        let number = |at: usize| {
            let bytes = [tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]];
            SeqNum(u32::from_be_bytes(bytes))
        };
        let header_bytes = u32::from(tcp[12] >> 4) * 4;
        Packet {
            addresses: ip.addresses,
            ip_id: ip.ip_id,
            ttl: ip.ttl,
            traffic_class: ip.traffic_class,
            ip_bytes: ip.ip_bytes,
            ports: Ports {
                source: word(tcp, 0),
                destination: word(tcp, 2),
            },
            transport: Transport::Tcp(Tcp {
                seq: number(4),
                ack: number(8),
                flags: TcpFlags::from_bits(word(tcp, 12)),
                window: word(tcp, 14),
                checksum: word(tcp, 16),
                urgent: word(tcp, 18),
                options: TcpOptions::new(options),
            }),
            payload_bytes: self.segment_bytes - header_bytes,
            payload: self.payload,
            is_fragment: false,
        }
    }
}

/// Fields of an IP header.
#[derive(Clone, Copy)]
struct IpFields {
    addresses: Addresses,
    ip_id: Option<u16>,
    ttl: u8,
    traffic_class: u8,
    ip_bytes: u32,
}

impl<'a> Headers<'a, IPV4_BYTES> {
    /// True if the total length in the IP header is damaged; `captured` and `wire_bytes` are those of
    /// the frame.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `headers`")]
    pub(crate) fn has_damaged_length(&self, captured: &[u8], wire_bytes: u32) -> bool {
        let frame_bytes = (wire_bytes as usize).max(captured.len());
        let ip_bytes = frame_bytes - ETHERNET_BYTES;
        damage::has_damaged_length(self.ip, ip_bytes)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `packet`")]
    pub(crate) fn packet_v4(&self) -> Packet<'a> {
        let ip = self.ip;
        let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
        self.packet(IpFields {
            addresses: Addresses::V4 {
                source: address(12),
                destination: address(16),
            },
            ip_id: Some(word(ip, 4)),
            ttl: ip[8],
            traffic_class: ip[1],
            ip_bytes: word(ip, 2).into(),
        })
    }
}

impl<'a> Headers<'a, IPV6_BYTES> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `packet`")]
    pub(crate) fn packet_v6(&self) -> Packet<'a> {
        let ip = self.ip;
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&ip[at..at + 16]);
            Ipv6Addr::from(octets)
        };
        self.packet(IpFields {
            addresses: Addresses::V6 {
                source: address(8),
                destination: address(24),
            },
            ip_id: None,
            ttl: ip[7],
            traffic_class: ip[0] << 4 | ip[1] >> 4,
            ip_bytes: u32::from(word(ip, 4)) + 40,
        })
    }
}

#[inline]
fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
