//! Processes ACKs and their SACK blocks.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::Timestamp;

use super::{KnownBlock, KnownBlocks, Scoreboard, Segment};
use crate::sender::progress::Progress;

/// An empty scoreboard keeps memory for this many segments, so that short answers allocate nothing.
const KEPT_SEGMENTS: usize = 8;

impl Scoreboard {
    /// Processes an ACK and its SACK blocks; returns the progress.
    pub(in crate::sender) fn acknowledge(
        &mut self,
        at: Timestamp,
        ack: StreamOffset,
        blocks: impl Iterator<Item = (StreamOffset, StreamOffset)>,
    ) -> Progress {
        let mut progress = Progress::default();
        while self.segments.front().is_some_and(|s| s.end <= ack) {
            let Some(segment) = self.segments.pop_front() else {
                break;
            };
            self.base += 1;
            self.leave(&segment);
            progress.cumulative += 1;
            progress.has_retransmitted |= segment.again;
            // A SACK block has reported the segment as delivered before.
            if segment.collapsed {
                self.collapsed -= 1;
                progress.cumulative -= 1;
            } else if segment.sacked {
                self.sacked -= 1;
            } else {
                progress.delivered += 1;
                self.arrived(at, &segment);
                progress.arrive(segment.transmission, segment.rtt(at));
                // Karn's algorithm: only a segment sent once gives a round-trip time (RFC 6298,
                // section 3).
                if !segment.again {
                    progress.arrive_once(segment.start);
                    progress.first_acked.get_or_insert(segment.sent);
                }
            }
        }
        // The sender's segments may have other boundaries than ours, so an ACK may end within a
        // segment.
        if let Some(front) = self.segments.front_mut()
            && front.start < ack
        {
            front.start = ack;
            // The moved start may lie within a known block.
            self.known = KnownBlocks::default();
        }
        let mut known = KnownBlocks::default();
        for (block, (left, right)) in blocks.enumerate() {
            let behind = self.sack(at, left, right, &mut progress);
            if let Some(place) = known.get_mut(block) {
                *place = behind.map(|behind| KnownBlock { left, behind });
            }
        }
        if known.iter().any(Option::is_some) {
            self.known = known;
        }
        self.forget();
        self.rest();
        progress
    }

    /// Frees the memory of a sender without outstanding data: a capture has many thousands of them.
    fn rest(&mut self) {
        if self.segments.is_empty() && self.segments.capacity() > KEPT_SEGMENTS {
            self.segments = VecDeque::new();
            self.order = VecDeque::new();
        }
    }

    /// Processes a SACK block; returns the number of the first segment behind those that it covers, if
    /// a segment begins in or behind the block.
    fn sack(
        &mut self,
        at: Timestamp,
        left: StreamOffset,
        right: StreamOffset,
        progress: &mut Progress,
    ) -> Option<u64> {
        let last = self.segments.len().checked_sub(1)?;
        // Receivers repeat each block in two more ACKs (RFC 2018, section 4), and extend it to the right:
        // the segments from its left edge to its end in the ACK before are known.
        let known = self.known.iter().flatten().find(|block| block.left == left);
        let first = match known {
            Some(block) => self.place(block.behind),
            None => self.segments.partition_point(|s| s.start < left),
        };
        let is_known = known.is_some() || first <= last;
        let mut index = self.open_from(first);
        // A block that covers part of a segment leaves it missing: the sender must send the rest.
        while index <= last && self.segments[index].end <= right {
            let segment = self.segments[index];
            // As in `tcp_sacktag_one`, the copy of a segment that is not marked lost stays in the
            // network.
            if segment.lost {
                self.leave(&segment);
                self.segments[index].retransmitted = false;
            }
            let changed = &mut self.segments[index];
            changed.lost = false;
            changed.sacked = true;
            changed.open += 1;
            self.sacked += 1;
            progress.delivered += 1;
            if !segment.again {
                progress.arrive_once(segment.start);
                progress.first_sacked.get_or_insert(segment.sent);
            }
            self.arrived(at, &segment);
            progress.arrive(segment.transmission, segment.rtt(at));
            index = self.open_from(index);
        }
        is_known.then_some(self.base + index as u64)
    }

    /// The first segment from `index` on that is not selectively acknowledged. Compresses the path
    /// of `open` numbers to it.
    fn open_from(&mut self, mut index: usize) -> usize {
        let start = index;
        while index < self.segments.len() {
            let next = self.place(self.segments[index].open);
            if next == index {
                break;
            }
            index = next;
        }
        let number = self.base + index as u64;
        let mut behind = start;
        while behind < index {
            let next = self.place(self.segments[behind].open);
            self.segments[behind].open = number;
            behind = next;
        }
        index
    }

    /// Removes a segment from the counters of lost and retransmitted segments.
    pub(super) fn leave(&mut self, segment: &Segment) {
        self.lost -= u32::from(segment.lost);
        self.retransmitted -= u32::from(segment.retransmitted);
    }

    fn arrived(&mut self, at: Timestamp, segment: &Segment) {
        let Some(rtt) = at.checked_since(segment.sent) else {
            return;
        };
        if segment.again {
            // Too early for the retransmission: the ACK is for the original.
            if self.least_rtt.is_none_or(|least| rtt < least) {
                return;
            }
        } else {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        // RFC 8985, section 6.2, step 2: keep the latest transmission known to be delivered.
        if self
            .rack
            .is_none_or(|(latest, _)| segment.transmission > latest)
        {
            self.rack = Some((segment.transmission, rtt));
        }
    }
}
