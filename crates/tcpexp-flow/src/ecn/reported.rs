//! The data that the latest ACK reports as received beyond its acknowledgment number.

use crate::sent_packets::SentPackets;
use crate::{Segment, StreamOffset};

/// Most blocks in a SACK option: its length is one byte, and 40 bytes are left for options (RFC 2018,
/// section 3).
const MOST_BLOCKS: usize = 4;

/// The SACK blocks of the latest ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    blocks: [Option<(StreamOffset, StreamOffset)>; MOST_BLOCKS],
}

impl Reported {
    /// The blocks of an ACK of all data before `ack`, without a report of duplicate data (RFC 2883).
    pub(super) fn of(segment: &Segment, ack: StreamOffset) -> Self {
        let mut reported = Self::default();
        let duplicates = usize::from(segment.reports_duplicate());
        let blocks = segment.sack_blocks().skip(duplicates);
        let beyond = blocks.filter(|block| block.1 > ack);
        for (block, place) in beyond.zip(&mut reported.blocks) {
            *place = Some(block);
        }
        reported
    }

    /// True if nothing beyond the acknowledgment number is reported.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks[0].is_none()
    }

    /// The highest offset that an ACK with these blocks, of all data before `ack`, reports as received.
    pub(super) fn highest(&self, ack: StreamOffset) -> StreamOffset {
        self.blocks()
            .map(|block| block.1)
            .fold(ack, StreamOffset::max)
    }

    /// Number of packets from `from` up to but not including `to` that were not reported.
    pub(super) fn unreported(
        &self,
        sent: &SentPackets,
        [from, to]: [StreamOffset; 2],
        smss_bytes: u32,
    ) -> u64 {
        if to <= from {
            return 0;
        }
        let known = self.blocks().map(|(start, end)| {
            let (start, end) = (start.max(from), end.min(to));
            if start < end {
                sent.count(start, end, smss_bytes)
            } else {
                0
            }
        });
        let known: u64 = known.sum();
        sent.count(from, to, smss_bytes).saturating_sub(known)
    }

    /// Number of packets that `now` reports beyond `ack` and these blocks do not. Blocks that were left out for
    /// lack of space count again, so this is an upper bound.
    pub(super) fn new_in(
        &self,
        now: &Self,
        ack: StreamOffset,
        sent: &SentPackets,
        smss_bytes: u32,
    ) -> u64 {
        let new = now
            .blocks()
            .map(|(start, end)| self.unreported(sent, [start.max(ack), end], smss_bytes));
        new.sum()
    }

    fn blocks(&self) -> impl Iterator<Item = (StreamOffset, StreamOffset)> + '_ {
        self.blocks.iter().flatten().copied()
    }
}
