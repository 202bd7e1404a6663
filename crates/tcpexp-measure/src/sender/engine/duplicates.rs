//! Duplicate ACKs as received segments, for senders without SACK.

use tcpexp_flow::StreamOffset;

use super::Engine;
use super::stream::Stream;
use crate::sender::event::Acked;
use crate::sender::progress::Progress;
use crate::sender::recovery::RecoveryKind;

impl Engine<'_> {
    /// True if an ACK counts as a duplicate (RFC 5681, section 2).
    pub(super) fn is_duplicate(&self, acked: &Acked, before: &Stream) -> bool {
        // As in `tcp_may_update_window`, only a larger window makes a repeated ACK a window update.
        let has_grown = acked.window_bytes > before.window_bytes;
        acked.ack <= before.una && acked.is_bare && !self.board.is_empty() && !has_grown
    }

    /// Counts duplicate ACKs as received segments, without SACK (`tcp_add_reno_sack`,
    /// `tcp_remove_reno_sacks`). Returns the number of newly received segments.
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
            // One segment filled the hole; earlier duplicate ACKs stood for the other segments.
            let covered = progress.cumulative - 1;
            self.board.counted_duplicates = had.saturating_sub(covered);
            delivered = progress.cumulative.saturating_sub(had).max(1);
            // A partial ACK shows that the next segment is lost too (RFC 6582, section 3.2, step
            // 3).
            let is_partial = self.state.recovery().is_some_and(|recovery| {
                recovery.kind == RecoveryKind::Fast && !recovery.is_repaired_by(una, false)
            });
            if is_partial {
                self.board.mark_front_lost();
            } else {
                // Linux starts to count anew at any other ACK of new data (`tcp_reset_reno_sack`).
                self.board.counted_duplicates = 0;
            }
        }
        if is_duplicate {
            self.board.counted_duplicates += 1;
            delivered += 1;
        }
        // A duplicate ACK implies that at least one segment is missing (`tcp_limit_reno_sacked`).
        let holes = self.board.lost().max(1);
        let most = self.board.outstanding().saturating_sub(holes);
        self.board.counted_duplicates = self.board.counted_duplicates.min(most);
        delivered
    }
}
