//! Framing of pcapng blocks: type, length, body, length again.

use pcap_parser::pcapng::SHB_MAGIC;

use crate::step::{LONGEST_RECORD, Step};
use crate::{ByteOrder, Damage};

/// The obsolete Packet Block (`pcapng` draft, appendix A).
pub(super) const OPB_MAGIC: u32 = 2;

/// Size of the frame: block type and two lengths.
pub(super) const SHORTEST_BLOCK: u32 = 12;

/// Number of bytes before a block's body.
pub(super) const BODY: usize = 8;

/// Length of the shortest section header.
pub(super) const SECTION_HEADER_BYTES: usize = 28;

/// True if `start` begins with the type of a section header, which is a palindrome.
pub(super) fn starts_section(start: &[u8]) -> bool {
    start.starts_with(&SHB_MAGIC.to_be_bytes())
}

/// A complete block.
pub(super) struct Block<'w> {
    pub(super) kind: u32,
    pub(super) body: &'w [u8],
    /// Total length, with frame and padding.
    pub(super) bytes: usize,
    pub(super) offset: u64,
}

impl Block<'_> {
    pub(super) fn too_short_for(&self, claimed: u64) -> Damage {
        Damage::BlockContent {
            offset: self.offset,
            claimed,
            room: self.body.len() as u64,
        }
    }

    #[cold]
    pub(super) fn cut_content(&self, claimed: u64) -> Step {
        Step::Skip(self.bytes, self.too_short_for(claimed))
    }
}

/// Returns the block at the start of the window, if it is complete and its two lengths agree.
///
/// Some writers leave the padding out of the length, and some of these also omit the padding
/// itself.
#[inline]
pub(super) fn whole_block(
    window: &[u8],
    kind: u32,
    length: u32,
    order: ByteOrder,
    offset: u64,
) -> Option<Block<'_>> {
    // A length below the frame would invert the range of the body, and a length near 2^32 would
    // overflow the padding.
    if !(SHORTEST_BLOCK..=LONGEST_RECORD).contains(&length) {
        return None;
    }
    let ends_at = |bytes: usize| order.u32_at(window, bytes - 4) == Some(length);
    let padded = length.next_multiple_of(4) as usize;
    let bytes = if ends_at(padded) {
        padded
    } else if padded != length as usize && ends_at(length as usize) {
        length as usize
    } else {
        return None;
    };
    Some(Block {
        kind,
        body: &window[BODY..bytes - 4],
        bytes,
        offset,
    })
}

/// Returns the byte order of the section whose header starts `block`.
pub(super) fn section_order(block: &[u8]) -> Option<ByteOrder> {
    match *block.get(8..)?.first_chunk()? {
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(ByteOrder::Little),
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(ByteOrder::Big),
        _ => None,
    }
}

/// Returns the version of the section whose header starts `block`, if it is unsupported.
pub(super) fn unsupported_version(block: &[u8], order: ByteOrder) -> Option<(u16, u16)> {
    let version = [order.u16_at(block, 12)?, order.u16_at(block, 14)?];
    (!supported(version)).then_some((version[0], version[1]))
}

/// Version 1.2 is identical to 1.0 and was written by some tools.
pub(super) fn supported(version: [u16; 2]) -> bool {
    matches!(version, [1, 0 | 2])
}
