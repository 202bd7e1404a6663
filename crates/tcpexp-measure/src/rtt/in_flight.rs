//! The segments of one direction that are not acknowledged yet.

use std::collections::VecDeque;

use tcpexp_flow::{DoubtedAck, MAX_WINDOW_BYTES, Segment, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::missed::has_missed_data;
use crate::mss::LONGEST_ETHERNET_BYTES;
use crate::rto::LINUX_RTO_MAX;

/// Maximum waiting time for an ACK or an echo: Linux's maximum retransmission timeout.
pub(super) const EXPIRY: TimeDelta = LINUX_RTO_MAX;
/// Maximum number of stored segments: 10 Gbit/s for 300 ms in full frames.
const MAX_SEGMENTS: usize = 1 << 18;
/// Maximum number of stored segments before the first packet of the other end, which may never
/// come.
const MAX_SEGMENTS_ONE_WAY: usize = 1 << 10;

/// The segments of one direction that are not acknowledged yet.
///
/// Unacknowledged segments are dropped after two minutes or above the maximum number.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Sorted by stream offset, without overlap.
    segments: VecDeque<Sent>,
    /// All data before this offset is acknowledged or dropped.
    floor: Option<StreamOffset>,
    /// An ACK of data that was not captured. The floor stays below it until the data after it shows whether
    /// it is believable.
    doubted: Option<DoubtedAck>,
    furthest: Option<StreamOffset>,
}

/// A segment, or a separately acknowledged part of a segment.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: StreamOffset,
    end: StreamOffset,
    at: Timestamp,
    /// All data from `start` to this offset is selectively acknowledged, if this part is.
    sacked_to: StreamOffset,
    /// `TSval`.
    stamp: Option<u32>,
    ip_id: Option<u16>,
    is_sacked: bool,
    is_sent_again: bool,
    is_syn: bool,
}

/// The segment whose round-trip time an ACK shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) offset: StreamOffset,
    pub(super) at: Timestamp,
    pub(super) stamp: Option<u32>,
    pub(super) is_syn: bool,
}

/// The data newly acknowledged by an acknowledgment number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    /// The lowest segment not selectively acknowledged before, if all segments were sent once.
    pub(super) timed: Option<Timed>,
    /// True if the ACK newly acknowledges data in flight.
    pub(super) is_new: bool,
    /// True if part of the data was retransmitted.
    pub(super) is_ambiguous: bool,
    /// True if the capture missed part of the data. The capture may then have missed an earlier ACK of the rest.
    pub(super) has_missed: bool,
}

impl InFlight {
    /// Records a segment that takes sequence numbers.
    pub(super) fn send(&mut self, segment: &Segment, is_other_end_captured: bool) {
        let start = self
            .floor
            .map_or(segment.start, |floor| segment.start.max(floor));
        let end = segment.end();
        if end <= start {
            return;
        }
        self.furthest = Some(self.furthest.map_or(end, |furthest| furthest.max(end)));
        let sent = Sent {
            start,
            end,
            at: segment.seen.at,
            sacked_to: start,
            stamp: segment.timestamps.map(|(stamp, _)| stamp),
            // An identification of zero does not identify a packet.
            ip_id: segment.seen.ip_id.filter(|id| *id != 0),
            is_sacked: false,
            is_sent_again: false,
            is_syn: segment.flags.syn(),
        };
        match self.segments.back() {
            Some(last) if start < last.end => self.send_out_of_order(sent),
            _ => self.segments.push_back(sent),
        }
        let most = if is_other_end_captured {
            MAX_SEGMENTS
        } else {
            MAX_SEGMENTS_ONE_WAY
        };
        self.give_up_old(segment.seen.at, most);
    }

    /// Makes the answers to all segments in flight ambiguous, because the first answer to each may be missing.
    pub(super) fn doubt(&mut self) {
        self.segments
            .iter_mut()
            .for_each(|sent| sent.is_sent_again = true);
    }

    /// End of the data sent so far (`SND.NXT` of RFC 9293).
    pub(super) fn furthest(&self) -> Option<StreamOffset> {
        self.furthest
    }

    /// True if data waits for an ACK and `ack` acknowledges none of it.
    pub(super) fn is_duplicate(&self, ack: StreamOffset) -> bool {
        self.acknowledged() == Some(ack) && !self.segments.is_empty()
    }

    /// All data before this offset is acknowledged or dropped, if the ACKs are believable.
    fn acknowledged(&self) -> Option<StreamOffset> {
        self.doubted.map(|doubted| doubted.ack).max(self.floor)
    }

    /// True if an acknowledgment up to `edge` is further ahead of the data than a window, so that it does not
    /// belong to the connection.
    fn is_made_up(&self, edge: StreamOffset) -> bool {
        self.furthest
            .is_some_and(|furthest| edge.since(furthest) > MAX_WINDOW_BYTES)
    }

    /// Number of segments in flight before `ack`. A packet that is longer than a segment on Ethernet may hold
    /// several segments.
    #[cold]
    pub(super) fn segments_before(&self, ack: StreamOffset) -> u32 {
        let before = self.segments.iter().take_while(|sent| sent.start < ack);
        let segments = before.map(|sent| {
            let bytes = u32::try_from(sent.end.min(ack).since(sent.start)).unwrap_or(u32::MAX);
            bytes.div_ceil(LONGEST_ETHERNET_BYTES)
        });
        segments.fold(0, u32::saturating_add)
    }

    /// Processes a cumulative acknowledgment up to `ack`.
    pub(super) fn acknowledge(&mut self, ack: StreamOffset) -> Acked {
        let mut acked = Acked::default();
        self.settle_doubt(ack);
        let is_old = self.acknowledged().is_some_and(|floor| ack <= floor);
        if is_old || self.is_made_up(ack) {
            return acked;
        }
        match self.furthest.filter(|furthest| ack > *furthest) {
            Some(furthest) => {
                acked.has_missed = has_missed_data(ack, furthest);
                let before = self.doubted;
                self.doubted = Some(DoubtedAck::raised(before, ack, furthest));
                // Data sent since the first doubted ACK is not in flight if that ACK is believable.
                if before.is_some() {
                    return acked;
                }
                self.floor = self.floor.max(Some(furthest));
            }
            None => self.floor = Some(ack),
        }
        while let Some(sent) = self.segments.front_mut() {
            if sent.start >= ack {
                break;
            }
            acked.is_new = true;
            acked.is_ambiguous |= sent.is_sent_again;
            if !sent.is_sacked && acked.timed.is_none() {
                acked.timed = Some(sent.timed());
            }
            // The rest of a super-packet waits for a later ACK.
            if sent.end > ack {
                sent.start = ack;
                break;
            }
            self.segments.pop_front();
        }
        // Karn's algorithm: the ACK may answer either transmission (RFC 6298, section 3).
        if acked.is_ambiguous {
            acked.timed = None;
        }
        acked
    }

    /// Ends the doubt about an ACK if `ack` decides whether it was of data never sent.
    #[inline]
    fn settle_doubt(&mut self, ack: StreamOffset) {
        if self.doubted.is_some() {
            self.settle_doubt_by(ack);
        }
    }

    #[cold]
    fn settle_doubt_by(&mut self, ack: StreamOffset) {
        let Some((doubted, furthest)) = self.doubted.zip(self.furthest) else {
            return;
        };
        if doubted.is_refuted_by(ack, furthest, |from, to| self.holds(from, to)) {
            self.doubted = None;
        } else if ack >= doubted.ack && furthest >= doubted.ack {
            self.doubted = None;
            self.floor = self.floor.max(Some(doubted.ack));
            // Data below the ACK was sent again after it.
            self.cut(doubted.ack);
            let below = self
                .segments
                .partition_point(|sent| sent.start < doubted.ack);
            self.segments.drain(..below);
        }
    }

    /// True if all data from `from` up to but not including `to` is in flight.
    fn holds(&self, from: StreamOffset, to: StreamOffset) -> bool {
        let first = self.segments.partition_point(|sent| sent.end <= from);
        let mut end = from;
        for sent in self.segments.range(first..) {
            if sent.start > end || end >= to {
                break;
            }
            end = sent.end;
        }
        from < to && end >= to
    }

    /// Processes a SACK block from `left` to `right`; returns the newly acknowledged data.
    pub(super) fn sack(&mut self, left: StreamOffset, right: StreamOffset) -> Sacked {
        let left = self.acknowledged().map_or(left, |floor| left.max(floor));
        let mut sacked = Sacked {
            has_missed: !self.is_made_up(right)
                && self
                    .furthest
                    .is_some_and(|furthest| has_missed_data(right, furthest)),
            ..Sacked::default()
        };
        if right <= left {
            return sacked;
        }
        // A block may acknowledge some of the segments in a super-packet.
        self.cut(left);
        self.cut(right);
        let first = self.segments.partition_point(|sent| sent.start < left);
        let Some(run) = self.segments.get(first).filter(|sent| sent.start < right) else {
            return sacked;
        };
        // Skip the part known from earlier ACKs: a receiver repeats its blocks.
        let known_to = run.sacked_to;
        let from = if run.is_sacked && known_to > left {
            self.segments.partition_point(|sent| sent.start < known_to)
        } else {
            first
        };
        for sent in self.segments.range_mut(from..) {
            if sent.start >= right {
                break;
            }
            if !sent.is_sacked {
                sent.is_sacked = true;
                sacked.is_new = true;
                if !sent.is_sent_again && sacked.timed.is_none() {
                    sacked.timed = Some(sent.timed());
                }
            }
        }
        let run = &mut self.segments[first];
        run.sacked_to = run.sacked_to.max(right);
        sacked
    }

    /// Records a segment that does not follow all others: it overlaps sent data or fills a hole.
    #[cold]
    fn send_out_of_order(&mut self, sent: Sent) {
        self.cut(sent.start);
        self.cut(sent.end);
        let mut index = self
            .segments
            .partition_point(|other| other.end <= sent.start);
        let mut from = sent.start;
        while from < sent.end {
            let next = self.segments.get_mut(index);
            match next.filter(|other| other.start < sent.end) {
                Some(other) if other.start <= from => {
                    // A duplicate record is not a retransmission.
                    let is_copy = sent.ip_id.is_some() && sent.ip_id == other.ip_id;
                    other.is_sent_again |= !is_copy;
                    from = other.end;
                }
                other => {
                    let end = other.map_or(sent.end, |other| other.start);
                    let part = Sent {
                        start: from,
                        end,
                        sacked_to: from,
                        ..sent
                    };
                    self.segments.insert(index, part);
                    from = end;
                }
            }
            index += 1;
        }
    }

    /// Splits the segment that contains `offset`, if any.
    fn cut(&mut self, offset: StreamOffset) {
        let index = self.segments.partition_point(|sent| sent.end <= offset);
        let Some(sent) = self.segments.get_mut(index) else {
            return;
        };
        if sent.start < offset {
            let rest = Sent {
                start: offset,
                ..*sent
            };
            sent.end = offset;
            self.segments.insert(index + 1, rest);
        }
    }

    fn give_up_old(&mut self, now: Timestamp, most: usize) {
        while let Some(oldest) = self.segments.front() {
            if self.segments.len() <= most && now - oldest.at <= EXPIRY {
                break;
            }
            let end = oldest.end;
            self.floor = Some(self.floor.map_or(end, |floor| floor.max(end)));
            self.segments.pop_front();
        }
    }
}

/// The data newly acknowledged by a SACK block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sacked {
    /// The lowest segment sent once.
    pub(super) timed: Option<Timed>,
    /// True if the block acknowledges new data.
    pub(super) is_new: bool,
    /// True if the capture missed part of the data in the block.
    pub(super) has_missed: bool,
}

impl Sent {
    fn timed(&self) -> Timed {
        Timed {
            offset: self.start,
            at: self.at,
            stamp: self.stamp,
            is_syn: self.is_syn,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use tcpexp_testkit::scripted::segments;

    /// `count` segments of 10 bytes, a millisecond apart.
    fn upload(count: u32) -> Vec<Segment> {
        let mut trace = String::new();
        for number in 0..count {
            let (seconds, millis) = (number / 1000, number % 1000);
            let start = 1 + number * 10;
            let end = start + 10;
            writeln!(trace, "{seconds}.{millis:03} > {start}:{end}(10)").unwrap();
        }
        segments(&trace)
    }

    #[test]
    fn acknowledged_segments_are_forgotten() {
        let mut in_flight = InFlight::default();
        for segment in upload(3_000) {
            in_flight.send(&segment, true);
            assert!(in_flight.acknowledge(segment.end()).timed.is_some());
        }
        assert_eq!(in_flight.segments.len(), 0);
        // The allocation does not grow either.
        assert!(in_flight.segments.capacity() < 16);
    }

    #[test]
    fn few_segments_are_kept_if_the_other_end_is_not_captured() {
        let mut in_flight = InFlight::default();
        for segment in upload(3_000) {
            in_flight.send(&segment, false);
            assert!(in_flight.segments.len() <= MAX_SEGMENTS_ONE_WAY);
        }
    }

    #[test]
    fn segments_unacknowledged_for_minutes_expire() {
        let mut in_flight = InFlight::default();
        for segment in segments("0.0 > 1:11(10)\n1.0 > 11:21(10)\n120.5 > 21:31(10)") {
            in_flight.send(&segment, true);
        }
        assert_eq!(in_flight.segments.len(), 2);
    }

    #[test]
    fn repeated_sack_blocks_are_new_once() {
        let mut in_flight = InFlight::default();
        let sent = upload(100);
        for segment in &sent {
            in_flight.send(segment, true);
        }
        let left = sent[1].start;
        for segment in &sent[1..] {
            let sacked = in_flight.sack(left, segment.end());
            assert_eq!(sacked.timed.map(|timed| timed.offset), Some(segment.start));
            let again = in_flight.sack(left, segment.end());
            assert!(!again.is_new && again.timed.is_none());
        }
        let acked = in_flight.acknowledge(sent[99].end());
        assert_eq!(
            acked.timed.map(|timed| timed.offset),
            Some(sent[0].start),
            "the rest was known"
        );
    }

    #[test]
    fn segments_are_timed_after_an_ack_of_data_never_sent() {
        let sent = upload(6);
        let timed = |in_flight: &mut InFlight, index: usize| {
            let acked = in_flight.acknowledge(sent[index].end());
            acked.timed.map(|timed| timed.offset)
        };
        let mut in_flight = InFlight::default();
        in_flight.send(&sent[0], true);
        timed(&mut in_flight, 0);
        for unsent in [100_000, 100_000, 200_000] {
            assert!(!in_flight.acknowledge(sent[0].end().plus(unsent)).is_new);
        }
        in_flight.send(&sent[1], true);
        assert!(!in_flight.acknowledge(sent[0].end().plus(300_000)).is_new);
        in_flight.send(&sent[2], true);
        assert_eq!(timed(&mut in_flight, 2), Some(sent[1].start));
        in_flight.send(&sent[3], true);
        assert_eq!(timed(&mut in_flight, 3), Some(sent[3].start));
        // The capture missed a segment, which was sent again later.
        assert!(!in_flight.acknowledge(sent[4].end()).is_new);
        in_flight.send(&sent[4], true);
        in_flight.send(&sent[5], true);
        assert_eq!(timed(&mut in_flight, 5), Some(sent[5].start));
    }
}
