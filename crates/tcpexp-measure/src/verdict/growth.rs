//! Growth of the bytes in flight.

use tcpexp_units::{TimeDelta, Timestamp};

use super::rounds::Round;
use crate::Position;

/// Longest time in which a window that no loss has reduced grows by less than a segment: CUBIC needs 1.4 s
/// after slow start (RFC 9438, section 4.2, with C = 0.4).
const SLOWEST_GROWTH: TimeDelta = TimeDelta::from_seconds(2);
/// The same in round trips: Reno grows by a segment in each, or in two with delayed ACKs (RFC 5681, section
/// 3.1), and Vegas in every second one.
const SLOWEST_GROWTH_ROUNDS: i64 = 8;

/// The greatest flight so far, and when it was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    most_segments: u32,
    grew_at: Option<Timestamp>,
}

impl Growth {
    /// Adds the next round.
    pub(super) fn add(&mut self, round: &Round) {
        if round.pipe_segments > self.most_segments {
            self.most_segments = round.pipe_segments;
            self.grew_at = Some(round.began);
        }
    }

    /// True if the flight has not grown for so long before `round` that the window does not grow either.
    pub(super) fn has_stopped(&self, round: &Round) -> bool {
        let rounds =
            TimeDelta::from_nanos(round.srtt.as_nanos().saturating_mul(SLOWEST_GROWTH_ROUNDS));
        let longest_pause = SLOWEST_GROWTH.max(rounds);
        self.grew_at
            .is_some_and(|grew| round.began - grew > longest_pause)
    }

    /// True if the application or the path may set the pace, although nothing shows it.
    pub(super) fn may_have_own_pace(&self, round: &Round, position: Option<Position>) -> bool {
        // A paced sender in Startup has ever more in flight (BBR, section 4.3.1 of draft-ietf-ccwg-bbr).
        let is_past_startup = round.is_paced && round.pipe_segments <= self.most_segments;
        // Away from the sender, a pace of the application is not recognised, only its short segments.
        let is_seen = position == Some(Position::Sender);
        is_past_startup || (!is_seen && round.has_short_segments)
    }
}
