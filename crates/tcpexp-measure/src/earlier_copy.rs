//! Detection of an ACK that answers an earlier copy of a segment, which the capture missed.

/// Greatest age of an earlier copy, in ticks of 1 ms, the shortest that RFC 7323, section 5.4, allows: two
/// minutes, Linux's maximum retransmission timeout. A greater distance shows a middlebox that changes timestamps
/// or their echoes.
const MOST_TICKS: u32 = 120_000;

/// True if an ACK that echoes `echo` answers an earlier copy of the oldest segment that it newly acknowledges
/// cumulatively; `stamp` is the timestamp of the captured copy.
///
/// A receiver echoes the timestamp of the oldest segment that it has not acknowledged before (RFC 7323, section
/// 4.3). An earlier timestamp is that of an earlier transmission (RFC 3522, section 3.2).
#[inline]
pub(crate) fn is_of_earlier_copy(stamp: Option<u32>, echo: Option<u32>) -> bool {
    let (Some(stamp), Some(echo)) = (stamp, echo) else {
        return false;
    };
    // Some hosts leave the echo zero.
    echo != 0 && (1..=MOST_TICKS).contains(&stamp.wrapping_sub(echo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_from_before_the_segment_answers_an_earlier_copy() {
        for (stamp, echo, expected) in [
            (Some(1_000), Some(1_000), false),
            (Some(1_000), Some(1_001), false),
            (Some(1_000), Some(999), true),
            (Some(5), Some(u32::MAX), true),
            // A middlebox, and a host without a clock.
            (Some(1_000_000), Some(7), false),
            (Some(1_000), Some(0), false),
            (None, Some(999), false),
            (Some(1_000), None, false),
        ] {
            let found = is_of_earlier_copy(stamp, echo);
            assert_eq!(found, expected, "{stamp:?} {echo:?}");
        }
    }
}
