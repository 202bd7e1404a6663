//! Segments without an acknowledgment.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp, prefetch};

use crate::missed::has_missed_data;

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

    /// The round-trip times shown by an ACK of all data before `ack`. `nxt` is the end of the captured data: an
    /// ACK beyond it is of data that the capture missed, so the capture may have missed an earlier ACK too.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        ack: StreamOffset,
        at: Timestamp,
        nxt: Option<StreamOffset>,
    ) -> Option<AckRtt> {
        let (end, oldest) = self.oldest?;
        if end > ack {
            return None;
        }
        let mut newest = oldest;
        while let Some((end, sent)) = self.oldest
            && end <= ack
        {
            newest = sent;
            self.oldest = self.others.pop_front();
        }
        let is_known = nxt.is_none_or(|nxt| !has_missed_data(ack, nxt));
        is_known.then_some(())?;
        Some(AckRtt {
            sample: at.checked_since(oldest)?,
            least: at.checked_since(newest)?,
        })
    }
}

/// The round-trip times shown by one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AckRtt {
    /// Time since the oldest covered segment was sent. It contains the delay of a delayed ACK, as the sender's
    /// own sample does (RFC 7323, section 4.3; `tcp_clean_rtx_queue` of Linux).
    pub(super) sample: TimeDelta,
    /// Time since the newest covered segment was sent: closer to the round trip of the path.
    pub(super) least: TimeDelta,
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    #[test]
    fn delayed_ack_is_timed_from_the_oldest_segment_that_it_covers() {
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        let end = |bytes: u32| StreamOffset::first(SeqNum(0)).plus(bytes);
        let mut outstanding = Outstanding::default();
        for (place, millis) in [(1, 0), (2, 6), (3, 12)] {
            outstanding.sent(end(1000 * place), at(millis));
        }
        let nxt = Some(end(3000));
        let times = |sample: i64, least: i64| {
            let [sample, least] = [sample, least].map(TimeDelta::from_millis);
            Some(AckRtt { sample, least })
        };
        assert_eq!(outstanding.acknowledged(end(500), at(7), nxt), None);
        assert_eq!(outstanding.acknowledged(end(2000), at(7), nxt), times(7, 1));
        assert_eq!(
            outstanding.acknowledged(end(3000), at(20), nxt),
            times(8, 8)
        );
    }

    #[test]
    fn ack_of_data_that_the_capture_missed_is_not_timed() {
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        let end = |bytes: u32| StreamOffset::first(SeqNum(0)).plus(bytes);
        let mut outstanding = Outstanding::default();
        outstanding.sent(end(1000), at(0));
        let nxt = Some(end(1000));
        assert_eq!(outstanding.acknowledged(end(3000), at(900), nxt), None);
        outstanding.sent(end(4000), at(1000));
        let timed = outstanding.acknowledged(end(4000), at(1040), Some(end(4000)));
        assert_eq!(
            timed.map(|rtt| rtt.sample),
            Some(TimeDelta::from_millis(40))
        );
    }
}
