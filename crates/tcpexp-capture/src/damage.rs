//! Unusable bytes within a capture.

use std::io;

use tcpexp_units::counted;
use thiserror::Error;

use crate::Compression;
use crate::compression::members::Trailing;

/// Damage after a sound file header: bytes that are not records.
///
/// All offsets count bytes of the decompressed file from its start. Everything before the offset
/// was used.
#[derive(Debug, Error)]
pub enum Damage {
    /// The file ends within a record: it was truncated, or is still being written.
    #[error("record at byte {offset} claims {claimed} bytes but {left} remain")]
    RecordCut {
        /// Start of the record.
        offset: u64,
        /// Length of the record with headers.
        claimed: u64,
        /// Number of bytes from its start to the end of the file.
        left: u64,
    },
    /// The file ends within the fixed part of a record's header.
    #[error("the file ends at byte {}, {left} bytes into a record header", offset + left)]
    HeaderCut {
        /// Start of the header.
        offset: u64,
        /// Number of header bytes that are there.
        left: u64,
    },
    /// A record longer than the accepted maximum.
    #[error(
        "record at byte {offset} claims {claimed} bytes, more than the {limit} a record can have"
    )]
    Oversized {
        /// Start of the record.
        offset: u64,
        /// Claimed length in bytes.
        claimed: u64,
        /// Longest accepted length in bytes.
        limit: u64,
    },
    /// More captured bytes than the packet had, and more than the file's snapshot length.
    #[error("record at byte {offset} claims {captured} captured bytes of a {wire}-byte packet")]
    MoreThanThePacket {
        /// Start of the record.
        offset: u64,
        /// Claimed number of captured bytes.
        captured: u32,
        /// Claimed length of the packet.
        wire: u32,
    },
    /// A record whose time or lengths contradict the records around it.
    #[error("record at byte {offset} has an implausible time or length")]
    Implausible {
        /// Start of the record.
        offset: u64,
    },
    /// A pcapng block too short to hold its own header.
    #[error("block at byte {offset} claims an impossible length of {length} bytes")]
    BlockLength {
        /// Start of the block.
        offset: u64,
        /// Claimed length in bytes.
        length: u32,
    },
    /// A pcapng block whose two lengths differ.
    #[error("block at byte {offset} has length {leading} at its start and {trailing} at its end")]
    BlockTrailer {
        /// Start of the block.
        offset: u64,
        /// Length before the body.
        leading: u32,
        /// Length after the body.
        trailing: u32,
    },
    /// A complete pcapng block whose content exceeds its length. Skipped.
    #[error("block at byte {offset} claims {claimed} bytes of content but has room for {room}")]
    BlockContent {
        /// Start of the block.
        offset: u64,
        /// Number of bytes that its content needs.
        claimed: u64,
        /// Number of bytes between its two lengths.
        room: u64,
    },
    /// A packet of an interface without an Interface Description Block. Skipped.
    #[error(
        "packet at byte {offset} refers to interface {interface}, which has no description block"
    )]
    UnknownInterface {
        /// Start of the block.
        offset: u64,
        /// Interface number, counted from the section's start.
        interface: u32,
    },
    /// An interface whose options are malformed. Its packets are read as if the options that cannot be
    /// read were not there.
    #[error(
        "the options of interface {interface} at byte {offset} are malformed, so its times may have another unit or offset"
    )]
    InterfaceOptions {
        /// Start of the block.
        offset: u64,
        /// Interface number, counted from the section's start.
        interface: u32,
    },
    /// A pcapng interface beyond the maximum number. Skipped, and so are its packets.
    #[error("interface at byte {offset} exceeds the limit of {limit} interfaces")]
    TooManyInterfaces {
        /// Start of the block.
        offset: u64,
        /// Maximum number of interfaces.
        limit: usize,
    },
    /// A pcapng section header without a byte order.
    #[error("section at byte {offset} has an invalid byte-order magic")]
    SectionByteOrder {
        /// Start of the section.
        offset: u64,
    },
    /// A later pcapng section of an unknown version. The rest of the file is not read.
    #[error("section at byte {offset} is in unsupported pcapng version {major}.{minor}")]
    SectionVersion {
        /// Start of the section.
        offset: u64,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// One of the errors above, with sound records after it.
    #[error("{reason}; skipped {} to byte {resumed}", counted(resumed - offset, "byte"))]
    Skipped {
        /// First byte that was not used.
        offset: u64,
        /// Offset of the next sound record.
        resumed: u64,
        /// The error at the first of these bytes.
        reason: Box<Damage>,
    },
    /// Other bytes follow the compressed data, which is sound.
    #[error("the {compression} data {}", Trailing { bytes: *bytes, compression: *compression })]
    Trailing {
        /// Number of decompressed bytes.
        offset: u64,
        /// Compression of the file.
        compression: Compression,
        /// Number of bytes after the compressed data.
        bytes: u64,
    },
    /// The compressed data is cut or corrupt.
    #[error("the {compression} data {}", of_decoder(source, *offset))]
    Decompression {
        /// Number of usable decompressed bytes.
        offset: u64,
        /// Compression of the file.
        compression: Compression,
        /// The decoder's error.
        source: io::Error,
    },
    /// Reading failed within the file.
    #[error("reading failed after byte {offset}")]
    Read {
        /// Number of bytes read before the failure.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
}

/// What a decoder's error shows about the decompressed data.
fn of_decoder(error: &io::Error, offset: u64) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("is cut short after {offset} decompressed bytes"),
        _ if needs_larger_window(error) => format!(
            "needs a window of more than 128 MiB after {offset} decompressed bytes: decompress the file first with zstd \
             -d --long=31"
        ),
        // Checksums come after the data: flipped bits were decompressed by then.
        _ => {
            format!("is corrupt after {offset} decompressed bytes: any record before may be wrong")
        }
    }
}

/// True if the decoder refused a sound frame because the window of the frame exceeds the decoder's limit (RFC 8878,
/// section 3.1.1.1.2). Only the text of the error shows this.
fn needs_larger_window(error: &io::Error) -> bool {
    error.to_string().contains("requires too much memory")
}

impl Damage {
    /// The damage that a decoder's error shows after `offset` decompressed bytes.
    pub(crate) fn of_decoder(error: io::Error, offset: u64, compression: Compression) -> Self {
        match Trailing::of(&error) {
            Some(trailing) => Self::Trailing {
                offset,
                compression,
                bytes: trailing.bytes,
            },
            None => Self::Decompression {
                offset,
                compression,
                source: error,
            },
        }
    }

    /// True if bytes before [`offset`](Self::offset) may be wrong too.
    pub(crate) fn extends_back(&self) -> bool {
        matches!(
            self,
            Self::Decompression { source, .. }
                if source.kind() != io::ErrorKind::UnexpectedEof && !needs_larger_window(source)
        )
    }

    /// Returns the offset of the first unusable byte of the decompressed file.
    pub fn offset(&self) -> u64 {
        match *self {
            Self::RecordCut { offset, .. }
            | Self::HeaderCut { offset, .. }
            | Self::Oversized { offset, .. }
            | Self::MoreThanThePacket { offset, .. }
            | Self::Implausible { offset }
            | Self::BlockLength { offset, .. }
            | Self::BlockTrailer { offset, .. }
            | Self::BlockContent { offset, .. }
            | Self::UnknownInterface { offset, .. }
            | Self::InterfaceOptions { offset, .. }
            | Self::TooManyInterfaces { offset, .. }
            | Self::SectionByteOrder { offset }
            | Self::SectionVersion { offset, .. }
            | Self::Skipped { offset, .. }
            | Self::Trailing { offset, .. }
            | Self::Decompression { offset, .. }
            | Self::Read { offset, .. } => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    #[test]
    fn bytes_after_the_compressed_data_are_described_once() {
        let file = [
            crate::build::gzip(&crate::build::little().pcap(0xa1b2_c3d4, 4).out),
            vec![7; 16],
        ];
        let file = file.concat();
        let mut capture = crate::Capture::from_bytes(&file).unwrap();
        while capture.next_record().is_some() {}
        let damage = capture.damage().unwrap();
        assert_eq!(
            damage.to_string(),
            "the gzip data is followed by 16 bytes that are not gzip"
        );
        assert!(damage.source().is_none());
    }

    #[test]
    fn a_frame_with_a_larger_window_is_refused_without_doubt_about_the_records_before_it() {
        // Magic number, no flags, a window of 256 MiB, and one last block of one byte (RFC 8878, section 3.1.1).
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 9, 0, 0, 7];
        let first = crate::build::zstd(&crate::build::little().pcap(0xa1b2_c3d4, 4).out);
        let file = [&first[..], &frame].concat();
        let mut capture = crate::Capture::from_bytes(&file).unwrap();
        while capture.next_record().is_some() {}
        let damage = capture.damage().unwrap();
        let text = damage.to_string();
        assert!(text.contains("a window of more than 128 MiB"), "{text}");
        assert!(!damage.extends_back());
    }
}
