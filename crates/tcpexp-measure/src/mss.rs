//! Lengths of full segments without an MSS option, and on Ethernet.

/// MSS of an end without an MSS option (RFC 9293, section 3.7.1).
pub(crate) const DEFAULT_MSS: u16 = 536;
/// Bytes of a segment that timestamps take, with their padding (RFC 7323, appendix A).
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;
/// Longest payload of an Ethernet segment: 1,500 bytes less the headers of IPv4 and TCP.
pub(crate) const LONGEST_ETHERNET_BYTES: u32 = 1_460;
/// Longest payload of a single segment on Ethernet, with jumbo frames.
pub(crate) const LONGEST_SINGLE_BYTES: u32 = 8_960;
