//! Resynchronisation: the search for the next sound block of a pcapng file after garbage.

use pcap_parser::pcapng::{
    CB_MAGIC, DCB_MAGIC, DSB_MAGIC, EPB_MAGIC, IDB_MAGIC, ISB_MAGIC, NRB_MAGIC, SHB_MAGIC,
    SJE_MAGIC, SPB_MAGIC,
};

use super::block::{
    OPB_MAGIC, SECTION_HEADER_BYTES, SHORTEST_BLOCK, section_order, starts_section,
    unsupported_version,
};
use crate::ByteOrder;
use crate::step::{LONGEST_IN_SEARCH, ROW, Row, Search, search};

/// The properties that blocks of the current section share.
pub(super) struct BlockSearch {
    /// Byte order of the section; `None` if only a new section header is acceptable.
    pub(super) order: Option<ByteOrder>,
    /// Number of interfaces described so far.
    pub(super) interfaces: u32,
}

/// The block at one offset.
enum Candidate {
    Section,
    Block(usize),
    Nothing,
    Undecided(usize),
}

impl BlockSearch {
    pub(super) fn run(&self, window: &[u8], at_end: bool) -> Search {
        search(window, at_end, SHORTEST_BLOCK as usize, |bytes| {
            self.row_at(bytes, at_end)
        })
    }

    /// A section header is accepted alone: magic, byte order mark, version and two lengths must match.
    /// Other blocks must form a row.
    fn row_at(&self, bytes: &[u8], at_end: bool) -> Row {
        let mut from = 0;
        for _ in 0..ROW {
            match self.candidate(&bytes[from..]) {
                Candidate::Section => return Row::Holds,
                Candidate::Block(length) => from += length,
                Candidate::Nothing => return Row::Breaks,
                Candidate::Undecided(needed) => {
                    // A row may be short where its last block ends exactly with the file.
                    return match (at_end, from > 0 && from == bytes.len()) {
                        (true, true) => Row::Holds,
                        (true, false) => Row::Breaks,
                        (false, _) => Row::Undecided(from + needed),
                    };
                }
            }
        }
        Row::Holds
    }

    fn candidate(&self, bytes: &[u8]) -> Candidate {
        let Some(head) = bytes.first_chunk::<12>() else {
            return Candidate::Undecided(12);
        };
        let is_section = starts_section(head);
        // A new section states its own byte order, which may differ from the order of the section
        // before.
        let order = if is_section {
            section_order(head)
        } else {
            self.order
        };
        let Some(order) = order else {
            return Candidate::Nothing;
        };
        let kind = order.u32([head[0], head[1], head[2], head[3]]);
        let length = order.u32([head[4], head[5], head[6], head[7]]);
        // The format allows other types, and some writers omit padding, but a search must reject
        // most random bytes.
        if !is_known(kind)
            || !length.is_multiple_of(4)
            || !(SHORTEST_BLOCK..=LONGEST_IN_SEARCH).contains(&length)
        {
            return Candidate::Nothing;
        }
        let Some(block) = bytes.get(..length as usize) else {
            return Candidate::Undecided(length as usize);
        };
        if order.u32_at(block, block.len() - 4) != Some(length) {
            return Candidate::Nothing;
        }
        if is_section {
            let sound =
                block.len() >= SECTION_HEADER_BYTES && unsupported_version(block, order).is_none();
            return if sound {
                Candidate::Section
            } else {
                Candidate::Nothing
            };
        }
        if self.fits(kind, block, order) {
            Candidate::Block(block.len())
        } else {
            Candidate::Nothing
        }
    }

    /// True if a packet fits into its block and names a known interface.
    fn fits(&self, kind: u32, block: &[u8], order: ByteOrder) -> bool {
        match kind {
            // The captured length is at byte 20 of the block. The frame and the fixed fields take
            // 32 bytes.
            EPB_MAGIC => {
                let interface = order.u32_at(block, 8);
                let captured = order.u32_at(block, 20);
                interface.is_some_and(|number| number < self.interfaces)
                    && captured.is_some_and(|bytes| bytes as usize + 32 <= block.len())
            }
            // The obsolete block has a 16-bit interface number, followed by a drop counter.
            OPB_MAGIC => {
                let interface = order.u16_at(block, 8);
                let captured = order.u32_at(block, 20);
                interface.is_some_and(|number| u32::from(number) < self.interfaces)
                    && captured.is_some_and(|bytes| bytes as usize + 32 <= block.len())
            }
            // A Simple Packet Block names no interface and belongs to the first of its section.
            SPB_MAGIC => self.interfaces > 0,
            _ => true,
        }
    }
}

fn is_known(kind: u32) -> bool {
    matches!(
        kind,
        SHB_MAGIC
            | IDB_MAGIC
            | OPB_MAGIC
            | SPB_MAGIC
            | NRB_MAGIC
            | ISB_MAGIC
            | EPB_MAGIC
            | SJE_MAGIC
            | DSB_MAGIC
            | CB_MAGIC
            | DCB_MAGIC
    )
}
