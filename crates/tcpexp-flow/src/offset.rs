//! Sequence numbers without wrapping.

use std::num::NonZeroU64;

use tcpexp_wire::SeqNum;

/// A position in one direction's byte stream, in bytes; never wraps.
///
/// The lower 32 bits are the sequence number on the wire. The upper 32 bits count the wraps and
/// start at `FIRST_WRAP`, so that segments below the first captured one have an offset too. Only
/// differences between offsets of the same stream have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Never zero, so that an `Option` takes no extra space.
pub struct StreamOffset(NonZeroU64);

/// Wrap count of the first captured sequence number.
///
/// A number 2^31 away is equally near in both directions, and [`StreamOffset::nearest`] then
/// returns the lower offset, so a packet lowers the offset by at most half a wrap. The start is in
/// the middle of the range, so each end of the range is 2^31 packets away.
const FIRST_WRAP: u64 = 1 << 30;

/// The largest TCP window in bytes (RFC 7323, section 2.3): two bytes in flight are no farther apart.
pub const MAX_WINDOW_BYTES: i64 = 1 << 30;

impl StreamOffset {
    /// Returns the offset of a stream's first captured sequence number.
    pub const fn first(seq: SeqNum) -> Self {
        Self::new(FIRST_WRAP << 32 | seq.0 as u64)
    }

    /// Returns the offset of `seq` nearest to this one.
    ///
    /// Correct if the two are less than 2 GiB apart (RFC 9293, section 3.4).
    #[must_use]
    #[inline]
    pub const fn nearest(self, seq: SeqNum) -> Self {
        let ahead = seq.0.wrapping_sub(self.seq().0).cast_signed();
        self.moved(ahead as i64)
    }

    /// Returns the offset `bytes` after this one.
    #[must_use]
    #[inline]
    pub const fn plus(self, bytes: u32) -> Self {
        self.moved(bytes as i64)
    }

    /// Returns the offset `bytes` after this one, or before it if `bytes` is negative.
    #[must_use]
    #[inline]
    pub const fn moved(self, bytes: i64) -> Self {
        Self::new(self.0.get().wrapping_add_signed(bytes))
    }

    /// Number of bytes from `earlier` to this offset; negative if `earlier` is after it.
    #[inline]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.get().wrapping_sub(earlier.0.get()).cast_signed()
    }

    #[inline]
    const fn new(offset: u64) -> Self {
        match NonZeroU64::new(offset) {
            Some(offset) => Self(offset),
            // Unreachable in a real stream. The next wrap has the same sequence number.
            None => Self(NonZeroU64::MIN.saturating_add(u32::MAX as u64)),
        }
    }

    /// Returns the sequence number on the wire.
    pub const fn seq(self) -> SeqNum {
        SeqNum((self.0.get() & 0xFFFF_FFFF) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn offsets_of_a_wrapping_stream_increase() {
        let before = StreamOffset::first(SeqNum(u32::MAX - 99));
        let after = before.nearest(SeqNum(100));
        assert_eq!(after.since(before), 200);
        assert_eq!(after.nearest(SeqNum(u32::MAX)).since(after), -101);
    }

    /// Each step goes back by half a wrap.
    #[test]
    fn numbers_half_a_wrap_apart_keep_their_sequence_numbers() {
        let mut offset = StreamOffset::first(SeqNum(0));
        for seq in [1 << 31, 0].into_iter().cycle().take(100) {
            let next = offset.nearest(SeqNum(seq));
            assert_eq!(next.seq(), SeqNum(seq));
            assert!(next < offset);
            offset = next;
        }
    }

    #[test]
    fn the_end_of_the_range_keeps_its_sequence_number() {
        let last = StreamOffset::first(SeqNum(0)).moved(-(FIRST_WRAP << 32).cast_signed());
        assert_eq!(last.seq(), SeqNum(0));
        assert_eq!(
            StreamOffset::new(1 << 31).nearest(SeqNum(0)).seq(),
            SeqNum(0)
        );
    }

    proptest! {
        #[test]
        fn unwrapping_keeps_the_order_of_a_stream(start in any::<u32>(), steps in prop::collection::vec(0..1_u32 << 31, 1..50)) {
            let mut offset = StreamOffset::first(SeqNum(start));
            let mut total = 0_i64;
            let first = offset;
            for step in steps {
                let next = offset.nearest(SeqNum(offset.seq().0.wrapping_add(step)));
                prop_assert_eq!(next.since(offset), i64::from(step));
                total += i64::from(step);
                offset = next;
            }
            prop_assert_eq!(offset.since(first), total);
        }

        #[test]
        fn an_offset_keeps_its_sequence_number(start in any::<u32>(), seq in any::<u32>()) {
            prop_assert_eq!(StreamOffset::first(SeqNum(start)).nearest(SeqNum(seq)).seq(), SeqNum(seq));
        }
    }
}
