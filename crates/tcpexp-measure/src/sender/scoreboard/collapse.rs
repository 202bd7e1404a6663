//! Small segments that a retransmission joins to one.

use super::{KnownBlocks, Scoreboard};

impl Scoreboard {
    /// Joins a segment to the segment `head` before it, if one retransmission of at most `smss_bytes`
    /// carries both (`tcp_retrans_try_collapse`): from then on, the sender counts them as one. Returns true
    /// if it does.
    ///
    /// The segment keeps its number, so it stays on the scoreboard: empty, and skipped like a segment that the
    /// receiver has.
    pub(super) fn collapse(&mut self, head: usize, index: usize, smss_bytes: u32) -> bool {
        let joined = self.segments[index];
        if joined.end.since(self.segments[head].start) > i64::from(smss_bytes) {
            return false;
        }
        self.leave(&joined);
        self.collapsed += 1;
        self.segments[head].end = joined.end;
        // The ends stay in order: `range` searches them.
        for between in self.segments.range_mut(head + 1..index) {
            between.start = joined.end;
            between.end = joined.end;
        }
        let empty = &mut self.segments[index];
        empty.start = joined.end;
        empty.lost = false;
        empty.retransmitted = false;
        empty.sacked = true;
        empty.collapsed = true;
        empty.open += 1;
        // The moved start may lie within a known block.
        self.known = KnownBlocks::default();
        true
    }
}
