//! Senders without SACK: what duplicate ACKs stand for.

use tcpexp_flow::StreamOffset;

use super::Engine;
use crate::sender::event::Acked;
use crate::sender::progress::Progress;
use crate::sender::recovery::State;

impl Engine<'_> {
    /// Whether an ACK counts as a duplicate (RFC 5681, section 2).
    pub(super) fn is_duplicate(&self, acked: &Acked, advanced: bool) -> bool {
        let has_grown = acked.window_bytes > self.window_bytes;
        !advanced && acked.is_bare && !self.board.is_empty() && !has_grown
    }

    /// Without SACK each duplicate ACK stands for a segment that arrived, whichever it was
    /// (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`); tells how many segments have newly arrived.
    pub(super) fn count_duplicates(
        &mut self,
        progress: &Progress,
        una: StreamOffset,
        is_duplicate: bool,
        had: u32,
    ) -> u32 {
        let mut delivered = 0;
        let advanced = progress.cumulative > 0;
        if advanced {
            let covered = progress.cumulative - 1;
            self.board.counted_duplicates = had.saturating_sub(covered);
            delivered = progress.cumulative.saturating_sub(had).max(1);
            match self.recovery.state {
                State::Recovery if !self.is_repaired_by(una) => {
                    self.board.mark_front_lost();
                }
                _ => self.board.counted_duplicates = 0,
            }
        }
        if is_duplicate {
            self.board.counted_duplicates += 1;
            delivered += 1;
        }
        let holes = self.board.lost().max(1);
        let most = self.board.outstanding().saturating_sub(holes);
        self.board.counted_duplicates = self.board.counted_duplicates.min(most);
        delivered
    }
}
