//! The end of slow start, read from the growth of a filled window.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;

/// In slow start, the window grows by every segment that counts (RFC 5681, equation 2). A round trip that
/// grows it by less than 3/10 of them is in congestion avoidance, or in conservative slow start, which
/// grows it by 1/4 (RFC 9406, section 4.3) and counts as the end. If slow start resumes, [`Growth::Fast`]
/// withdraws the end.
const MOST_AFTER_SLOW_START: (u32, u32) = (3, 10);
/// After slow start, the window grows by at most half of these segments (RFC 9438, section 4.2, limits
/// the target to 1.5 times the window).
const LEAST_IN_SLOW_START: (u32, u32) = (1, 2);
/// The pipe at either end of a round trip may be a segment off.
pub(super) const ROUNDING_SEGMENTS: u32 = 1;

/// The window and the counted segments at an ACK that found the window filled.
#[derive(Clone, Copy, Debug)]
struct Filled {
    nxt: StreamOffset,
    cwnd: u32,
    counted: u32,
}

/// What a round trip shows about slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// The window grew too slowly for slow start, which ended at about this window.
    Slow(u32),
    /// The window grew as only slow start does, from this window.
    Fast(u32),
}

/// The latest round trip in which the sender filled its window.
///
/// A round trip ends when the data sent before its start is acknowledged (RFC 9406, section 4.2). In
/// time, its length would be uncertain: the smoothed round-trip time lags behind a growing queue, and in
/// a part of a round trip the window grows by a part only.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    filled: VecDeque<Filled>,
    /// Segments that have counted towards the growth of the window, modulo 2^32.
    counted: u32,
}

impl Rounds {
    /// Counts segments that grow the window by as many in slow start.
    pub(super) fn count(&mut self, segments: u32) {
        self.counted = self.counted.wrapping_add(segments);
    }

    /// Interrupts the round trip: something other than the window limits the sender.
    pub(super) fn interrupt(&mut self) {
        self.filled.clear();
    }

    /// Takes note of a filled window at an ACK that finds `una..nxt` outstanding. Returns what the round
    /// trip that ends here shows, if anything.
    pub(super) fn fill(
        &mut self,
        una: StreamOffset,
        nxt: StreamOffset,
        cwnd: u32,
    ) -> Option<Growth> {
        let now = Filled {
            nxt,
            cwnd,
            counted: self.counted,
        };
        self.filled.push_back(now);
        while self.filled.get(1).is_some_and(|next| next.nxt <= una) {
            self.filled.pop_front();
        }
        let start = self.filled.front().filter(|start| start.nxt <= una)?;
        let counted = now.counted.wrapping_sub(start.counted);
        let grown = cwnd.saturating_sub(start.cwnd);
        let is_below = |(part, of): (u32, u32), grown: u32| {
            u64::from(grown) * u64::from(of) < u64::from(counted) * u64::from(part)
        };
        if is_below(MOST_AFTER_SLOW_START, grown) {
            // What slow start grows fits into the first third of the first round trip that is slow, so
            // the middle is the first sure window after it.
            let middle = self.filled[self.filled.len() / 2].cwnd;
            Some(Growth::Slow(middle.min(cwnd)))
        } else if is_below(LEAST_IN_SLOW_START, grown.saturating_sub(ROUNDING_SEGMENTS)) {
            None
        } else {
            Some(Growth::Fast(start.cwnd))
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    /// The position after this number of segments.
    fn at(segments: u32) -> StreamOffset {
        StreamOffset::first(SeqNum(0)).plus(1_000 * segments)
    }

    /// What each ACK of one segment shows, when the sender fills a window that starts at `cwnd` and that
    /// the ACK of segment `number` grows by `growth(number)`.
    fn replay(cwnd: u32, acks: u32, growth: impl Fn(u32) -> u32) -> Vec<Option<Growth>> {
        let (mut rounds, mut cwnd) = (Rounds::default(), cwnd);
        let mut shown = Vec::new();
        for number in 0..acks {
            shown.push(rounds.fill(at(number), at(number + cwnd), cwnd));
            rounds.count(1);
            cwnd += growth(number);
        }
        shown
    }

    #[test]
    fn a_part_of_a_round_trip_shows_nothing() {
        let shown = replay(20, 20, |_| 0);
        assert!(shown.iter().all(Option::is_none));
    }

    #[test]
    fn slow_start_is_never_slow() {
        for cwnd in [2, 3, 10, 1_000] {
            let shown = replay(cwnd, 5_000, |_| 1);
            let is_slow = |shown: &Option<Growth>| matches!(shown, Some(Growth::Slow(_)));
            assert!(!shown.iter().any(is_slow), "{cwnd}");
            assert!(shown.contains(&Some(Growth::Fast(cwnd))), "{cwnd}");
        }
    }

    #[test]
    fn growth_of_half_a_window_per_round_trip_shows_nothing() {
        let shown = replay(10, 5_000, |number| u32::from(number % 2 == 0));
        assert!(shown.iter().all(Option::is_none));
    }

    #[test]
    fn slow_start_ended_at_the_window_from_which_the_growth_is_slow() {
        let growth = |number| u32::from(number < 50);
        let shown = replay(10, 200, growth);
        let is_slow = |shown: &&Growth| matches!(shown, Growth::Slow(_));
        assert_eq!(
            shown.iter().flatten().find(is_slow),
            Some(&Growth::Slow(60))
        );
    }

    #[test]
    fn a_round_trip_with_an_unfilled_window_shows_nothing() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.fill(at(0), at(10), 10), None);
        rounds.interrupt();
        rounds.count(10);
        assert_eq!(rounds.fill(at(10), at(20), 10), None);
    }
}
