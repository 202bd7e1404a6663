//! Decodes TCP and UDP headers.

use etherparse::{TcpHeader, TcpHeaderSlice, UdpHeaderSlice, err};

use crate::ip::IpPacket;
use crate::{Packet, Ports, SeqNum, Skipped, Tcp, TcpFlags, TcpOptions, Transport, Udp};

/// Decodes the packet of a TCP segment.
pub(crate) fn tcp<'a>(ip: &IpPacket<'a>) -> Result<Packet<'a>, Skipped> {
    use err::tcp::HeaderSliceError::{Content, Len};
    match TcpHeaderSlice::from_slice(ip.payload.captured) {
        Ok(header) => {
            let options = TcpOptions::new(&header.slice()[TcpHeader::MIN_LEN..]);
            Ok(segment(ip, &header, options, header.slice().len()))
        }
        Err(Len(error)) => tcp_cut(ip, error.required_len),
        Err(Content(_)) => Err(Skipped::MalformedTransport),
    }
}

/// Decodes a packet whose TCP header, `header_bytes` long, was captured only in part.
///
/// The fixed part is required, because no later stage can use a segment without window or flags.
/// The options are not.
#[cold]
fn tcp_cut<'a>(ip: &IpPacket<'a>, header_bytes: usize) -> Result<Packet<'a>, Skipped> {
    // The IP header leaves no room for the TCP header, so the missing bytes were never sent.
    if ip.payload.wire_bytes < header_bytes {
        return Err(Skipped::MalformedTransport);
    }
    let (fixed, options) = ip
        .payload
        .captured
        .split_first_chunk()
        .ok_or(Skipped::Cut)?;
    // The parser rejects a header with missing options, so it gets a copy without options.
    let mut fixed: [u8; TcpHeader::MIN_LEN] = *fixed;
    fixed[12] = fixed[12] & 0x0f | 5 << 4;
    let header = TcpHeaderSlice::from_slice(&fixed).map_err(|_| Skipped::MalformedTransport)?;
    Ok(segment(ip, &header, TcpOptions::cut(options), header_bytes))
}

#[inline]
fn segment<'a>(
    ip: &IpPacket<'a>,
    header: &TcpHeaderSlice<'_>,
    options: TcpOptions<'a>,
    header_bytes: usize,
) -> Packet<'a> {
    let bytes = header.slice();
    let tcp = Tcp {
        seq: SeqNum(header.sequence_number()),
        ack: SeqNum(header.acknowledgment_number()),
        flags: TcpFlags::from_bits(u16::from_be_bytes([bytes[12], bytes[13]])),
        window: header.window_size(),
        checksum: header.checksum(),
        urgent: header.urgent_pointer(),
        options,
    };
    let ports = Ports {
        source: header.source_port(),
        destination: header.destination_port(),
    };
    packet(
        ip,
        ports,
        Transport::Tcp(tcp),
        header_bytes,
        ip.payload.wire_bytes,
    )
}

/// Decodes the packet of a UDP datagram.
#[inline]
pub(crate) fn udp<'a>(ip: &IpPacket<'a>) -> Result<Packet<'a>, Skipped> {
    const HEADER_BYTES: usize = 8;
    let wire_bytes = ip.payload.wire_bytes;
    if wire_bytes < HEADER_BYTES {
        return Err(Skipped::MalformedTransport);
    }
    let header = UdpHeaderSlice::from_slice(ip.payload.captured).map_err(|_| Skipped::Cut)?;
    let datagram_bytes = match usize::from(header.length()) {
        // The length exceeds the field (RFC 2675, section 4).
        0 => wire_bytes,
        1..HEADER_BYTES => return Err(Skipped::MalformedTransport),
        // A first fragment carries less than the UDP length.
        length => length.min(wire_bytes),
    };
    let ports = Ports {
        source: header.source_port(),
        destination: header.destination_port(),
    };
    let udp = Udp {
        checksum: header.checksum(),
    };
    Ok(packet(
        ip,
        ports,
        Transport::Udp(udp),
        HEADER_BYTES,
        datagram_bytes,
    ))
}

/// Builds the packet. `transport_bytes` is header plus payload and is at least `header_bytes`.
#[inline]
pub(crate) fn packet<'a>(
    ip: &IpPacket<'a>,
    ports: Ports,
    transport: Transport<'a>,
    header_bytes: usize,
    transport_bytes: usize,
) -> Packet<'a> {
    let captured = ip.payload.captured;
    let end = captured.len().min(transport_bytes);
    Packet {
        addresses: ip.addresses,
        ip_id: ip.ip_id,
        ttl: ip.ttl,
        traffic_class: ip.traffic_class,
        ip_bytes: saturating_u32(ip.ip_bytes),
        ports,
        transport,
        payload_bytes: saturating_u32(transport_bytes.saturating_sub(header_bytes)),
        // A capture that ends within the options has no payload, and `end` is before the header's
        // end.
        payload: captured.get(header_bytes..end).unwrap_or_default(),
        is_fragment: ip.is_fragment,
    }
}

/// Saturates only if the length of a jumbo payload and its header exceeds 4 GiB.
#[inline]
fn saturating_u32(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
