//! Headers of QUIC packets (RFC 9000, section 17; RFC 9369, section 3).

/// Version numbers 1 and 2.
const VERSIONS: [u32; 2] = [1, 0x6b33_43cf];
/// Names of the packet types of version 1, by their number.
const KINDS: [&str; 4] = ["initial", "0rtt", "handshake", "retry"];
/// Maximum length of a connection ID.
const MAX_ID_BYTES: usize = 20;

/// The header of a QUIC packet, without its encrypted part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicHeader {
    first: u8,
    /// Version of a long header.
    version: Option<u32>,
    dcid: Id,
    scid: Id,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Id {
    len: u8,
    bytes: [u8; MAX_ID_BYTES],
}

impl Id {
    fn new(bytes: &[u8]) -> Self {
        let mut id = Self {
            len: bytes.len() as u8,
            ..Self::default()
        };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        id
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl QuicHeader {
    /// Creates a long header of version 1 or 2; `kind` is initial, 0rtt, handshake, retry or
    /// negotiation. `None` for other names and versions.
    pub fn long(version: usize, kind: &str, dcid: &[u8], scid: &[u8]) -> Option<Self> {
        let number = *VERSIONS.get(version.checked_sub(1)?)?;
        let (first, number) = if kind == "negotiation" {
            (0x80, 0)
        } else {
            let place = KINDS.iter().position(|name| *name == kind)?;
            // Version 2 numbers the types one higher.
            let bits = (place + version - 1) % KINDS.len();
            (0xc0 | (bits as u8) << 4, number)
        };
        Some(Self {
            first,
            version: Some(number),
            dcid: Id::new(dcid),
            scid: Id::new(scid),
        })
    }

    /// Creates a short header.
    pub fn short(spin: bool, dcid: &[u8]) -> Self {
        Self {
            first: 0x40 | u8::from(spin) << 5,
            version: None,
            dcid: Id::new(dcid),
            scid: Id::default(),
        }
    }

    /// Returns the bytes.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.first];
        match self.version {
            Some(number) => {
                bytes.extend(number.to_be_bytes());
                for id in [self.dcid, self.scid] {
                    bytes.push(id.len);
                    bytes.extend(id.bytes());
                }
            }
            None => bytes.extend(self.dcid.bytes()),
        }
        bytes
    }
}
