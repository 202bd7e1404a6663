//! Data that was lost before it reached the capture, as gaps in the new data.

use tcpexp_flow::StreamOffset;

/// Ranges of data that were first captured behind later data, or never. Their first transmissions
/// did not pass the capture, but left the sender before the data behind them.
///
/// Memory grows with the number of gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Unseen {
    /// In order, without overlap.
    gaps: Vec<(StreamOffset, StreamOffset)>,
    nxt: Option<StreamOffset>,
}

impl Unseen {
    /// Records new data. Returns the size of the gap before it; 0 without a gap.
    pub(super) fn send(&mut self, start: StreamOffset, end: StreamOffset) -> i64 {
        let mut gap_bytes = 0;
        match self.nxt {
            Some(nxt) if end <= nxt => return 0,
            Some(nxt) if start > nxt => {
                self.gaps.push((nxt, start));
                gap_bytes = start.since(nxt);
            }
            Some(_) | None => {}
        }
        self.nxt = Some(end);
        gap_bytes
    }

    /// End of the gap that holds the byte at `offset`.
    pub(super) fn end(&self, offset: StreamOffset) -> Option<StreamOffset> {
        let place = self.gaps.partition_point(|gap| gap.1 <= offset);
        let gap = self.gaps.get(place)?;
        (gap.0 <= offset).then_some(gap.1)
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    fn byte(offset: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(u32::MAX - 5)).plus(offset)
    }

    #[test]
    fn a_gap_in_new_data_is_found_by_each_of_its_bytes() {
        let mut unseen = Unseen::default();
        for (start, end) in [(0, 10), (20, 30), (10, 15), (30, 40), (50, 60)] {
            unseen.send(byte(start), byte(end));
        }
        let ends = [9, 10, 19, 20, 40, 49, 60].map(|offset| unseen.end(byte(offset)));
        let gap = |end| Some(byte(end));
        assert_eq!(ends, [None, gap(20), gap(20), None, gap(50), gap(50), None]);
    }
}
