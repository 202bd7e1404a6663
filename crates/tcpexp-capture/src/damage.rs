//! Unusable bytes within a capture.

use std::io;

use thiserror::Error;

use crate::Compression;

/// Bytes behind a sound file header that are no records.
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
        /// Its length with headers.
        claimed: u64,
        /// Bytes from its start to the end of the file.
        left: u64,
    },
    /// The file ends within the fixed part of a record's header.
    #[error("the file ends at byte {}, {left} bytes into a record header", offset + left)]
    HeaderCut {
        /// Start of the header.
        offset: u64,
        /// Bytes of it that are there.
        left: u64,
    },
    /// A record longer than any that is accepted.
    #[error(
        "record at byte {offset} claims {claimed} bytes, more than the {limit} a record can have"
    )]
    Oversized {
        /// Start of the record.
        offset: u64,
        /// The length it claims.
        claimed: u64,
        /// The longest length that is accepted.
        limit: u64,
    },
    /// More captured bytes than the packet had, and more than the file's snapshot length.
    #[error("record at byte {offset} claims {captured} captured bytes of a {wire}-byte packet")]
    MoreThanThePacket {
        /// Start of the record.
        offset: u64,
        /// Captured bytes it claims.
        captured: u32,
        /// Length of the packet it claims.
        wire: u32,
    },
    /// A pcapng block too short to hold its own header.
    #[error("block at byte {offset} claims an impossible length of {length} bytes")]
    BlockLength {
        /// Start of the block.
        offset: u64,
        /// The length it claims.
        length: u32,
    },
    /// A pcapng block whose two lengths differ.
    #[error(
        "block at byte {offset} is {leading} bytes long by its start and {trailing} by its end"
    )]
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
        /// Bytes its content needs.
        claimed: u64,
        /// Bytes between its lengths.
        room: u64,
    },
    /// A packet of an interface without an Interface Description Block. Skipped.
    #[error("packet at byte {offset} is from interface {interface}, which is not described")]
    UnknownInterface {
        /// Start of the block.
        offset: u64,
        /// The interface it names, counted from its section's start.
        interface: u32,
    },
    /// A pcapng interface beyond the number that is kept. Skipped, and so are its packets.
    #[error("interface at byte {offset} is one more than the {limit} that a file may have")]
    TooManyInterfaces {
        /// Start of the block.
        offset: u64,
        /// How many interfaces are kept.
        limit: usize,
    },
    /// A pcapng section header without a byte order.
    #[error("section at byte {offset} has no byte order")]
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
    /// One of the errors above, with sound records behind it.
    #[error("{reason}; skipped {} bytes to byte {resumed}", resumed - offset)]
    Skipped {
        /// First byte that was not used.
        offset: u64,
        /// Where the next record was found.
        resumed: u64,
        /// The error at the first of these bytes.
        reason: Box<Damage>,
    },
    /// The compressed data is cut or corrupt.
    #[error("the {compression} data breaks off after {offset} decompressed bytes")]
    Decompression {
        /// Decompressed bytes that could be used.
        offset: u64,
        /// How the file is compressed.
        compression: Compression,
        /// The decoder's error.
        source: io::Error,
    },
    /// Reading failed within the file.
    #[error("reading failed after byte {offset}")]
    Read {
        /// Bytes read before the failure.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
}

impl Damage {
    /// First unusable byte of the decompressed file.
    pub fn offset(&self) -> u64 {
        match *self {
            Self::RecordCut { offset, .. }
            | Self::HeaderCut { offset, .. }
            | Self::Oversized { offset, .. }
            | Self::MoreThanThePacket { offset, .. }
            | Self::BlockLength { offset, .. }
            | Self::BlockTrailer { offset, .. }
            | Self::BlockContent { offset, .. }
            | Self::UnknownInterface { offset, .. }
            | Self::TooManyInterfaces { offset, .. }
            | Self::SectionByteOrder { offset }
            | Self::SectionVersion { offset, .. }
            | Self::Skipped { offset, .. }
            | Self::Decompression { offset, .. }
            | Self::Read { offset, .. } => offset,
        }
    }
}
