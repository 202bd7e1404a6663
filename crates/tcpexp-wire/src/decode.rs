//! From the bytes of a record to a packet.

use crate::ip::Datagram;
use crate::unread::Unread;
use crate::{LinkType, Packet, Skipped, Tunnels, ip, link, transport, tunnel};

/// Tunnels in tunnels that are followed; real networks have two or three.
const MAX_TUNNELS: usize = 8;

/// The packet in one record: `captured` bytes of a frame that had `wire_bytes` on the wire.
///
/// Never panics, whatever the bytes. What a capture cut off is missing at the end and changes
/// nothing before it: the fields are those of the whole packet as long as the fixed TCP header (20
/// bytes) or the UDP header (8 bytes) is there. A `wire_bytes` below `captured.len()` is ignored.
///
/// Lengths come from the IP header, so link padding is not payload. The IP header is believed even
/// if it says more than `wire_bytes`, because tools that shorten captures often rewrite the latter.
/// The other way round, a length of zero in the IP header is replaced by its jumbo payload option
/// (RFC 2675), or else by what the frame has left: senders' own captures show it so where the
/// interface cuts up the segment later. Then a trailer of the frame counts as payload.
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
    // What nearly every record holds, TCP in IP on Ethernet with nothing in between, is told apart
    // from the rest: without a result to hand from one header to the next it takes half the time.
    if link == LinkType::ETHERNET {
        match link::plain_ethernet(Unread::new(captured, wire_bytes)) {
            Some(Datagram::V4(unread)) => {
                if let Ok(ip) = ip::v4_header(unread)
                    && let Some(header) = transport::whole_tcp(&ip)
                {
                    return Ok(transport::whole_segment(&ip, &header));
                }
            }
            Some(Datagram::V6(unread)) => {
                if let Ok(ip) = ip::v6_header(unread)
                    && let Some(header) = transport::whole_tcp(&ip)
                {
                    return Ok(transport::whole_segment(&ip, &header));
                }
            }
            None => {}
        }
    }
    any(link, captured, wire_bytes, tunnels)
}

/// The packet in a record of any kind.
#[inline(never)]
fn any(
    link: LinkType,
    captured: &[u8],
    wire_bytes: u32,
    tunnels: Tunnels,
) -> Result<Packet<'_>, Skipped> {
    const ICMP: u8 = 1;
    const IPV4: u8 = 4;
    const UDP: u8 = 17;
    const IPV6: u8 = 41;
    const GRE: u8 = 47;
    const ESP: u8 = 50;
    const ICMPV6: u8 = 58;

    let mut datagram = link::datagram(link, Unread::new(captured, wire_bytes))?;
    for _ in 0..=MAX_TUNNELS {
        let ip = datagram.read()?;
        datagram = match ip.protocol {
            transport::TCP => return transport::tcp(&ip),
            UDP => {
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
            ICMP | ICMPV6 => return Err(Skipped::Icmp),
            ESP => return Err(Skipped::Encrypted),
            _ => return Err(Skipped::OtherTransport),
        };
    }
    Err(Skipped::NestedTooDeep)
}
