//! Decodes packets of protocols other than TCP and UDP.

use crate::ip::IpPacket;
use crate::protocol::{DCCP, ICMP, ICMPV6, SCTP, UDP_LITE};
use crate::transport::packet as whole_packet;
use crate::{Other, Packet, Ports, Skipped, Transport};

/// Ports of a protocol without ports.
const NO_PORTS: Ports = Ports {
    source: 0,
    destination: 0,
};

/// Length of the header of every ICMP message (RFC 792; RFC 4443): four bytes that all types share, and four whose
/// meaning depends on the type.
const ICMP_HEADER_BYTES: usize = 8;
/// Length of the header of UDP-Lite (RFC 3828, section 3.1).
const UDP_LITE_HEADER_BYTES: usize = 8;

/// What a header holds, and its length.
struct Header {
    /// Bytes before those that identify the packet.
    bytes: usize,
    /// Bytes before the data.
    whole_bytes: usize,
    ports: Ports,
    checksum: u16,
}

/// Decodes the packet of any protocol.
#[cold]
pub(crate) fn packet<'a>(ip: &IpPacket<'a>) -> Result<Packet<'a>, Skipped> {
    let header = match ip.protocol {
        ICMP => icmp(ip, [8, 0])?,
        ICMPV6 => icmp(ip, [128, 129])?,
        SCTP => sctp(ip)?,
        DCCP => dccp(ip)?,
        UDP_LITE => Header {
            ports: ports(&first::<4>(ip)?),
            bytes: 4,
            whole_bytes: UDP_LITE_HEADER_BYTES,
            checksum: 0,
        },
        _ => Header {
            ports: NO_PORTS,
            bytes: 0,
            whole_bytes: 0,
            checksum: 0,
        },
    };
    // A message that ends within its header has no data.
    let before_data = header.whole_bytes.min(ip.payload.wire_bytes);
    let rest = before_data.saturating_sub(header.bytes);
    let other = Other {
        protocol: ip.protocol,
        checksum: header.checksum,
        header_rest_bytes: u32::try_from(rest).expect("at most 255 words of 4 bytes"),
    };
    Ok(whole_packet(
        ip,
        header.ports,
        Transport::Other(other),
        header.bytes,
        ip.payload.wire_bytes,
    ))
}

/// Decodes ICMP (RFC 792) or `ICMPv6` (RFC 4443), whose echo requests and replies have the types
/// `echoes`: type, code, checksum, and the identifier of an echo.
fn icmp(ip: &IpPacket<'_>, echoes: [u8; 2]) -> Result<Header, Skipped> {
    let [kind, _, checksum @ ..]: [u8; 4] = first(ip)?;
    let checksum = u16::from_be_bytes(checksum);
    if !echoes.contains(&kind) {
        return Ok(Header {
            bytes: 4,
            whole_bytes: ICMP_HEADER_BYTES,
            ports: NO_PORTS,
            checksum,
        });
    }
    let [.., high, low]: [u8; 6] = first(ip)?;
    let identifier = u16::from_be_bytes([high, low]);
    Ok(Header {
        bytes: 6,
        whole_bytes: ICMP_HEADER_BYTES,
        ports: Ports {
            source: identifier,
            destination: identifier,
        },
        checksum,
    })
}

/// Decodes the common header of SCTP (RFC 9260, section 3.1): ports, verification tag, checksum.
fn sctp(ip: &IpPacket<'_>) -> Result<Header, Skipped> {
    let header: [u8; 12] = first(ip)?;
    let [.., a, b, c, d] = header;
    Ok(Header {
        bytes: header.len(),
        whole_bytes: header.len(),
        ports: ports(&header),
        checksum: u16::from_be_bytes([a, b]) ^ u16::from_be_bytes([c, d]),
    })
}

/// Decodes DCCP (RFC 4340, section 5.1): ports, and the offset of the data in words of four bytes.
fn dccp(ip: &IpPacket<'_>) -> Result<Header, Skipped> {
    let header: [u8; 5] = first(ip)?;
    let [.., data_offset] = header;
    Ok(Header {
        bytes: 4,
        whole_bytes: 4 * usize::from(data_offset),
        ports: ports(&header),
        checksum: 0,
    })
}

/// The first two fields of a transport header with ports.
fn ports<const BYTES: usize>(header: &[u8; BYTES]) -> Ports {
    Ports {
        source: u16::from_be_bytes([header[0], header[1]]),
        destination: u16::from_be_bytes([header[2], header[3]]),
    }
}

/// The first bytes of the IP payload.
fn first<const BYTES: usize>(ip: &IpPacket<'_>) -> Result<[u8; BYTES], Skipped> {
    if ip.payload.wire_bytes < BYTES {
        return Err(Skipped::MalformedTransport);
    }
    let bytes = ip.payload.captured.first_chunk();
    bytes.copied().ok_or(Skipped::Cut)
}
