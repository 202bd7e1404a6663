//! Headers of pcap: the magic of the file, and the header of a record.

use crate::ByteOrder;

/// Layout of record headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    order: ByteOrder,
    lengths: Lengths,
    pub(super) header_bytes: usize,
}

/// The order of a record's two lengths. Until version 2.3 the captured one came second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    WireFirst,
    /// Version 2.3 was written in both orders; the smaller length is the captured one.
    Either,
}

/// A record's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) seconds: u32,
    pub(super) fraction: u32,
    pub(super) captured: u32,
    pub(super) wire: u32,
}

impl Layout {
    pub(super) fn new(magic: Magic, minor: u16) -> Self {
        Self {
            order: magic.byte_order,
            lengths: match minor {
                0..=2 => Lengths::WireFirst,
                3 => Lengths::Either,
                _ => Lengths::CapturedFirst,
            },
            header_bytes: if magic.modified { 24 } else { 16 },
        }
    }

    /// Returns the header of the record at the start of the window, if the whole record is there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `usual`, its only caller")]
    pub(super) fn whole(self, window: &[u8]) -> Option<Head> {
        let head = self.head(window)?;
        (window.len() - self.header_bytes >= head.captured as usize).then_some(head)
    }

    /// Returns the header of the record at the start of the window, if the whole header is there.
    #[inline]
    pub(super) fn head(self, window: &[u8]) -> Option<Head> {
        // A modified header continues with interface, protocol and packet type, which are not used.
        let fields = window.get(..self.header_bytes)?.first_chunk::<16>()?;
        let (words, _) = fields.as_chunks::<4>();
        let &[seconds, fraction, first, second] = words.first_chunk()?;
        // One decision for all words.
        let [seconds, fraction, first, second] = match self.order {
            // Without `map`, which the compiler does not inline here: two calls for each word.
            ByteOrder::Little => [
                u32::from_le_bytes(seconds),
                u32::from_le_bytes(fraction),
                u32::from_le_bytes(first),
                u32::from_le_bytes(second),
            ],
            ByteOrder::Big => [
                u32::from_be_bytes(seconds),
                u32::from_be_bytes(fraction),
                u32::from_be_bytes(first),
                u32::from_be_bytes(second),
            ],
        };
        let swapped = match self.lengths {
            Lengths::CapturedFirst => false,
            Lengths::WireFirst => true,
            Lengths::Either => first > second,
        };
        let (captured, wire) = if swapped {
            (second, first)
        } else {
            (first, second)
        };
        Some(Head {
            seconds,
            fraction,
            captured,
            wire,
        })
    }
}

/// Properties encoded in the first four bytes of a pcap file.
#[derive(Clone, Copy)]
pub(super) struct Magic {
    pub(super) byte_order: ByteOrder,
    pub(super) nanoseconds: bool,
    pub(super) modified: bool,
}

impl Magic {
    const fn new(byte_order: ByteOrder, nanoseconds: bool, modified: bool) -> Self {
        Self {
            byte_order,
            nanoseconds,
            modified,
        }
    }
}

pub(super) const MAGICS: [([u8; 4], Magic); 6] = [
    (
        [0xd4, 0xc3, 0xb2, 0xa1],
        Magic::new(ByteOrder::Little, false, false),
    ),
    (
        [0xa1, 0xb2, 0xc3, 0xd4],
        Magic::new(ByteOrder::Big, false, false),
    ),
    (
        [0x4d, 0x3c, 0xb2, 0xa1],
        Magic::new(ByteOrder::Little, true, false),
    ),
    (
        [0xa1, 0xb2, 0x3c, 0x4d],
        Magic::new(ByteOrder::Big, true, false),
    ),
    (
        [0x34, 0xcd, 0xb2, 0xa1],
        Magic::new(ByteOrder::Little, false, true),
    ),
    (
        [0xa1, 0xb2, 0xcd, 0x34],
        Magic::new(ByteOrder::Big, false, true),
    ),
];

pub(super) fn magic(start: &[u8]) -> Option<Magic> {
    let found = MAGICS.iter().find(|(magic, _)| start.starts_with(magic));
    found.map(|&(_, magic)| magic)
}

impl Head {
    /// True if the record has neither captured bytes nor a packet.
    pub(super) fn is_empty(&self) -> bool {
        self.captured == 0 && self.wire == 0
    }
}
