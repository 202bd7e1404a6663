//! Headers of QUIC packets, as far as they are not encrypted (RFC 8999, RFC 9000, RFC 9369).

/// Maximum length of a connection ID in versions 1 and 2 (RFC 9000, section 17.2).
const MAX_ID_BYTES: usize = 20;
/// The bit that distinguishes long headers from short ones (RFC 8999, section 5).
const LONG: u8 = 0x80;
/// The bit that is set in all packets of versions 1 and 2 but Version Negotiation (RFC 9000, section
/// 17.2), unless the ends agree to grease it (RFC 9287).
const FIXED: u8 = 0x40;
/// The spin bit of a short header (RFC 9000, section 17.3.1).
const SPIN: u8 = 0x20;

/// The first QUIC packet of a datagram.
///
/// A short header has no mark of QUIC besides one set bit, so a quarter of all datagrams look like
/// one. Only a connection whose long headers were captured shows that it is QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quic {
    /// A packet of the handshake.
    Long(QuicLong),
    /// Perhaps a packet after the handshake.
    Short(QuicShort),
}

/// A long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicLong {
    /// Version; `None` for Version Negotiation.
    pub version: Option<QuicVersion>,
    /// Type of the packet.
    pub kind: QuicKind,
    /// Destination connection ID.
    pub dcid: ConnectionId,
    /// Source connection ID.
    pub scid: ConnectionId,
}

/// A short header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicShort {
    /// The spin bit.
    pub spin: bool,
    /// The bytes after the first one. They begin with the destination connection ID; the header
    /// does not contain its length.
    after: ConnectionId,
}

/// A connection ID of up to 20 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    len: u8,
    bytes: [u8; MAX_ID_BYTES],
}

/// A version whose long headers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuicVersion {
    /// Version 1 (RFC 9000).
    V1,
    /// Version 2 (RFC 9369).
    V2,
}

/// Type of a packet with a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicKind {
    /// Initial.
    Initial,
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// Retry.
    Retry,
    /// Version Negotiation.
    VersionNegotiation,
}

impl QuicVersion {
    /// Returns the version with this number in the header.
    const fn from_number(number: u32) -> Option<Self> {
        match number {
            0x0000_0001 => Some(Self::V1),
            0x6b33_43cf => Some(Self::V2),
            _ => None,
        }
    }

    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    /// Returns the type with these two bits in the first byte (RFC 9000, section 17.2; RFC 9369,
    /// section 3.2).
    const fn kind(self, bits: u8) -> QuicKind {
        use QuicKind::{Handshake, Initial, Retry, ZeroRtt};
        match (self, bits) {
            (Self::V1, 0) | (Self::V2, 1) => Initial,
            (Self::V1, 1) | (Self::V2, 2) => ZeroRtt,
            (Self::V1, 2) | (Self::V2, 3) => Handshake,
            _ => Retry,
        }
    }
}

impl ConnectionId {
    /// Creates the ID of `bytes`; `None` beyond 20 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self {
            len: u8::try_from(bytes.len()).ok()?,
            bytes: [0; MAX_ID_BYTES],
        };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// True if the ID has no bytes: its owner identifies the connection by addresses and ports.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl QuicShort {
    /// Returns the destination connection ID if it has `len` bytes; `None` if the capture cut it off.
    pub fn dcid(&self, len: usize) -> Option<ConnectionId> {
        ConnectionId::new(self.after.bytes().get(..len)?)
    }
}

impl Quic {
    /// Reads the header of the first packet in a UDP datagram with this payload, of which the end
    /// may not be captured. `None` if it is not QUIC of a known version.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let (&first, rest) = payload.split_first()?;
        if first & LONG != 0 {
            return long(first, rest).map(Self::Long);
        }
        (first & FIXED != 0).then(|| {
            let after = &rest[..rest.len().min(MAX_ID_BYTES)];
            Self::Short(QuicShort {
                spin: first & SPIN != 0,
                after: ConnectionId::new(after).unwrap_or_default(),
            })
        })
    }
}

fn long(first: u8, rest: &[u8]) -> Option<QuicLong> {
    let (number, rest) = rest.split_first_chunk()?;
    let number = u32::from_be_bytes(*number);
    let (dcid, rest) = take_id(rest)?;
    let (scid, rest) = take_id(rest)?;
    let (version, kind) = if number == 0 {
        // At least one version follows, and nothing else (RFC 9000, section 17.2.1).
        if rest.len() < size_of::<u32>() {
            return None;
        }
        (None, QuicKind::VersionNegotiation)
    } else {
        let version = QuicVersion::from_number(number)?;
        (Some(version), version.kind(first >> 4 & 0b11))
    };
    Some(QuicLong {
        version,
        kind,
        dcid,
        scid,
    })
}

/// Splits off a connection ID with its length before it.
fn take_id(bytes: &[u8]) -> Option<(ConnectionId, &[u8])> {
    let (len, rest) = bytes.split_first()?;
    let (id, rest) = rest.split_at_checked(usize::from(*len))?;
    Some((ConnectionId::new(id)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long header with the connection IDs `dcid` and `scid`, and the byte 0 after it.
    fn header(first: u8, version: u32, dcid: &[u8], scid: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        bytes.extend(version.to_be_bytes());
        for id in [dcid, scid] {
            bytes.push(u8::try_from(id.len()).unwrap());
            bytes.extend(id);
        }
        bytes.push(0);
        bytes
    }

    fn long_kind(first: u8, version: u32) -> Option<(QuicKind, Option<QuicVersion>)> {
        match Quic::of(&header(first, version, b"destined", b""))? {
            Quic::Long(long) => Some((long.kind, long.version)),
            Quic::Short(_) => None,
        }
    }

    #[test]
    fn each_version_has_its_own_types() {
        use QuicKind::{Handshake, Initial, Retry, ZeroRtt};
        let of = |version| [0xc0, 0xd0, 0xe0, 0xf0].map(|first| long_kind(first, version));
        let v1 = [Initial, ZeroRtt, Handshake, Retry];
        assert_eq!(of(1), v1.map(|kind| Some((kind, Some(QuicVersion::V1)))));
        let v2 = [Retry, Initial, ZeroRtt, Handshake];
        assert_eq!(
            of(0x6b33_43cf),
            v2.map(|kind| Some((kind, Some(QuicVersion::V2))))
        );
        assert_eq!(of(2), [None; 4]);
    }

    #[test]
    fn connection_ids_are_those_of_the_header() {
        let bytes = header(0xc3, 1, b"destined", b"src");
        let Some(Quic::Long(long)) = Quic::of(&bytes) else {
            panic!("not a long header");
        };
        assert_eq!(
            (long.dcid.bytes(), long.scid.bytes()),
            (&b"destined"[..], &b"src"[..])
        );
        // Version 1 allows 20 bytes.
        assert!(Quic::of(&header(0xc0, 1, &[1; 20], &[2; 20])).is_some());
        assert_eq!(Quic::of(&header(0xc0, 1, &[1; 21], &[2; 20])), None);
    }

    #[test]
    fn version_negotiation_lists_versions() {
        let mut bytes = header(0x8a, 0, b"client", b"server");
        assert_eq!(Quic::of(&bytes), None);
        bytes.extend([0, 0, 1]);
        let Some(Quic::Long(long)) = Quic::of(&bytes) else {
            panic!("not a long header");
        };
        assert_eq!(long.kind, QuicKind::VersionNegotiation);
    }

    #[test]
    fn short_header_shows_the_spin_bit_and_the_connection_id() {
        let of = |bytes: &[u8]| match Quic::of(bytes) {
            Some(Quic::Short(short)) => {
                Some((short.spin, short.dcid(4).map(|id| id.bytes().to_vec())))
            }
            _ => None,
        };
        assert_eq!(of(b"\x41abcdefg"), Some((false, Some(b"abcd".to_vec()))));
        assert_eq!(of(b"\x61abcdefg"), Some((true, Some(b"abcd".to_vec()))));
        assert_eq!(of(b"\x61abc"), Some((true, None)));
        assert_eq!(of(b"\x21abcdefg"), None);
    }

    #[test]
    fn header_cut_anywhere_is_no_long_header() {
        let bytes = header(0xc0, 1, b"destined", b"source");
        for len in 0..bytes.len() - 1 {
            assert_eq!(Quic::of(&bytes[..len]), None, "{len}");
        }
        assert!(Quic::of(&bytes[..bytes.len() - 1]).is_some());
    }
}
