//! Protocol numbers in IP headers (IANA, "Assigned Internet Protocol Numbers").

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
