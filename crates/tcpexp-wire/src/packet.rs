//! Packet fields as seen on the wire.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{SeqNum, TcpFlags, TcpOptions};

/// One IP packet with its transport header; borrows from the record.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Source and destination address of the innermost IP header that was entered.
    pub addresses: Addresses,
    /// IPv4 Identification, or the lower 16 bits of the identification in an IPv6 fragment header;
    /// `None` if the packet has neither.
    pub ip_id: Option<u16>,
    /// Hop limit or time to live.
    pub ttl: u8,
    /// Traffic class of the innermost IP header that was entered: DSCP in the upper six bits, ECN in the lower two
    /// (RFC 2474, RFC 3168). For a packet in a tunnel, the ECN field has the value that the egress of the tunnel
    /// would forward (RFC 6040, section 4.2).
    pub traffic_class: u8,
    /// Length of the whole IP datagram on the wire, in bytes.
    pub ip_bytes: u32,
    /// Source and destination port, or what takes their place.
    pub ports: Ports,
    /// The transport header.
    pub transport: Transport<'a>,
    /// Length of the transport payload in bytes, from the IP header. Truncated bytes count as
    /// payload, padding does not.
    pub payload_bytes: u32,
    /// The captured part of the payload; at most `payload_bytes` long.
    pub payload: &'a [u8],
    /// True for the first fragment of a datagram: the lengths are those of the fragment (RFC 791, section
    /// 3.2; RFC 8200, section 4.5).
    pub is_fragment: bool,
}

impl Packet<'_> {
    /// True if the record holds only a part of the TCP options or of the payload.
    #[inline]
    pub fn is_cut(&self) -> bool {
        let cuts_options = match &self.transport {
            Transport::Tcp(tcp) => tcp.options.is_cut(),
            Transport::Udp(_) | Transport::Other(_) => false,
        };
        cuts_options || self.payload.len() < self.payload_bytes as usize
    }
}

/// ECN field of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: a queue cannot mark the packet.
    #[default]
    NotEct,
    /// ECT(1), the identifier of L4S (RFC 9331, section 4.1).
    Ect1,
    /// ECT(0) (RFC 3168, section 5).
    Ect0,
    /// Congestion experienced: a queue marked the packet.
    Ce,
}

impl Ecn {
    /// The codepoint in a traffic class.
    #[inline]
    pub const fn of(traffic_class: u8) -> Self {
        match traffic_class & ECN_FIELD {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// The ECN field in a traffic class (RFC 3168, section 5).
const ECN_FIELD: u8 = 0b11;
/// ECN field of a packet that a queue marked: the codepoint CE (RFC 3168, section 5).
const CONGESTION_EXPERIENCED: u8 = 0b11;

/// True if the ECN field of `traffic_class` is the codepoint CE (RFC 3168, section 5).
#[inline]
pub const fn is_congestion_experienced(traffic_class: u8) -> bool {
    traffic_class & ECN_FIELD == CONGESTION_EXPERIENCED
}

/// Traffic class that the egress of a tunnel forwards, from the outer and the inner header (RFC 6040, section 4.2).
/// An egress drops a packet with CE outside and Not-ECT inside; its traffic class stays.
pub(crate) const fn decapsulated(outer: u8, inner: u8) -> u8 {
    match (Ecn::of(outer), Ecn::of(inner)) {
        (Ecn::Ce, Ecn::Ect0 | Ecn::Ect1) => inner | CONGESTION_EXPERIENCED,
        // ECT(0) becomes ECT(1).
        (Ecn::Ect1, Ecn::Ect0) => inner ^ ECN_FIELD,
        _ => inner,
    }
}

/// Source and destination address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Source address.
        source: Ipv4Addr,
        /// Destination address.
        destination: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Source address.
        source: Ipv6Addr,
        /// Destination address.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// Source address.
    pub fn source(&self) -> IpAddr {
        match *self {
            Self::V4 { source, .. } => source.into(),
            Self::V6 { source, .. } => source.into(),
        }
    }

    /// Destination address.
    pub fn destination(&self) -> IpAddr {
        match *self {
            Self::V4 { destination, .. } => destination.into(),
            Self::V6 { destination, .. } => destination.into(),
        }
    }
}

/// Source and destination port.
///
/// The identifier of an ICMP echo takes the place of both, so that a request and its reply belong to
/// one flow. Both are 0 for a protocol without ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// The transport header.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Tcp<'a>),
    /// A UDP datagram.
    Udp(Udp),
    /// A packet of another protocol: ICMP, SCTP, ESP, ….
    Other(Other),
}

/// The fixed TCP header and its options (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    /// Sequence number of the first payload byte, or of the SYN.
    pub seq: SeqNum,
    /// Acknowledgment number; meaningful if the ACK flag is set.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field as sent, not scaled.
    pub window: u16,
    /// Checksum field as sent; wrong if the capture precedes checksum offload in the interface.
    pub checksum: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// The options, as far as captured.
    pub options: TcpOptions<'a>,
}

/// The UDP header (RFC 768). Its length is in [`Packet::payload_bytes`].
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    /// Checksum field as sent; 0 means no checksum.
    pub checksum: u16,
}

/// The header of a protocol other than TCP and UDP, as far as it identifies a packet.
///
/// The payload begins after the fields that address translation may change: after the identifier of an
/// ICMP echo, with its sequence number (RFC 792); after the checksum of other ICMP messages; after the
/// common header of SCTP (RFC 9260, section 3.1). For other protocols, everything is payload, such as
/// the security parameters index and the sequence number of ESP (RFC 4303, section 2).
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// Protocol number in the IP header.
    pub protocol: u8,
    /// Checksum field as sent, folded to 16 bits; 0 if the protocol has none or it is unknown.
    pub checksum: u16,
    /// Number of bytes at the start of [`Packet::payload`] that still belong to the header. They identify
    /// the packet, but carry no data.
    pub header_rest_bytes: u32,
}
