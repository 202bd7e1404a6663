//! Protocol numbers in IP headers (IANA, "Assigned Internet Protocol Numbers").

/// ICMP for IPv4.
pub const ICMP: u8 = 1;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// DCCP.
pub const DCCP: u8 = 33;
/// ICMP for IPv6.
pub const ICMPV6: u8 = 58;
/// No header follows (RFC 8200, section 4.7).
pub const NO_NEXT_HEADER: u8 = 59;
/// SCTP.
pub const SCTP: u8 = 132;
/// UDP-Lite.
pub const UDP_LITE: u8 = 136;
