//! The parts of a stream that a capture missed.

use crate::StreamOffset;

/// A part of a stream: from the first offset up to the second.
pub(crate) type Hole = (StreamOffset, StreamOffset);

/// The bytes of one direction that a capture missed.
///
/// A lower bound: pure ACKs, and lost packets that were captured as retransmissions, leave no hole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// In order.
    pub(crate) certain: Vec<Hole>,
    /// In order. These bytes may also have been sent before the capture of the flow began.
    pub(crate) possible: Vec<Hole>,
    /// A part of the stream with more holes than are stored: which of its bytes were captured is not
    /// known.
    pub(crate) forgotten: Option<Hole>,
}

impl Holes {
    /// True if the capture is not known to have missed anything.
    pub fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.possible.is_empty() && self.forgotten.is_none()
    }

    /// Number of bytes that the capture missed, at least.
    pub fn bytes(&self) -> u64 {
        total_bytes(&self.certain)
    }

    /// Number of bytes that the capture missed, or that were sent before the capture of the flow began.
    pub fn possible_bytes(&self) -> u64 {
        total_bytes(&self.possible)
    }

    /// True if the capture may have missed bytes between these two.
    pub fn overlap(&self, from: StreamOffset, to: StreamOffset) -> bool {
        let overlaps = |hole: &Hole| hole.0 < to && from < hole.1;
        let any = |holes: &[Hole]| {
            let first = holes.partition_point(|hole| hole.1 <= from);
            holes.get(first).is_some_and(overlaps)
        };
        any(&self.certain)
            || any(&self.possible)
            || self.forgotten.is_some_and(|hole| overlaps(&hole))
    }
}

fn total_bytes(holes: &[Hole]) -> u64 {
    let lengths = holes.iter().map(|(start, end)| end.since(*start));
    lengths.sum::<i64>().max(0).cast_unsigned()
}
