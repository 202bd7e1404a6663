//! Gaps that a stream left, and the ACKs that report data above them.

use std::collections::VecDeque;

use tcpexp_units::Timestamp;

use crate::StreamOffset;
use crate::identity::Counters;

/// Upper bound on gaps; beyond it, the lowest is forgotten.
const MAX_GAPS: usize = 256;
/// Number of ACKs that report data above a gap before the sender takes the gap for a loss
/// (`DupThresh`: RFC 5681, section 3.2; RFC 6675, section 2).
const DUP_THRESH: usize = 3;

/// A part of a stream that segments captured before it skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
    /// Capture time of the segment that left the gap.
    pub(super) at: Timestamp,
    /// Counters of the segment that left the gap: the sender sent all data of the gap before this segment.
    pub(super) beyond: Counters,
    /// True if a retransmission was captured just before. It may have been sent after the missing data, and
    /// its ACK may report their loss before that of the segment that left the gap.
    pub(super) is_after_retransmission: bool,
}

/// The gaps of a stream that are not acknowledged, also if segments have filled them since.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// In order: each segment that leaves a gap is above all data before it.
    gaps: VecDeque<Gap>,
    /// The highest ends of data that ACKs reported out of order, in no order.
    reported: [Option<StreamOffset>; DUP_THRESH],
}

impl Gaps {
    /// Adds a gap; all data before `una` has arrived.
    pub(super) fn leave(&mut self, gap: Gap, una: Option<StreamOffset>) {
        while self
            .gaps
            .front()
            .is_some_and(|gap| Some(gap.end) <= una || self.gaps.len() >= MAX_GAPS)
        {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// Adds an ACK that reports out-of-order data before `end`.
    pub(super) fn report(&mut self, end: StreamOffset) {
        if let Some(lowest) = self.reported.iter_mut().min() {
            *lowest = (*lowest).max(Some(end));
        }
    }

    /// Returns the gap that contains the data from `start` up to but not including `end`.
    pub(super) fn around(&self, start: StreamOffset, end: StreamOffset) -> Option<&Gap> {
        let place = self.gaps.partition_point(|gap| gap.end < end);
        self.gaps.get(place).filter(|gap| gap.start <= start)
    }

    /// True if an ACK reported data above `start`.
    pub(super) fn is_reported_above(&self, start: StreamOffset) -> bool {
        self.reported.iter().any(|end| *end > Some(start))
    }

    /// True if enough ACKs may have reported the gap for the sender to retransmit it.
    pub(super) fn is_reported(&self, gap: &Gap) -> bool {
        gap.is_after_retransmission || self.reported.iter().all(|end| *end > Some(gap.end))
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    fn at(offset: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(1_000)).plus(offset)
    }

    fn gap(start: u32, end: u32) -> Gap {
        Gap {
            start: at(start),
            end: at(end),
            at: Timestamp::from_nanos(start.into()),
            beyond: Counters::default(),
            is_after_retransmission: false,
        }
    }

    fn found(gaps: &Gaps, start: u32, end: u32) -> Option<i64> {
        let gap = gaps.around(at(start), at(end))?;
        Some(gap.start.since(at(0)))
    }

    #[test]
    fn each_segment_has_its_own_gap() {
        let mut gaps = Gaps::default();
        gaps.leave(gap(10, 20), None);
        gaps.leave(gap(30, 50), None);
        assert_eq!(found(&gaps, 10, 20), Some(10));
        assert_eq!(found(&gaps, 30, 40), Some(30));
        assert_eq!(found(&gaps, 40, 50), Some(30));
        for outside in [(0, 10), (20, 30), (45, 55), (60, 70)] {
            assert_eq!(found(&gaps, outside.0, outside.1), None);
        }
    }

    #[test]
    fn memory_is_bounded_if_gaps_stay_open() {
        let mut gaps = Gaps::default();
        for number in 0..1_000 {
            gaps.leave(gap(20 * number, 20 * number + 10), None);
            assert!(gaps.gaps.len() <= MAX_GAPS);
        }
        assert_eq!(found(&gaps, 0, 10), None);
        assert_eq!(found(&gaps, 999 * 20, 999 * 20 + 10), Some(999 * 20));
        gaps.leave(gap(30_000, 30_010), Some(at(20_000)));
        assert_eq!(gaps.gaps.len(), 1);
    }

    #[test]
    fn three_acks_above_a_gap_report_it() {
        let mut gaps = Gaps::default();
        let reported = |gaps: &Gaps| [gap(10, 20), gap(30, 40)].map(|gap| gaps.is_reported(&gap));
        gaps.report(at(30));
        gaps.report(at(50));
        assert_eq!(reported(&gaps), [false, false]);
        gaps.report(at(50));
        assert_eq!(reported(&gaps), [true, false]);
        gaps.report(at(50));
        assert_eq!(reported(&gaps), [true, true]);
    }
}
