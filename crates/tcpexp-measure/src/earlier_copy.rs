//! Detection of ACKs that seem to answer one segment and answer another.

/// Greatest distance of the other segment, in ticks of 1 ms, the shortest that RFC 7323, section 5.4, allows: two
/// minutes, Linux's maximum retransmission timeout. A greater distance shows a middlebox that changes timestamps
/// or their echoes.
const MOST_TICKS: u32 = 120_000;

/// What an ACK answers, by its echo, compared with the oldest segment that it newly acknowledges cumulatively.
///
/// A receiver echoes the timestamp of the oldest segment that it has not acknowledged before (RFC 7323, section
/// 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The captured copy of the segment, as far as the echo shows.
    Segment,
    /// An earlier copy, which the capture missed (RFC 3522, section 3.2).
    EarlierCopy,
    /// A later segment: the receiver has acknowledged the oldest one before, in an ACK that the capture missed.
    LaterSegment,
}

/// Compares the timestamp of the captured segment with the echo of the ACK.
#[inline]
pub(crate) fn answered(stamp: Option<u32>, echo: Option<u32>) -> Answered {
    let (Some(stamp), Some(echo)) = (stamp, echo) else {
        return Answered::Segment;
    };
    if stamp == echo {
        return Answered::Segment;
    }
    compare(stamp, echo)
}

#[cold]
fn compare(stamp: u32, echo: u32) -> Answered {
    // Some hosts leave the echo zero.
    if echo == 0 {
        Answered::Segment
    } else if (1..=MOST_TICKS).contains(&stamp.wrapping_sub(echo)) {
        Answered::EarlierCopy
    } else if (1..=MOST_TICKS).contains(&echo.wrapping_sub(stamp)) {
        Answered::LaterSegment
    } else {
        Answered::Segment
    }
}

/// True if an ACK that echoes `echo` answers an earlier copy of the oldest segment that it newly acknowledges
/// cumulatively; `stamp` is the timestamp of the captured copy.
#[inline]
pub(crate) fn is_of_earlier_copy(stamp: Option<u32>, echo: Option<u32>) -> bool {
    answered(stamp, echo) == Answered::EarlierCopy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_shows_an_earlier_copy_and_a_later_segment() {
        for (stamp, echo, expected) in [
            (Some(1_000), Some(1_000), Answered::Segment),
            (Some(1_000), Some(1_001), Answered::LaterSegment),
            (Some(1_000), Some(999), Answered::EarlierCopy),
            (Some(5), Some(u32::MAX), Answered::EarlierCopy),
            (Some(u32::MAX), Some(5), Answered::LaterSegment),
            // A middlebox, and a host without a clock.
            (Some(1_000_000), Some(7), Answered::Segment),
            (Some(7), Some(1_000_000), Answered::Segment),
            (Some(1_000), Some(0), Answered::Segment),
            (None, Some(999), Answered::Segment),
            (Some(1_000), None, Answered::Segment),
        ] {
            assert_eq!(answered(stamp, echo), expected, "{stamp:?} {echo:?}");
        }
    }
}
