//! Segments without an acknowledgment.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp, prefetch};

/// Segments sent once and not acknowledged, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    /// The oldest segment, stored inline: most ACKs need no other.
    oldest: Option<(StreamOffset, Timestamp)>,
    /// The segments after it.
    others: VecDeque<(StreamOffset, Timestamp)>,
}

impl Outstanding {
    /// Records a segment that ends before `end`, sent for the first time.
    #[inline]
    pub(super) fn sent(&mut self, end: StreamOffset, at: Timestamp) {
        if self.oldest.is_none() {
            self.oldest = Some((end, at));
        } else {
            if self.others.len() == self.others.capacity() {
                self.make_room();
            }
            self.others.push_back((end, at));
        }
    }

    /// Prefetches the segment after the oldest.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(next) = self.others.front() {
            prefetch(next);
        }
    }

    /// Makes room for an initial window (RFC 6928, section 2), then for four times as many segments.
    /// Allocates new memory, because growing in place takes a lock in common allocators.
    #[cold]
    fn make_room(&mut self) {
        let mut larger = VecDeque::with_capacity((4 * self.others.len()).max(16));
        larger.extend(self.others.drain(..));
        self.others = larger;
    }

    /// Records a retransmission: until all data in flight is acknowledged, an ACK may answer the
    /// retransmission or have waited for it (Karn's algorithm, RFC 6298, section 3).
    pub(super) fn sent_again(&mut self) {
        self.oldest = None;
        self.others.clear();
    }

    /// Releases the memory if no segment is left.
    pub(super) fn shrink(&mut self) {
        if self.others.is_empty() {
            self.others = VecDeque::new();
        }
    }

    /// The round-trip time shown by an ACK of all data before `ack`: the time since the newest
    /// covered segment was sent. It may contain the delay of a delayed ACK.
    #[inline]
    pub(super) fn acknowledged(&mut self, ack: StreamOffset, at: Timestamp) -> Option<TimeDelta> {
        let mut newest = None;
        while let Some((end, sent)) = self.oldest
            && end <= ack
        {
            newest = Some(sent);
            self.oldest = self.others.pop_front();
        }
        // A clock that was set back in between shows no time.
        newest.filter(|&sent| sent <= at).map(|sent| at - sent)
    }
}
