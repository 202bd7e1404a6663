//! Decodes link layers, down to an IP datagram.

use std::fmt;

use crate::Skipped;
use crate::damage;
use crate::ip::Datagram;
use crate::unread::Unread;

/// Link layer of a record: a `LINKTYPE_` number of the capture file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: an address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without the HDLC address and control bytes.
    pub const PPP: Self = Self(9);
    /// Raw IP as numbered by some BSD systems.
    pub const BSD_RAW: Self = Self(12);
    /// Raw IP as numbered by `OpenBSD`.
    pub const OPENBSD_RAW: Self = Self(14);
    /// PPP or Cisco HDLC in HDLC-like framing.
    pub const PPP_HDLC: Self = Self(50);
    /// Raw IP, either version.
    pub const RAW: Self = Self(101);
    /// `OpenBSD` loopback: an address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, as on the `any` interface.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// True if [`decode`](crate::decode) supports this link type.
    pub const fn is_supported(self) -> bool {
        self.name().is_some()
    }

    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::PPP => "PPP",
            Self::BSD_RAW | Self::OPENBSD_RAW | Self::RAW => "raw IP",
            Self::PPP_HDLC => "PPP in HDLC framing",
            Self::LOOP => "OpenBSD loopback",
            Self::LINUX_SLL => "Linux cooked",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            Self::LINUX_SLL2 => "Linux cooked v2",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("link type {}", self.0)),
        }
    }
}

/// Returns the captured bytes of one frame from the outermost IP header on, link padding included.
///
/// For callers that decode the IP header themselves: the header is not checked, and tunnels are not
/// entered.
pub fn ip_bytes(link: LinkType, captured: &[u8]) -> Result<&[u8], Skipped> {
    match datagram(link, Unread::new(captured, 0))? {
        Datagram::V4(unread) | Datagram::V6(unread) => Ok(unread.captured),
    }
}

/// Length of a frame on the wire by its headers: the link header and the outermost IP datagram, without padding
/// and trailers. For records that have lost the length of their frame.
///
/// Returns the reason why the record has no such length.
pub fn frame_bytes(link: LinkType, captured: &[u8]) -> Result<u32, Skipped> {
    let datagram = datagram(link, Unread::new(captured, 0))?;
    let (Datagram::V4(unread) | Datagram::V6(unread)) = &datagram;
    let link_bytes = captured.len() - unread.captured.len();
    let bytes = link_bytes + datagram.read()?.ip_bytes;
    u32::try_from(bytes).map_err(|_| Skipped::MalformedIp)
}

/// Finds the IP datagram in a record.
#[inline]
pub(crate) fn datagram(link: LinkType, frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    match link {
        LinkType::ETHERNET => ethernet(frame),
        LinkType::RAW | LinkType::BSD_RAW | LinkType::OPENBSD_RAW => {
            Datagram::of_any_version(frame)
        }
        LinkType::IPV4 => Ok(Datagram::V4(frame)),
        LinkType::IPV6 => Ok(Datagram::V6(frame)),
        LinkType::LINUX_SLL => linux_sll(frame),
        LinkType::LINUX_SLL2 => linux_sll2(frame),
        LinkType::NULL | LinkType::LOOP => loopback(frame),
        LinkType::PPP | LinkType::PPP_HDLC => ppp(frame),
        _ => Err(Skipped::UnsupportedLinkType),
    }
}

/// Decodes an Ethernet frame without preamble (IEEE 802.3, section 3).
pub(crate) fn ethernet(frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    let ([.., high, low], rest) = frame.take::<14>()?;
    ether_type(u16::from_be_bytes([*high, *low]), rest)
}

/// Decodes the bytes after an `EtherType`, including further tags.
pub(crate) fn ether_type(
    mut ether_type: u16,
    mut rest: Unread<'_>,
) -> Result<Datagram<'_>, Skipped> {
    loop {
        match ether_type {
            0x0800 => return Ok(Datagram::V4(rest)),
            0x86dd => return Ok(Datagram::V6(rest)),
            // VLAN tags: IEEE 802.1Q, 802.1ad and the predecessor of 802.1ad.
            0x8100 | 0x88a8 | 0x9100 => {
                let ([_, _, high, low], after) = rest.take()?;
                (ether_type, rest) = (u16::from_be_bytes([*high, *low]), after);
            }
            0x8847 | 0x8848 => return mpls(rest),
            // Only PPPoE sessions: 0x8863 is discovery, which carries no IP.
            0x8864 => return pppoe(rest),
            // A value below 0x0600 is a length, not a type (IEEE 802.3, section 3.2.6).
            0..0x0600 => {
                (ether_type, rest) = llc(rest).map_err(|reason| unless_ip(rest, reason))?;
            }
            _ => return Err(unless_ip(rest, Skipped::NotIp)),
        }
    }
}

/// The reason why `rest` is skipped for its type; the type is damaged if an IP header follows.
fn unless_ip(rest: Unread<'_>, reason: Skipped) -> Skipped {
    if damage::is_v4(rest.captured) {
        Skipped::MalformedIp
    } else {
        reason
    }
}

/// Returns the `EtherType` after an IEEE 802.2 header: from SNAP, or from the IPv4 access point.
fn llc(rest: Unread<'_>) -> Result<(u16, Unread<'_>), Skipped> {
    let (access_points, after) = rest.take()?;
    match access_points {
        [0xaa, 0xaa, 0x03] => {
            let (snap, after) = after.take()?;
            match *snap {
                // Zero is RFC 1042, 0000f8 is IEEE 802.1H; other organizations define their own
                // types.
                [0, 0, 0 | 0xf8, high @ 0x06..=0xff, low] => {
                    Ok((u16::from_be_bytes([high, low]), after))
                }
                _ => Err(Skipped::NotIp),
            }
        }
        [0x06, 0x06, 0x03] => Ok((0x0800, after)),
        _ => Err(Skipped::NotIp),
    }
}

/// Decodes a label stack (RFC 3032). Labels do not name the protocol, so the IP version field does.
fn mpls(mut rest: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    loop {
        let ([_, _, label_end, _], after) = rest.take()?;
        rest = after;
        // The lowest bit of the third byte marks the bottom of the stack (RFC 3032, section 2.1).
        if label_end & 1 == 1 {
            break;
        }
    }
    // A first nibble of 0 is a pseudowire control word (RFC 4385); only 4 and 6 are IP. Without a control word, an
    // Ethernet address may begin so too (RFC 8469, section 4).
    if is_pseudowire(rest) {
        return Err(Skipped::NotIp);
    }
    Datagram::of_any_version(rest).map_err(|reason| match reason {
        Skipped::MalformedIp => Skipped::NotIp,
        other => other,
    })
}

/// True if the bytes below a label stack are an Ethernet frame: an IP header is at its place in the frame, and
/// none at its start.
#[cold]
fn is_pseudowire(rest: Unread<'_>) -> bool {
    let Ok(([.., high, low], inner)) = rest.take::<14>() else {
        return false;
    };
    let is_v6 = |unread: Unread<'_>| {
        let header = unread.captured.first_chunk::<40>();
        header.is_some_and(|header| {
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            header[0] >> 4 == 6 && length != 0 && length + 40 <= unread.wire_bytes
        })
    };
    let may_be_ip = || damage::is_v4(rest.captured) || is_v6(rest);
    match u16::from_be_bytes([*high, *low]) {
        // Its checksum outweighs a length in an address that happens to fit.
        0x0800 => damage::is_v4(inner.captured) && !damage::is_v4(rest.captured),
        0x86dd => is_v6(inner) && !may_be_ip(),
        0x8100 | 0x88a8 | 0x9100 => {
            let inner_type = inner.captured.get(2..4);
            matches!(inner_type, Some([0x08, 0x00] | [0x86, 0xdd])) && !may_be_ip()
        }
        // ARP for IPv4 on Ethernet (RFC 826).
        0x0806 => inner.captured.starts_with(&[0, 1, 8, 0]) && !may_be_ip(),
        _ => false,
    }
}

/// Decodes a PPP session over Ethernet (RFC 2516, section 4).
fn pppoe(rest: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    // Type, code, session and length. The length is not needed, because the IP header has its own.
    ppp(rest.skip(6)?)
}

/// Decodes a PPP frame (RFC 1661, RFC 1662) or a Cisco HDLC frame; the first byte distinguishes
/// them.
pub(crate) fn ppp(frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    // The addresses of Cisco HDLC: unicast and broadcast. PPP has the address 0xff or none.
    if let [0x0f | 0x8f, _, ..] = frame.captured {
        let ([_, _, high, low], rest) = frame.take()?;
        return ether_type(u16::from_be_bytes([*high, *low]), rest);
    }
    let frame = match frame.captured {
        [0xff, 0x03, ..] => frame.skip(2)?,
        // 0xff is odd, so it would pass as a compressed protocol field below.
        [0xff] => return Err(Skipped::Cut),
        _ => frame,
    };
    // An odd first byte is the whole protocol field (RFC 1661, section 6.5).
    let (protocol, rest) = match frame.take()? {
        ([low], rest) if low & 1 == 1 => (u16::from(*low), rest),
        ([high], rest) => {
            let ([low], rest) = rest.take()?;
            (u16::from_be_bytes([*high, *low]), rest)
        }
    };
    match protocol {
        0x0021 => Ok(Datagram::V4(rest)),
        0x0057 => Ok(Datagram::V6(rest)),
        // MPLS unicast and multicast (RFC 3032, section 4.3).
        0x0281 | 0x0283 => mpls(rest),
        _ => Err(Skipped::NotIp),
    }
}

/// Decodes a Linux cooked header: packet type, ARP hardware type, address, protocol.
fn linux_sll(frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    let ([.., high, low], rest) = frame.take::<16>()?;
    cooked(u16::from_be_bytes([*high, *low]), rest)
}

/// Decodes a Linux cooked header, version 2: the protocol comes first.
fn linux_sll2(frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    let ([high, low, ..], rest) = frame.take::<20>()?;
    cooked(u16::from_be_bytes([*high, *low]), rest)
}

fn cooked(protocol: u16, rest: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    match protocol {
        // Values below 0x0600 are the kernel's own numbers. Only number 4, an IEEE 802.2 header,
        // can carry IP.
        0..=3 | 5..0x0600 => Err(Skipped::NotIp),
        _ => ether_type(protocol, rest),
    }
}

/// Decodes a BSD loopback header. The address family is in host or network byte order; a family is
/// a small number, so the smaller of both readings is right.
fn loopback(frame: Unread<'_>) -> Result<Datagram<'_>, Skipped> {
    let (family, rest) = frame.take()?;
    let family = u32::from_le_bytes(*family).min(u32::from_be_bytes(*family));
    match family {
        2 => Ok(Datagram::V4(rest)),
        // AF_INET6 on Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
        10 | 24 | 28 | 30 => Ok(Datagram::V6(rest)),
        _ => Err(Skipped::NotIp),
    }
}
