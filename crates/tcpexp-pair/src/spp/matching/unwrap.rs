//! Sequence numbers to stream offsets.

use tcpexp_flow::{MAX_WINDOW_BYTES, StreamOffset};
use tcpexp_wire::SeqNum;

/// Converts the sequence numbers of one direction to stream offsets.
///
/// A damaged number is far from all others. The next number is converted relative to the numbers
/// before the damaged one; otherwise it would seem to be a multiple of 2^32 away.
#[derive(Debug, Default)]
pub(super) struct Unwrap {
    /// The latest offset, except stray ones.
    near: Option<StreamOffset>,
    /// The latest offset, if it is stray.
    stray: Option<StreamOffset>,
}

impl Unwrap {
    /// Returns the offset of `seq`.
    pub(super) fn offset(&mut self, seq: SeqNum) -> StreamOffset {
        let offset = self.peek(seq);
        let is_near =
            |other: StreamOffset| offset.since(other).saturating_abs() <= MAX_WINDOW_BYTES;
        // Two stray numbers next to each other show that the first number was damaged.
        if self.near.is_none_or(is_near) || self.stray.is_some_and(is_near) {
            (self.near, self.stray) = (Some(offset), None);
        } else {
            self.stray = Some(offset);
        }
        offset
    }

    /// Returns the offset of `seq`, which need not be sent yet.
    pub(super) fn peek(&self, seq: SeqNum) -> StreamOffset {
        self.near
            .map_or_else(|| StreamOffset::first(seq), |near| near.nearest(seq))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn flipped_bit_changes_no_other_offset(
            start: u32,
            bit in 0..32_u32,
            damaged in 0..30_usize,
            steps in prop::collection::vec(-3_000..100_000_000_i64, 30),
        ) {
            let mut unwrap = Unwrap::default();
            let first = StreamOffset::first(SeqNum(start));
            let mut truth = first;
            let mut base = None;
            for (place, step) in steps.into_iter().enumerate() {
                truth = truth.moved(step);
                let seq = u32::try_from((i64::from(start) + truth.since(first)).rem_euclid(1 << 32)).unwrap();
                if place == damaged {
                    unwrap.offset(SeqNum(seq ^ 1 << bit));
                    continue;
                }
                let offset = unwrap.offset(SeqNum(seq));
                let ahead = offset.since(truth);
                prop_assert_eq!(*base.get_or_insert(ahead), ahead);
            }
        }
    }
}
