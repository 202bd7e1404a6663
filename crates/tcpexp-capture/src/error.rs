//! Errors that make a file unusable.

use std::{fmt, io};

use thiserror::Error;

use crate::Compression;

/// A file that cannot be opened as a capture.
#[derive(Debug, Error)]
pub enum Error {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file ends before its own header does.
    #[error("the file ends after {have} of the {needed} bytes of its header")]
    HeaderCut {
        /// Bytes in the file.
        have: usize,
        /// Bytes in the header of this format.
        needed: usize,
    },
    /// The file starts with the magic of no known format.
    #[error("not a capture: it starts with {start}")]
    NotCapture {
        /// The first bytes of the file.
        start: FirstBytes,
    },
    /// A recognised format that this crate does not read.
    #[error("{} is not supported; {}", foreign.name(), foreign.hint())]
    Unsupported {
        /// The recognised format.
        foreign: Foreign,
    },
    /// An undefined version of pcap or pcapng.
    #[error("{format} version {major}.{minor} is not supported")]
    Version {
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The compressed data yields no byte.
    #[error("cannot decompress the {compression} data")]
    Decompress {
        /// Compression of the file.
        compression: Compression,
        /// The decoder's error.
        source: io::Error,
    },
    /// The decompressed file is unusable.
    #[error("the {compression} file contains no capture")]
    Inside {
        /// Compression of the file.
        compression: Compression,
        /// The error of the decompressed bytes.
        source: Box<Error>,
    },
    /// Reading failed.
    #[error("cannot read")]
    Read {
        /// The system's error.
        source: io::Error,
    },
}

/// Up to eight bytes from the start of a file, printed in hexadecimal and as text where they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FirstBytes {
    bytes: [u8; 8],
    len: usize,
}

impl FirstBytes {
    pub(crate) fn of(file: &[u8]) -> Self {
        let len = file.len().min(8);
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(&file[..len]);
        Self { bytes, len }
    }

    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Display for FirstBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.as_bytes().iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{byte:02x}")?;
        }
        let text = self.as_bytes();
        if text
            .iter()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
        {
            write!(f, " (\"{}\")", text.escape_ascii())?;
        }
        Ok(())
    }
}

impl fmt::Debug for FirstBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A format that is recognised only to suggest a converter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Solaris `snoop` (RFC 1761).
    Snoop,
    /// Bluetooth `btsnoop`.
    BtSnoop,
    /// Microsoft Network Monitor, version 1 or 2.
    NetMon,
    /// Sniffer or `NetXRay`.
    Sniffer,
    /// AIX `iptrace`.
    IpTrace,
    /// IXIA's pcap variant.
    Ixia,
    /// xz compression.
    Xz,
    /// bzip2 compression.
    Bzip2,
    /// A zip archive.
    Zip,
}

impl Foreign {
    /// Recognises the format by the first bytes.
    pub fn sniff(start: &[u8]) -> Option<Self> {
        const MAGICS: [(&[u8], Foreign); 13] = [
            (b"snoop\0\0\0", Foreign::Snoop),
            (b"btsnoop\0", Foreign::BtSnoop),
            (b"GMBU", Foreign::NetMon),
            (b"RTSS", Foreign::NetMon),
            (b"TRSNIFF data", Foreign::Sniffer),
            (b"XCP\0", Foreign::Sniffer),
            (b"iptrace ", Foreign::IpTrace),
            (b"\xac\x01\x00\x1c", Foreign::Ixia),
            (b"\xab\x01\x00\x1c", Foreign::Ixia),
            (b"\xfd7zXZ\0", Foreign::Xz),
            (b"BZh", Foreign::Bzip2),
            (b"PK\x03\x04", Foreign::Zip),
            (b"\x1c\x00\x01\xac", Foreign::Ixia),
        ];
        MAGICS
            .iter()
            .find(|(magic, _)| start.starts_with(magic))
            .map(|&(_, foreign)| foreign)
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snoop => "Solaris snoop",
            Self::BtSnoop => "Bluetooth btsnoop",
            Self::NetMon => "Microsoft Network Monitor",
            Self::Sniffer => "Sniffer",
            Self::IpTrace => "AIX iptrace",
            Self::Ixia => "IXIA pcap",
            Self::Xz => "xz compression",
            Self::Bzip2 => "bzip2 compression",
            Self::Zip => "a zip archive",
        }
    }

    /// Advice to the user.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Xz => "decompress it first: xz -dc FILE | ...",
            Self::Bzip2 => "decompress it first: bzip2 -dc FILE | ...",
            Self::Zip => "unpack it first",
            _ => "convert it first: editcap -F pcapng FILE OUT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_are_shown_as_text_only_if_printable() {
        assert_eq!(
            FirstBytes::of(b"Date,RTT\n").to_string(),
            "44 61 74 65 2c 52 54 54 (\"Date,RTT\")"
        );
        assert_eq!(FirstBytes::of(&[0x7f, b'E']).to_string(), "7f 45");
    }
}
