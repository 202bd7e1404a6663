//! What the destination's clock shows more than the source's, and within which bounds.

use tcpexp_units::TimeDelta;

/// What clocks that wander and a capture's own disorder may make times wrong by.
pub(in crate::spp) const DISORDER: TimeDelta = TimeDelta::from_millis(10);

/// What the destination's clock shows more than the source's at the first crossing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Less would give packets back a negative delay; `None` without such packets.
    pub lower: Option<TimeDelta>,
    /// More would give packets out a negative delay; `None` without such packets.
    pub upper: Option<TimeDelta>,
    /// What is assumed: the middle of the bounds, as if the shortest delays were the same both
    /// ways. It is off by half of what they differ, so by no more than half of the smallest
    /// round-trip time. With one bound only it is that bound, and the shortest delay is zero.
    pub middle: TimeDelta,
}

/// How many of the smallest delays of each way must be mistaken, if those are the fewest.
///
/// There and back no packet takes less than no time, so of two delays, both with the clocks' offset
/// in them, whose sum is below that one is of a packet that was mistaken for another. Packets that
/// are sent again one after the other are mistaken one after the other, so that some confirm each
/// other, but they are the fewer.
pub(super) fn fewest_mistaken([out, back]: &[Vec<i64>; 2]) -> [usize; 2] {
    let least_ns = -DISORDER.as_nanos();
    let too_fast =
        |out_ns: i64| back.partition_point(|&owd_ns| owd_ns.saturating_add(out_ns) < least_ns);
    let ways_to_agree = (0..=out.len()).map(|mistaken_out| {
        let mistaken_back = out.get(mistaken_out).map_or(0, |&out_ns| too_fast(out_ns));
        (mistaken_out + mistaken_back, [mistaken_out, mistaken_back])
    });
    ways_to_agree.min().map_or([0, 0], |(_, mistaken)| mistaken)
}
