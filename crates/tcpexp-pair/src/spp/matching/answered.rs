//! Data that arrives after the receiver has acknowledged it, or while the receiver waits for it.
//!
//! A receiver acknowledges only data that it has (RFC 9293, section 3.4). If a retransmission arrives
//! after its bytes were acknowledged there, and the capture showed none of these bytes before, the
//! capture missed an earlier transmission. If the receiver has acknowledged all data before these
//! bytes, but not these bytes, it still waits for them, so the earlier transmission was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tcpexp_flow::{StreamOffset, is_after};

/// Number of acknowledgments and of ranges remembered: those of a round trip with a window of 64 MB.
const REMEMBERED: usize = 65_536;

/// Acknowledgments that left the point where retransmissions arrive.
#[derive(Debug)]
pub(super) struct Answered {
    /// Highest acknowledgment before the last arrival, if one is known.
    acked: Option<StreamOffset>,
    /// Place (lower half) and value of later ones, both increasing.
    acks: VecDeque<(u32, StreamOffset)>,
    /// Ranges of bytes that arrived only after their acknowledgment: ends by starts.
    late: BTreeMap<StreamOffset, StreamOffset>,
    /// Bytes that the receiver waited for when they arrived for the first time.
    awaited: BTreeSet<StreamOffset>,
}

impl Answered {
    /// Begins with the first retransmission; `last` is the place (lower half) and value of
    /// the highest acknowledgment so far.
    pub(super) fn since(last: Option<(u32, StreamOffset)>) -> Self {
        Self {
            acked: None,
            // Arrivals before it may follow.
            acks: last.into_iter().collect(),
            late: BTreeMap::new(),
            awaited: BTreeSet::new(),
        }
    }

    /// Adds an acknowledgment that is higher than all before.
    pub(super) fn acknowledge(&mut self, place: u32, ack: StreamOffset) {
        self.acks.push_back((place, ack));
        if self.acks.len() > REMEMBERED {
            self.acks.pop_front();
        }
    }

    /// Adds bytes that arrive for the first time, at this place (lower half).
    pub(super) fn arrive(&mut self, place: u32, start: StreamOffset, end: StreamOffset) {
        let Some(acked) = self.acked_at(place) else {
            return;
        };
        if end <= acked {
            self.late.insert(start, end);
            if self.late.len() > REMEMBERED {
                self.late.pop_first();
            }
        } else if start <= acked {
            self.awaited.insert(acked);
            if self.awaited.len() > REMEMBERED {
                self.awaited.pop_first();
            }
        }
    }

    /// True if the receiver waits for one of these bytes, which arrive at this place (lower half).
    pub(super) fn waits_at(&mut self, place: u32, start: StreamOffset, end: StreamOffset) -> bool {
        let acked = self.acked_at(place);
        acked.is_some_and(|acked| (start..end).contains(&acked))
    }

    /// The highest acknowledgment before the arrival at this place (lower half), if one is known.
    fn acked_at(&mut self, place: u32) -> Option<StreamOffset> {
        while let Some(&(of_ack, ack)) = self.acks.front()
            && is_after(place, of_ack)
        {
            self.acked = Some(ack);
            self.acks.pop_front();
        }
        self.acked
    }

    /// True if the receiver waited for one of these bytes when it arrived for the first time.
    pub(super) fn was_awaited(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.awaited.range(start..end).next().is_some()
    }

    /// True if any of these bytes arrived after their acknowledgment only.
    pub(super) fn has(&self, start: StreamOffset, end: StreamOffset) -> bool {
        // Bytes arrive for the first time once, so the ranges are disjoint.
        overlaps(&self.late, start, end)
    }
}

/// True if one of the disjoint `ranges`, which are ends by their starts, has any of these bytes.
pub(super) fn overlaps(
    ranges: &BTreeMap<StreamOffset, StreamOffset>,
    start: StreamOffset,
    end: StreamOffset,
) -> bool {
    let last = ranges.range(..end).next_back();
    last.is_some_and(|(_, &to)| to > start)
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    #[test]
    fn only_bytes_acknowledged_at_an_earlier_place_are_late() {
        let at = |byte: u32| StreamOffset::first(SeqNum(0)).plus(byte);
        let before = u32::MAX - 1;
        let mut answered = Answered::since(Some((before - 2, at(100))));
        answered.arrive(before - 3, at(0), at(50));
        answered.arrive(before - 1, at(50), at(100));
        answered.acknowledge(before, at(200));
        answered.acknowledge(before.wrapping_add(5), at(300));
        answered.arrive(before.wrapping_add(3), at(200), at(300));
        answered.arrive(before.wrapping_add(4), at(100), at(200));
        let late = [(0, 50), (50, 51), (100, 101), (150, 250), (200, 300)];
        let late = late.map(|(start, end)| answered.has(at(start), at(end)));
        assert_eq!(late, [false, true, true, true, false]);
    }

    #[test]
    fn receiver_waits_for_the_bytes_after_its_latest_acknowledgment() {
        let at = |byte: u32| StreamOffset::first(SeqNum(0)).plus(byte);
        let mut answered = Answered::since(Some((1, at(100))));
        answered.arrive(3, at(200), at(300));
        answered.arrive(5, at(100), at(200));
        answered.acknowledge(6, at(300));
        answered.arrive(7, at(200), at(350));
        let awaited = [(0, 100), (100, 200), (200, 250), (250, 350)];
        let awaited = awaited.map(|(start, end)| answered.was_awaited(at(start), at(end)));
        assert_eq!(awaited, [false, true, false, true]);
    }
}
