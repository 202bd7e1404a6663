//! Segments that become shorter because the path MTU becomes smaller (RFC 1191, RFC 4821).

use super::Engine;
use crate::sender::event::Sent;
use crate::sender::row::SenderRow;

impl Engine<'_> {
    /// True if the number of segments in a packet is known.
    pub(super) fn counts_segments(&self) -> bool {
        self.subject.side.is_smss_known && !self.is_split
    }

    /// Processes a retransmission. If it ends within an earlier segment, the SMSS may be smaller now. The window
    /// counts segments, so it is unknown until a segment of the former SMSS shows that the SMSS has not changed.
    pub(super) fn watch_split(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
        let latest = self.board.missing(sent.start, sent.end).last();
        if !self.is_split && latest.is_some_and(|segment| sent.end < segment.end) {
            self.is_split = true;
            self.undecided.give_up(rows);
        }
    }
}
