//! Decodes IPv4 and IPv6 headers, down to the transport header.

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, err};

use crate::damage;
use crate::protocol::{NO_NEXT_HEADER, TCP, UDP};
use crate::unread::Unread;
use crate::{Addresses, Skipped};

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// Longest packet that Linux leaves to the interface to segment (`GSO_MAX_SIZE`). A record may claim any
/// length.
const LONGEST_SUPER_PACKET_BYTES: usize = 8 * 65_535;

/// An undecoded IP datagram, with the IP version that the layer below declares.
#[derive(Clone, Copy)]
pub(crate) enum Datagram<'a> {
    V4(Unread<'a>),
    V6(Unread<'a>),
}

impl<'a> Datagram<'a> {
    /// Selects the version by the first four bits of the datagram.
    #[inline]
    pub(crate) fn of_any_version(unread: Unread<'a>) -> Result<Self, Skipped> {
        match unread.captured {
            [0x40..=0x4f, ..] => Ok(Self::V4(unread)),
            [0x60..=0x6f, ..] => Ok(Self::V6(unread)),
            [_, ..] => Err(Skipped::MalformedIp),
            [] => Err(Skipped::Cut),
        }
    }

    /// Decodes the IP header and its extensions.
    pub(crate) fn read(self) -> Result<IpPacket<'a>, Skipped> {
        match self {
            Self::V4(unread) => v4(unread),
            Self::V6(unread) => v6(unread),
        }
    }
}

/// Fields of the IP header, and the bytes after it.
pub(crate) struct IpPacket<'a> {
    pub(crate) addresses: Addresses,
    pub(crate) ip_id: Option<u16>,
    pub(crate) ttl: u8,
    pub(crate) traffic_class: u8,
    pub(crate) ip_bytes: usize,
    /// True for the first fragment of a datagram.
    pub(crate) is_fragment: bool,
    /// Protocol number after the last extension header.
    pub(crate) protocol: u8,
    /// The transport header and its payload, without link padding. The length comes from the IP
    /// header, even if the record claims fewer bytes: tools that truncate captures often write the
    /// truncated length into the record, and the receiver used the IP header.
    pub(crate) payload: Unread<'a>,
}

/// Length of a packet that its header does not have, by the `bytes` of its record.
fn super_packet(bytes: usize) -> usize {
    bytes.min(LONGEST_SUPER_PACKET_BYTES)
}

/// Decodes an IPv4 packet, including an authentication header.
fn v4(unread: Unread<'_>) -> Result<IpPacket<'_>, Skipped> {
    let mut ip = v4_header(unread)?;
    if ip.protocol == AUTHENTICATION {
        (ip.protocol, ip.payload) = extension(AUTHENTICATION, ip.payload)?;
    }
    Ok(ip)
}

/// Decodes the IPv4 header.
fn v4_header(unread: Unread<'_>) -> Result<IpPacket<'_>, Skipped> {
    use err::ipv4::HeaderSliceError::{Content, Len};
    let header = Ipv4HeaderSlice::from_slice(unread.captured).map_err(|error| match error {
        Len(_) => Skipped::Cut,
        Content(_) => Skipped::MalformedIp,
    })?;
    let header_bytes = header.slice().len();
    let ip_bytes = match header.total_len() {
        // The sender's own capture of a packet that the interface segments later: the length
        // exceeds the field (BIG TCP), or the driver leaves the field to the hardware.
        0 => super_packet(unread.wire_bytes),
        _ if damage::has_damaged_length(header.slice(), unread.wire_bytes) => {
            super_packet(unread.wire_bytes)
        }
        total => usize::from(total),
    };
    let payload_bytes = ip_bytes
        .checked_sub(header_bytes)
        .ok_or(Skipped::MalformedIp)?;
    if is_unusual(&header) && damage::hides_transport(header.slice()) {
        return Err(Skipped::MalformedIp);
    }
    // A later fragment has no transport header: its payload would be read as ports.
    if header.fragments_offset().value() != 0 {
        return Err(Skipped::LaterFragment);
    }
    Ok(IpPacket {
        addresses: Addresses::V4 {
            source: header.source_addr(),
            destination: header.destination_addr(),
        },
        ip_id: Some(header.identification()),
        ttl: header.ttl(),
        traffic_class: header.slice()[1],
        ip_bytes,
        is_fragment: header.more_fragments(),
        protocol: header.protocol().0,
        payload: unread.skip(header_bytes)?.limit(payload_bytes),
    })
}

/// True if the header has another protocol than TCP or UDP, options, or a fragment offset. One flipped
/// bit in the header of a TCP segment or a UDP datagram can have this result.
fn is_unusual(header: &Ipv4HeaderSlice<'_>) -> bool {
    let is_known = matches!(header.protocol().0, TCP | UDP);
    !is_known || header.ihl() > 5 || header.fragments_offset().value() != 0
}

/// Decodes an IPv6 packet and its extension headers.
fn v6(unread: Unread<'_>) -> Result<IpPacket<'_>, Skipped> {
    let mut ip = v6_header(unread)?;
    loop {
        // Each extension header takes at least 8 bytes, so the loop ends with the packet.
        match ip.protocol {
            FRAGMENT => {
                let identification;
                (ip.protocol, ip.is_fragment, identification, ip.payload) =
                    first_fragment(ip.payload)?;
                ip.ip_id = Some(identification);
            }
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | AUTHENTICATION => {
                (ip.protocol, ip.payload) = extension(ip.protocol, ip.payload)?;
            }
            _ => return Ok(ip),
        }
    }
}

/// Decodes the fixed IPv6 header.
fn v6_header(unread: Unread<'_>) -> Result<IpPacket<'_>, Skipped> {
    use err::ipv6::HeaderSliceError::{Content, Len};
    let header = Ipv6HeaderSlice::from_slice(unread.captured).map_err(|error| match error {
        Len(_) => Skipped::Cut,
        Content(_) => Skipped::MalformedIp,
    })?;
    let header_bytes = header.slice().len();
    let after = unread.skip(header_bytes)?;
    let protocol = header.next_header().0;
    let payload_bytes = match header.payload_length() {
        // The jumbo payload option is in the hop-by-hop header, which directly follows the fixed
        // header (RFC 2675, section 2).
        0 if protocol == HOP_BY_HOP => {
            super_packet(jumbo_payload(after)?.unwrap_or(after.wire_bytes))
        }
        // The rest of the frame is padding.
        0 if protocol == NO_NEXT_HEADER => 0,
        // BIG TCP without the jumbo option, as newer senders pass it to a capture.
        0 => super_packet(after.wire_bytes),
        length => usize::from(length),
    };
    Ok(IpPacket {
        addresses: Addresses::V6 {
            source: header.source_addr(),
            destination: header.destination_addr(),
        },
        ip_id: None,
        ttl: header.hop_limit(),
        traffic_class: header.traffic_class(),
        // A jumbo payload of almost 2^32 bytes would overflow a `usize` of 32 bits.
        ip_bytes: payload_bytes.saturating_add(header_bytes),
        is_fragment: false,
        protocol,
        payload: after.limit(payload_bytes),
    })
}

/// Decodes an extension header of any kind except a fragment header. Returns the kind of the next
/// header and the bytes from there on.
fn extension(kind: u8, payload: Unread<'_>) -> Result<(u8, Unread<'_>), Skipped> {
    let (&[next, length], _) = within(payload, 2)?.take()?;
    let bytes = match kind {
        // Length in 4-byte words, minus two (RFC 4302, section 2.2).
        AUTHENTICATION => (usize::from(length) + 2) * 4,
        // Length in 8-byte words, minus the first (RFC 8200, section 4.3).
        _ => (usize::from(length) + 1) * 8,
    };
    Ok((next, within(payload, bytes)?.skip(bytes)?))
}

/// Returns the next header kind, whether further fragments follow, the low half of the 32-bit
/// identification, and the bytes after a fragment header.
fn first_fragment(payload: Unread<'_>) -> Result<(u8, bool, u16, Unread<'_>), Skipped> {
    let (&[next, _, high, low, _, _, id_high, id_low], rest) = within(payload, 8)?.take()?;
    // The lowest three bits are flags (RFC 8200, section 4.5).
    if u16::from_be_bytes([high, low]) >> 3 != 0 {
        return Err(Skipped::LaterFragment);
    }
    Ok((
        next,
        low & 1 != 0,
        u16::from_be_bytes([id_high, id_low]),
        rest,
    ))
}

/// Returns the length in a jumbo payload option (RFC 2675, section 2), if present.
#[cold]
fn jumbo_payload(hop_by_hop: Unread<'_>) -> Result<Option<usize>, Skipped> {
    const PAD1: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let (_, after) = extension(HOP_BY_HOP, hop_by_hop)?;
    let bytes = hop_by_hop.captured.len() - after.captured.len();
    let mut options = &hop_by_hop.captured[2..bytes];
    loop {
        options = match *options {
            [PAD1, ref rest @ ..] => rest,
            [JUMBO, 4, a, b, c, d, ..] => {
                let length = u32::from_be_bytes([a, b, c, d]);
                return Ok(Some(usize::try_from(length).unwrap_or(usize::MAX)));
            }
            // Unlike in TCP, the length excludes type and length themselves (RFC 8200, section
            // 4.2).
            [_, length, ref rest @ ..] => match rest.get(usize::from(length)..) {
                Some(rest) => rest,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
}

/// Returns `payload` if it has room for a header of `bytes` bytes; otherwise the IP header is
/// malformed.
fn within(payload: Unread<'_>, bytes: usize) -> Result<Unread<'_>, Skipped> {
    if payload.wire_bytes < bytes {
        return Err(Skipped::MalformedIp);
    }
    Ok(payload)
}
