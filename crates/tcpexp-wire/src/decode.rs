//! Decodes the bytes of a record into a packet.

use crate::ip::Datagram;
use crate::packet::decapsulated;
use crate::unread::Unread;
use crate::usual::Usual;
use crate::{LinkType, Packet, Skipped, Tunnels, link, other, protocol, transport, tunnel, usual};

/// Limit on nested tunnels; real networks nest two or three.
const MAX_TUNNELS: usize = 8;

/// Decodes one record: `captured` bytes of a frame that had `wire_bytes` bytes on the wire.
///
/// Never panics on any input. A truncated record gives the same fields as the whole packet, as long
/// as the record holds the fixed TCP header (20 bytes), the UDP header (8 bytes) or the header of
/// another protocol (see [`Other`](crate::Other)). A `wire_bytes` below `captured.len()` is ignored.
///
/// Lengths come from the IP header, so link padding is not payload. The IP header takes precedence
/// even if its length exceeds `wire_bytes`, because tools that truncate captures often rewrite
/// `wire_bytes`. There is one exception: if the checksum of an IPv4 header is wrong, and would be right
/// with the length of the frame, the length in the header is damaged, and the decoder uses that of the
/// frame. If the IP header holds a length of zero, the decoder uses the jumbo payload option
/// (RFC 2675), or else the rest of the frame: captures at a sender hold a zero length where the
/// interface segments the packet later. In this case a frame trailer counts as payload, and the length
/// is at most 524,280 bytes, the longest packet that Linux leaves to an interface.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "to hand a packet over in memory takes half as long as to decode it"
)]
pub fn decode(
    link: LinkType,
    captured: &[u8],
    wire_bytes: u32,
    tunnels: Tunnels,
) -> Result<Packet<'_>, Skipped> {
    // Builds each packet in its return slot. Moving it there would take a third of all instructions.
    match usual_headers(link, captured, wire_bytes) {
        Some(Usual::V4(headers)) => Ok(headers.packet_v4()),
        Some(Usual::V6(headers)) => Ok(headers.packet_v6()),
        None => any(link, captured, wire_bytes, tunnels),
    }
}

/// Decodes a usual record: TCP in IP on Ethernet, with nothing between them. Returns `None` for any
/// other record, even if it holds a packet.
///
/// A caller that handles usual records in separate code avoids a copy: [`decode`] passes every packet
/// through memory.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `decode`")]
pub fn decode_usual(link: LinkType, captured: &[u8], wire_bytes: u32) -> Option<Packet<'_>> {
    Some(match usual_headers(link, captured, wire_bytes)? {
        Usual::V4(headers) => headers.packet_v4(),
        Usual::V6(headers) => headers.packet_v6(),
    })
}

/// Finds the headers of a usual record whose IP header has a valid length.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `decode`")]
fn usual_headers(link: LinkType, captured: &[u8], wire_bytes: u32) -> Option<Usual<'_>> {
    if link != LinkType::ETHERNET {
        return None;
    }
    let headers = usual::headers(captured)?;
    let is_damaged = match &headers {
        Usual::V4(headers) => headers.has_damaged_length(captured, wire_bytes),
        Usual::V6(_) => false,
    };
    (!is_damaged).then_some(headers)
}

/// Decodes a record of any kind.
#[inline(never)]
fn any(
    link: LinkType,
    captured: &[u8],
    wire_bytes: u32,
    tunnels: Tunnels,
) -> Result<Packet<'_>, Skipped> {
    const IPV4: u8 = 4;
    const IPV6: u8 = 41;
    const GRE: u8 = 47;

    let mut datagram = link::datagram(link, Unread::new(captured, wire_bytes))?;
    // Not-ECT: no header encloses the outermost header.
    let mut outer_class = 0;
    // The outermost datagram is in no tunnel, so the loop runs once more than the limit.
    for _ in 0..=MAX_TUNNELS {
        let mut ip = datagram.read()?;
        ip.traffic_class = decapsulated(outer_class, ip.traffic_class);
        outer_class = ip.traffic_class;
        datagram = match ip.protocol {
            protocol::TCP => return transport::tcp(&ip),
            protocol::UDP => {
                let packet = transport::udp(&ip)?;
                let Some(frame) = tunnel::vxlan(&packet)? else {
                    return Ok(packet);
                };
                tunnels.enter(Skipped::Vxlan)?;
                link::ethernet(frame)?
            }
            IPV4 | IPV6 => {
                tunnels.enter(Skipped::IpInIp)?;
                match ip.protocol {
                    IPV4 => Datagram::V4(ip.payload),
                    _ => Datagram::V6(ip.payload),
                }
            }
            GRE => {
                tunnels.enter(Skipped::Gre)?;
                tunnel::gre(ip.payload)?
            }
            _ => return other::packet(&ip),
        };
    }
    Err(Skipped::NestedTooDeep)
}
