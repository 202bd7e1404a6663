//! Capture file formats, recognised by their first bytes.

use std::fmt;

/// Byte order of the numbers in a file's own headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    #[inline]
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Returns the `u16` at byte `at`, if it is there.
    pub(crate) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        Some(self.u16(*bytes.get(at..)?.first_chunk()?))
    }

    /// Returns the `u32` at byte `at`, if it is there.
    #[inline]
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*bytes.get(at..)?.first_chunk()?))
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Little => "little-endian",
            Self::Big => "big-endian",
        })
    }
}

/// File format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap: one link type, one header, records to the end.
    Pcap {
        /// Major and minor version; 2.4 since 1998.
        version: (u16, u16),
        /// Order of the header fields.
        byte_order: ByteOrder,
        /// Fractions of a second are nanoseconds; else microseconds.
        nanoseconds: bool,
        /// Record headers are 24 bytes instead of 16 (magic number `a1b2cd34`).
        modified: bool,
    },
    /// pcapng: sections of typed blocks.
    PcapNg {
        /// Order of the first section; each section has its own.
        byte_order: ByteOrder,
    },
}

/// Prints one phrase: `pcap, microseconds, little-endian`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Pcap {
                version,
                byte_order,
                nanoseconds,
                modified,
            } => {
                let modified = if modified { "modified " } else { "" };
                let unit = if nanoseconds { "nano" } else { "micro" };
                write!(f, "{modified}pcap")?;
                if version != (2, 4) {
                    write!(f, " {}.{}", version.0, version.1)?;
                }
                write!(f, ", {unit}seconds, {byte_order}")
            }
            Self::PcapNg { byte_order } => write!(f, "pcapng, {byte_order}"),
        }
    }
}
