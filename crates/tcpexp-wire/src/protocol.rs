//! Protocol numbers in IP headers (IANA, "Assigned Internet Protocol Numbers").

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// No header follows (RFC 8200, section 4.7).
pub(crate) const NO_NEXT_HEADER: u8 = 59;
