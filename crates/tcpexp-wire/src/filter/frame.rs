//! The bytes of a frame, by layer.

use crate::LinkType;
use crate::protocol::{SCTP, TCP, UDP};

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const ARP: u16 = 0x0806;
pub(super) const RARP: u16 = 0x8035;
/// Protocols with ports.
pub(super) const WITH_PORTS: [u8; 3] = [TCP, UDP, SCTP];
/// Protocol number of the IPv6 fragment header.
const FRAGMENT: u8 = 44;

/// A byte beyond the captured part, or a division by zero: the packet is not selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undecided;

/// A frame under test.
pub(super) struct Frame<'a> {
    link: LinkType,
    bytes: &'a [u8],
    pub(super) wire_bytes: u32,
}

/// Field of the link layer that names the next protocol.
enum TypeField {
    /// `EtherType` at this offset.
    EtherType(usize),
    /// PPP protocol number at this offset.
    Ppp(usize),
    /// Address family of BSD loopback.
    Family,
    /// The version field of the IP header.
    IpVersion,
    /// No field: the link type names the protocol.
    Always(u16),
}

impl<'a> Frame<'a> {
    pub(super) fn new(link: LinkType, bytes: &'a [u8], wire_bytes: u32) -> Self {
        Self {
            link,
            bytes,
            wire_bytes,
        }
    }

    pub(super) fn is_ethernet(&self) -> bool {
        self.link == LinkType::ETHERNET
    }

    /// Returns the big-endian number in `N` bytes at `at`.
    pub(super) fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], Undecided> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.copied().ok_or(Undecided)
    }

    pub(super) fn u8(&self, at: usize) -> Result<u8, Undecided> {
        self.bytes.get(at).copied().ok_or(Undecided)
    }

    pub(super) fn u16(&self, at: usize) -> Result<u16, Undecided> {
        self.bytes(at).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&self, at: usize) -> Result<u32, Undecided> {
        self.bytes(at).map(u32::from_be_bytes)
    }

    /// True if the protocol after the link header and `tags` VLAN tags is `ether_type`.
    pub(super) fn is_type(&self, tags: usize, ether_type: u16) -> Result<bool, Undecided> {
        let Some((field, _)) = self.layout(tags) else {
            return Ok(false);
        };
        match field {
            TypeField::EtherType(at) => Ok(self.u16(at)? == ether_type),
            TypeField::Ppp(at) => {
                let protocol = self.u16(at)?;
                Ok(match ether_type {
                    IPV4 => protocol == 0x0021,
                    IPV6 => protocol == 0x0057,
                    other => protocol == other,
                })
            }
            TypeField::Family => {
                let family = self.bytes(0)?;
                // In host or network byte order; a family is a small number.
                let family = u32::from_le_bytes(family).min(u32::from_be_bytes(family));
                Ok(match ether_type {
                    IPV4 => family == 2,
                    // AF_INET6 on Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
                    IPV6 => matches!(family, 10 | 24 | 28 | 30),
                    _ => false,
                })
            }
            TypeField::IpVersion => {
                let version = self.u8(0)? >> 4;
                Ok(match ether_type {
                    IPV4 => version == 4,
                    IPV6 => version == 6,
                    _ => false,
                })
            }
            TypeField::Always(fixed) => Ok(fixed == ether_type),
        }
    }

    /// Offset of the bytes after the link header and `tags` VLAN tags.
    pub(super) fn payload(&self, tags: usize) -> Result<usize, Undecided> {
        self.layout(tags)
            .map(|(_, payload)| payload)
            .ok_or(Undecided)
    }

    /// True for an IPv4 packet of this protocol.
    pub(super) fn is_ipv4_protocol(&self, tags: usize, number: u8) -> Result<bool, Undecided> {
        Ok(self.is_type(tags, IPV4)? && self.u8(self.payload(tags)? + 9)? == number)
    }

    /// True for an IPv6 packet with this protocol in the fixed header, or in a fragment header that
    /// directly follows.
    pub(super) fn is_ipv6_protocol(&self, tags: usize, number: u8) -> Result<bool, Undecided> {
        if !self.is_type(tags, IPV6)? {
            return Ok(false);
        }
        let ip = self.payload(tags)?;
        let next = self.u8(ip + 6)?;
        Ok(next == number || next == FRAGMENT && self.u8(ip + 40)? == number)
    }

    /// Compares word by word, as a packet may be cut inside the address.
    pub(super) fn is_ipv6_address(
        &self,
        at: usize,
        address: u128,
        mask: u128,
    ) -> Result<bool, Undecided> {
        let (address, mask) = (address.to_be_bytes(), mask.to_be_bytes());
        let words = address.as_chunks::<4>().0.iter().zip(mask.as_chunks().0);
        for (place, (address, mask)) in words.enumerate() {
            let [address, mask] = [*address, *mask].map(u32::from_be_bytes);
            if mask != 0 && self.u32(at + 4 * place)? & mask != address {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Offset of the ports in a packet of `protocol`, or of any protocol with ports.
    pub(super) fn ports(
        &self,
        tags: usize,
        protocol: Option<u8>,
    ) -> Result<Option<usize>, Undecided> {
        let has_ports =
            |number| protocol.map_or(WITH_PORTS.contains(&number), |wanted| wanted == number);
        if self.is_type(tags, IPV6)? {
            let ip = self.payload(tags)?;
            return Ok(has_ports(self.u8(ip + 6)?).then_some(ip + 40));
        }
        if !self.is_type(tags, IPV4)? || !has_ports(self.u8(self.payload(tags)? + 9)?) {
            return Ok(None);
        }
        self.ipv4_transport(tags)
    }

    /// Offset of the transport header of an IPv4 packet; `None` in a later fragment.
    pub(super) fn ipv4_transport(&self, tags: usize) -> Result<Option<usize>, Undecided> {
        let ip = self.payload(tags)?;
        if self.u16(ip + 6)? & 0x1fff != 0 {
            return Ok(None);
        }
        Ok(Some(ip + 4 * usize::from(self.u8(ip)? & 0x0f)))
    }

    /// The protocol field and the offset of the payload; `None` if the link type is unknown or has
    /// no VLAN tags.
    fn layout(&self, tags: usize) -> Option<(TypeField, usize)> {
        use TypeField::{Always, EtherType, Family, IpVersion, Ppp};
        let (field, payload) = match self.link {
            LinkType::ETHERNET => (EtherType(12), 14),
            LinkType::LINUX_SLL => (EtherType(14), 16),
            LinkType::LINUX_SLL2 => (EtherType(0), 20),
            LinkType::NULL | LinkType::LOOP => (Family, 4),
            LinkType::RAW | LinkType::BSD_RAW | LinkType::OPENBSD_RAW => (IpVersion, 0),
            LinkType::IPV4 => (Always(IPV4), 0),
            LinkType::IPV6 => (Always(IPV6), 0),
            LinkType::PPP | LinkType::PPP_HDLC => (Ppp(2), 4),
            _ => return None,
        };
        match (tags, &field) {
            (0, _) => Some((field, payload)),
            // The type behind a tag is in the tag's last two bytes.
            (_, EtherType(_)) => {
                let payload = payload + 4 * tags;
                Some((EtherType(payload - 2), payload))
            }
            _ => None,
        }
    }
}
