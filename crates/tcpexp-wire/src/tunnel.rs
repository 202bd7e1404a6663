//! Tunnels: packets inside packets.

use crate::ip::Datagram;
use crate::unread::Unread;
use crate::{Packet, Skipped, link};

/// Policy for IP-in-IP, GRE and VXLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tunnels {
    /// Skip the packet and count it under the reason of the tunnel.
    #[default]
    Closed,
    /// Use the packet inside.
    Entered,
}

impl Tunnels {
    /// Returns `Ok` if tunnels are entered, otherwise `reason`.
    pub(crate) fn enter(self, reason: Skipped) -> Result<(), Skipped> {
        match self {
            Self::Closed => Err(reason),
            Self::Entered => Ok(()),
        }
    }
}

/// Returns the datagram in a GRE packet (RFC 2784, RFC 2890; RFC 2637 for PPP inside GRE).
pub(crate) fn gre(payload: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;
    let (&[a, b, c, d], mut rest) = payload.take()?;
    let flags = u16::from_be_bytes([a, b]);
    let protocol = u16::from_be_bytes([c, d]);
    let optional = match flags & 0b111 {
        // The routing field of RFC 1701 has a variable length, and RFC 2784 removed it.
        0 if flags & ROUTING == 0 => CHECKSUM | KEY | SEQUENCE,
        // Version 1 is PPTP, which has no checksum (RFC 2637, section 4.1).
        1 => KEY | SEQUENCE | ACKNOWLEDGMENT,
        _ => return Err(Skipped::NotIp),
    };
    // Each optional field is four bytes long.
    let fields = (flags & optional).count_ones() as usize;
    rest = rest.skip(4 * fields)?;
    match protocol {
        0x6558 => link::ethernet(rest),
        0x880b => link::ppp(rest),
        // GRE has no lengths, so no IEEE 802.2 header follows.
        0..0x0600 => Err(Skipped::NotIp),
        _ => link::ether_type(protocol, rest),
    }
}

/// Returns the bytes after the VXLAN header (RFC 7348, section 5), if `udp` has one.
///
/// The port alone is not enough: a datagram to a VXLAN port without a VXLAN header is ordinary UDP,
/// and a datagram cut inside its first 8 bytes gives [`Skipped::Cut`]. Port 8472 is the default of
/// Linux from before the RFC.
pub(crate) fn vxlan<'a>(udp: &Packet<'a>) -> Result<Option<Unread<'a>>, Skipped> {
    const VNI_VALID: u8 = 0x08;
    if !matches!(udp.ports.destination, 4789 | 8472) || udp.payload_bytes < 8 {
        return Ok(None);
    }
    let (&[flags, .., reserved], frame) =
        Unread::new(udp.payload, udp.payload_bytes).take::<8>()?;
    Ok((flags & VNI_VALID != 0 && reserved == 0).then_some(frame))
}
