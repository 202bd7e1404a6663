//! The scoreboard of outstanding segments (RFC 6675, section 3), with running counters.

mod acknowledge;
mod collapse;

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::earlier_copy::is_of_earlier_copy;
use crate::sender::retransmissions::Retransmissions;

/// The segments between `snd_una` and `snd_nxt`, as the sender's kernel counts them.
///
/// Every step is constant time on average: each segment gets a number when it is first sent,
/// repeated SACK blocks skip known segments, and loss detection visits segments in transmission
/// order.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first segment.
    base: u64,
    /// Segment number and transmission number, in transmission order. An entry is out of date once
    /// the segment is retransmitted.
    order: VecDeque<(u64, u64)>,
    transmissions: u64,
    sacked: u32,
    /// Segments that a retransmission has joined to the segment before them.
    collapsed: u32,
    lost: u32,
    retransmitted: u32,
    /// Duplicate ACKs that each stand for a received segment, for receivers without SACK.
    pub(super) counted_duplicates: u32,
    /// The latest transmission known to be received, and its round-trip time (RFC 8985).
    rack: Option<(u64, TimeDelta)>,
    least_rtt: Option<TimeDelta>,
    /// SACK blocks of the latest ACK with any.
    known: KnownBlocks,
}

/// SACK blocks of one ACK: at most four (RFC 2018, section 3).
type KnownBlocks = [Option<KnownBlock>; 4];

/// A SACK block that has been processed.
#[derive(Clone, Copy, Debug)]
struct KnownBlock {
    left: StreamOffset,
    /// Number of the first segment behind it: it covers all outstanding segments from its left edge to
    /// this one.
    behind: u64,
}

#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the kernel's bits, each set on its own"
)]
pub(super) struct Segment {
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
    pub(super) sent: Timestamp,
    /// Timestamp of the first captured copy (`TSval`).
    stamp: Option<u32>,
    transmission: u64,
    /// Lower bound on the number of the next segment, from this one on, that is not selectively
    /// acknowledged.
    open: u64,
    /// True if the receiver has the segment, or if it is `collapsed`.
    pub(super) sacked: bool,
    /// True if the segment before it has taken over its data.
    collapsed: bool,
    pub(super) lost: bool,
    pub(super) retransmitted: bool,
    /// True once the segment was retransmitted, or if an earlier copy of it may have been sent that the capture
    /// missed.
    pub(super) again: bool,
}

impl Segment {
    /// The round-trip time that an ACK shows; `None` if the segment was retransmitted, or if the clock was set
    /// back in between.
    fn rtt(&self, at: Timestamp) -> Option<TimeDelta> {
        at.checked_since(self.sent).filter(|_| !self.again)
    }
}

impl Scoreboard {
    /// Number of transmissions so far, which is the number of the latest.
    pub(super) fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Number of outstanding segments (`packets_out`).
    pub(super) fn outstanding(&self) -> u32 {
        let all = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
        all - self.collapsed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Estimated segments in the network: outstanding, minus received and lost, plus retransmitted.
    pub(super) fn pipe(&self) -> u32 {
        let left = self.sacked + self.counted_duplicates + self.lost;
        // Without SACK, a segment may be marked lost while a duplicate ACK stands for it.
        (self.outstanding() + self.retransmitted).saturating_sub(left)
    }

    /// True if a segment marked lost is not retransmitted yet.
    pub(super) fn owes(&self) -> bool {
        self.lost > self.retransmitted
    }

    pub(super) fn has_retransmitted(&self) -> bool {
        self.retransmitted > 0
    }

    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    pub(super) fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Number of outstanding segments that the receiver has.
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(super) fn front(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// Minimum round-trip time of segments sent once.
    pub(super) fn least_rtt(&self) -> Option<TimeDelta> {
        self.least_rtt
    }

    /// Appends new data in segments of `smss_bytes`; returns their number.
    pub(super) fn append(
        &mut self,
        at: Timestamp,
        stamp: Option<u32>,
        (start, end): (StreamOffset, StreamOffset),
        smss_bytes: u32,
    ) -> u32 {
        let mut from = start;
        let mut count = 0;
        while from < end {
            // A super-packet (TSO) holds several segments, and the window of the kernel counts
            // segments.
            let to = from.plus(smss_bytes).min(end);
            let number = self.base + self.segments.len() as u64;
            self.transmissions += 1;
            self.order.push_back((number, self.transmissions));
            self.segments.push_back(Segment {
                start: from,
                end: to,
                sent: at,
                stamp,
                transmission: self.transmissions,
                open: number,
                sacked: false,
                collapsed: false,
                lost: false,
                retransmitted: false,
                again: false,
            });
            from = to;
            count += 1;
        }
        count
    }

    /// Gives no round-trip time for the segments from `start` on, because the capture missed when they were sent.
    #[cold]
    pub(super) fn hide_times(&mut self, start: StreamOffset) {
        let first = self.segments.partition_point(|s| s.start < start);
        self.segments
            .range_mut(first..)
            .for_each(|segment| segment.again = true);
    }

    /// Gives no round-trip time for the segments below `ack`, if its echo shows that it answers earlier copies of
    /// them, which the capture missed. Returns true if it does.
    #[inline]
    pub(super) fn compare_echo(&mut self, ack: StreamOffset, echo: Option<u32>) -> bool {
        let is_of_earlier_copy = self.segments.front().is_some_and(|front| {
            front.end <= ack
                && !front.again
                && !front.sacked
                && is_of_earlier_copy(front.stamp, echo)
        });
        if is_of_earlier_copy {
            self.segments
                .iter_mut()
                .take_while(|segment| segment.end <= ack)
                .for_each(|segment| segment.again = true);
        }
        is_of_earlier_copy
    }

    /// Indices of the segments that overlap a range.
    fn range(&self, start: StreamOffset, end: StreamOffset) -> std::ops::Range<usize> {
        let from = self.segments.partition_point(|s| s.end <= start);
        let to = self.segments.partition_point(|s| s.start < end);
        from..to.max(from)
    }

    /// The segments of a range that no SACK block covers.
    pub(super) fn missing(
        &self,
        start: StreamOffset,
        end: StreamOffset,
    ) -> impl Iterator<Item = &Segment> {
        self.segments
            .range(self.range(start, end))
            .filter(|segment| !segment.sacked)
    }

    /// Marks segments lost and retransmitted by one packet; returns their number.
    pub(super) fn send_again(
        &mut self,
        at: Timestamp,
        start: StreamOffset,
        end: StreamOffset,
        smss_bytes: u32,
    ) -> u32 {
        let mut count = 0;
        // The segment to which this packet may join the next.
        let mut head = None;
        for index in self.range(start, end) {
            let Segment {
                start: from,
                end: to,
                sacked,
                collapsed,
                ..
            } = self.segments[index];
            if sacked {
                head = head.filter(|_| collapsed);
                continue;
            }
            if to <= end && head.is_some_and(|head| self.collapse(head, index, smss_bytes)) {
                continue;
            }
            head = (from >= start && to <= end).then_some(index);
            // A retransmission shows that the sender considers the segment, or its latest copy,
            // lost.
            self.mark_index_lost(index);
            self.stamp(index, at);
            let segment = &mut self.segments[index];
            segment.retransmitted = true;
            self.retransmitted += 1;
            count += 1;
        }
        count
    }

    /// Notes a retransmission of segments that are not marked lost (tail loss probe, RFC 8985,
    /// section 7).
    pub(super) fn probe(&mut self, at: Timestamp, start: StreamOffset, end: StreamOffset) {
        for index in self.range(start, end) {
            if !self.segments[index].sacked {
                self.stamp(index, at);
            }
        }
    }

    fn stamp(&mut self, index: usize, at: Timestamp) {
        self.transmissions += 1;
        let number = self.base + index as u64;
        let segment = &mut self.segments[index];
        segment.sent = at;
        segment.again = true;
        segment.transmission = self.transmissions;
        self.order.push_back((number, self.transmissions));
    }

    /// Marks a segment lost, or its retransmission if it was retransmitted.
    fn mark_index_lost(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        if !segment.lost {
            segment.lost = true;
            self.lost += 1;
        }
        if segment.retransmitted {
            segment.retransmitted = false;
            self.retransmitted -= 1;
        }
    }

    /// Marks the first segment lost (RFC 6582, section 3.2); for senders without SACK.
    pub(super) fn mark_front_lost(&mut self) {
        if self.front().is_some_and(|front| !front.lost) {
            self.mark_index_lost(0);
        }
    }

    /// Marks segments lost after a timeout (`tcp_timeout_mark_lost`): the first segment and all
    /// others, except, with SACK, those sent less than a round trip ago.
    pub(super) fn time_out(&mut self, at: Timestamp, has_sack: bool) {
        let rack = self.rack.filter(|_| has_sack);
        let rtt = rack.map_or(TimeDelta::ZERO, |(_, rtt)| rtt);
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if !segment.sacked && (index == 0 || at - segment.sent >= rtt) {
                self.mark_index_lost(index);
            }
        }
        // `tcp_timeout_mark_lost` forgets the duplicate ACKs of a connection without SACK.
        self.counted_duplicates = 0;
    }

    fn place(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.base)).unwrap_or(usize::MAX)
    }

    /// Drops transmissions that can no longer be lost.
    fn forget(&mut self) {
        while let Some(&(number, transmission)) = self.order.front() {
            if self.is_pending(number, transmission) {
                break;
            }
            self.order.pop_front();
        }
    }

    fn is_pending(&self, number: u64, transmission: u64) -> bool {
        number >= self.base
            && self
                .segments
                .get(self.place(number))
                .is_some_and(|s| !s.sacked && s.transmission == transmission)
    }

    /// Marks segments lost that were sent at least a round trip ago and before the latest received
    /// segment (RFC 8985, section 6.2), and that the capture shows retransmitted later. Returns
    /// their number.
    ///
    /// The sender's own rule (its reordering window, with or without RACK) is not visible, but its
    /// outcome is: the sender retransmits the segments it considers lost.
    pub(super) fn detect(&mut self, at: Timestamp, place: u64, later: &Retransmissions) -> u32 {
        let Some((latest, rtt)) = self.rack else {
            return 0;
        };
        let mut marked = 0;
        while let Some(&(number, transmission)) = self.order.front() {
            if self.is_pending(number, transmission) {
                let index = self.place(number);
                let segment = self.segments[index];
                // Entries are in transmission order, so all later entries are too recent as well.
                if transmission > latest || at - segment.sent < rtt {
                    break;
                }
                let is_marked = segment.lost && !segment.retransmitted;
                if !is_marked && later.covers(segment.start, segment.end, place) {
                    self.mark_index_lost(index);
                    marked += 1;
                }
            }
            // One look is enough: a later transmission of the segment has an entry of its own.
            self.order.pop_front();
        }
        marked
    }

    /// Clears all loss marks, after the sender learnt that nothing was lost.
    pub(super) fn undo(&mut self) {
        // As in `tcp_undo_cwnd_reduction`, retransmissions stay in the network.
        for segment in &mut self.segments {
            segment.lost = false;
        }
        self.lost = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tcpexp_wire::SeqNum;

    use super::*;

    const SMSS: u32 = 100;

    fn offset(segment: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(u32::MAX - 500)).plus(segment * SMSS)
    }

    /// The counters, recounted from the segments.
    fn recount(board: &Scoreboard) -> (u32, u32, u32) {
        let count = |is: fn(&Segment) -> bool| {
            u32::try_from(board.segments.iter().filter(|s| is(s)).count()).unwrap()
        };
        (
            count(|s| s.sacked && !s.collapsed),
            count(|s| s.lost),
            count(|s| s.retransmitted),
        )
    }

    fn sacked(board: &Scoreboard) -> Vec<(StreamOffset, bool)> {
        let segments = board.segments.iter();
        segments.map(|s| (s.start, s.sacked)).collect()
    }

    #[test]
    fn clock_set_back_between_a_segment_and_its_ack_gives_no_round_trip_time() {
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        let mut board = Scoreboard::default();
        board.append(at(1_000), None, (offset(0), offset(3)), SMSS);
        let none = std::iter::empty;
        let before = board.acknowledge(at(1_040), offset(1), none());
        // The clock has been set back by 500 ms.
        let block = [(offset(2), offset(3))];
        let selective = board.acknowledge(at(541), offset(1), block.into_iter());
        let cumulative = board.acknowledge(at(542), offset(3), none());
        let rtts = [before, selective, cumulative].map(|progress| progress.latest_rtt());
        assert_eq!(rtts, [Some(TimeDelta::from_millis(40)), None, None]);
        assert_eq!(board.least_rtt(), Some(TimeDelta::from_millis(40)));
    }

    proptest! {
        #[test]
        fn counters_match_the_segments(steps in prop::collection::vec((0..5_u8, 0..40_u32, 1..8_u32), 1..200)) {
            let mut board = Scoreboard::default();
            let (mut una, mut nxt) = (0, 0);
            for (millis, (kind, from, count)) in (0..).zip(steps) {
                let at = Timestamp::from_nanos(millis * 1_000_000);
                let (left, right) = (una + from, (una + from + count).min(nxt));
                match kind {
                    0 => {
                        board.append(at, None, (offset(nxt), offset(nxt + count)), SMSS);
                        nxt += count;
                    }
                    1 if left < right => {
                        let block = [(offset(left), offset(right))];
                        board.acknowledge(at, offset(una), block.into_iter());
                    }
                    2 => {
                        una = (una + count).min(nxt);
                        board.acknowledge(at, offset(una), std::iter::empty());
                    }
                    3 => {
                        board.send_again(at, offset(left), offset(right.max(left)), SMSS);
                    }
                    _ if from == 0 => board.time_out(at, true),
                    _ => {}
                }
                prop_assert_eq!(recount(&board), (board.sacked, board.lost, board.retransmitted));
                prop_assert_eq!(board.outstanding(), nxt - una);
                prop_assert!(board.pipe() <= board.outstanding() + board.retransmitted);
            }
        }

        #[test]
        fn known_blocks_change_no_result(
            steps in prop::collection::vec(
                (0..6_u8, 0..1_200_u32, prop::collection::vec((0..12_u32, 0..900_u32), 0..5)),
                1..200,
            ),
        ) {
            let [mut board, mut searching] = [Scoreboard::default(), Scoreboard::default()];
            let byte = |bytes: u32| offset(0).plus(bytes);
            let (mut una, mut nxt) = (0, 0);
            for (millis, (kind, bytes, blocks)) in (0..).zip(steps) {
                let at = Timestamp::from_nanos(millis * 1_000_000);
                if kind == 0 {
                    for board in [&mut board, &mut searching] {
                        board.append(at, None, (byte(nxt), byte(nxt + bytes)), SMSS);
                    }
                    nxt += bytes;
                } else if kind == 5 {
                    for board in [&mut board, &mut searching] {
                        board.send_again(at, byte(una), byte((una + bytes).min(nxt)), SMSS);
                    }
                } else {
                    // An ACK may end within a segment, and may acknowledge nothing new.
                    if kind == 1 {
                        una = (una + bytes / 4).min(nxt);
                    }
                    // Few left edges, so that most are those of an earlier block.
                    let left = |edge: u32| byte(una / 500 * 500 + edge * 50);
                    let blocks = blocks.iter().map(|&(edge, length)| (left(edge), left(edge).plus(length)));
                    searching.known = KnownBlocks::default();
                    let found = searching.acknowledge(at, byte(una), blocks.clone());
                    let known = board.acknowledge(at, byte(una), blocks);
                    prop_assert_eq!(format!("{found:?}"), format!("{known:?}"));
                }
                prop_assert_eq!(sacked(&board), sacked(&searching));
                prop_assert_eq!(recount(&board), (board.sacked, board.lost, board.retransmitted));
                let collapsed = board.segments.iter().filter(|s| s.collapsed).count();
                prop_assert_eq!(collapsed, board.collapsed as usize);
            }
        }
    }
}
