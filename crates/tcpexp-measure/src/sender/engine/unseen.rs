//! Data that was lost before it reached a capture away from the sender.
//!
//! Such data left the sender before the data behind it, but only the window shows when. Without
//! these rules, a burst of losses would seem to leave with the first data that survives, after the
//! first retransmission. The recovery would then not cover the burst and would end a round trip too
//! early.

use tcpexp_units::Timestamp;

use super::Engine;
use super::state::State;
use crate::sender::event::{Located, Sent};
use crate::sender::reduction::scaled;
use crate::sender::row::SenderRow;

/// Minimum length of a burst of losses in segments. Measured with random losses of 15 %: runs of
/// one or two lost segments occur as often after the retransmission as before it.
const MIN_BURST: u32 = 3;

impl Engine<'_> {
    /// Sends unseen data as far as the window allows.
    pub(in crate::sender) fn fill(
        &mut self,
        at: Timestamp,
        packet: Located,
        rows: &mut impl Extend<SenderRow>,
    ) {
        // Segments received behind a loss count as well: what the sender does with the room that
        // they leave belongs to the recovery.
        let room = self.window.cwnd.saturating_sub(self.board.outstanding());
        self.send_unseen(at, packet, room, rows);
    }

    /// Sends unseen data before the first retransmission of a recovery, if the recovery cannot have
    /// sent it.
    pub(in crate::sender) fn fill_burst(
        &mut self,
        at: Timestamp,
        packet: Located,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let Some(bytes) = self.unseen_bytes() else {
            return;
        };
        let segments = u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .div_ceil(self.subject.side.smss_bytes);
        // A recovery sends in proportion to the delivered segments (RFC 6937, section 3).
        let (sacked, cwnd) = (self.board.sacked(), self.window.cwnd);
        let threshold = self.backoff.threshold(cwnd).unwrap_or(cwnd);
        let repairs = sacked > 0;
        if repairs && segments >= MIN_BURST && segments > scaled(sacked, (threshold, cwnd)) {
            self.send_unseen(at, packet, segments, rows);
            // The window holds all that is outstanding when the first loss shows.
            self.window.hold(self.board.outstanding());
        }
    }

    /// True if the packet begins with data sent before.
    pub(in crate::sender) fn is_again(&self, sent: &Sent) -> bool {
        self.stream.is_some_and(|stream| sent.start < stream.nxt)
    }

    /// Sends up to `segments` of the unseen data that follows `snd_nxt`.
    fn send_unseen(
        &mut self,
        at: Timestamp,
        packet: Located,
        segments: u32,
        rows: &mut impl Extend<SenderRow>,
    ) {
        let (Some(stream), Some(unseen)) = (self.stream, self.unseen_bytes()) else {
            return;
        };
        let allowed = i64::from(segments) * i64::from(self.subject.side.smss_bytes);
        let end = stream.nxt.moved(unseen.min(allowed));
        if end > stream.nxt {
            let sent = Sent {
                at,
                packet,
                start: stream.nxt,
                end,
                stamp: None,
            };
            self.send(&sent, rows);
        }
    }

    /// Bytes of unseen data that follow `snd_nxt`; `None` unless the window limits the sender
    /// outside of a recovery.
    fn unseen_bytes(&self) -> Option<i64> {
        let stream = self.stream?;
        let end = self.subject.side.unseen.end(stream.nxt)?;
        // During a recovery the window follows from what is sent, and after it the next
        // transmission shows the window.
        let is_open = matches!(self.state, State::Open | State::Regrowing(_));
        let is_closed = self.is_held_by_receiver(&stream);
        (is_open && self.window.is_filled && !is_closed).then(|| end.since(stream.nxt))
    }
}
