//! The smallest one-way delay of each way.

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

use super::coverage::Uncovered;

/// The smallest one-way delays, indexed by [`PathDirection::index`](crate::spp::PathDirection::index);
/// `None` without packets.
pub type LeastDelays = [Option<LeastDelay>; 2];

/// The smallest one-way delay of a way; of equal delays, that of the earliest packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeastDelay {
    /// The delay on the timeline.
    pub delay: TimeDelta,
    /// Times of the packet at both points, on the timeline of the matching, by
    /// [`Point::index`](crate::spp::Point::index).
    pub times: [Timestamp; 2],
    /// The smallest delay of the packets that no possible clock step falsifies; `None` without such
    /// packets.
    pub away_from_steps: Option<TimeDelta>,
    /// The largest delays of the packets before and after those that the clocks are estimated from;
    /// `None` without such packets.
    pub longest_uncovered: [Option<TimeDelta>; 2],
}

impl LeastDelay {
    /// The delay of a packet that passes the points at `times`.
    pub(crate) fn of(delay: TimeDelta, times: [Timestamp; 2]) -> Self {
        Self {
            delay,
            times,
            away_from_steps: None,
            longest_uncovered: [None; 2],
        }
    }

    /// Adds a packet to the smallest delays; `is_beside_step` is true for the times of packets whose
    /// delays a possible clock step may falsify.
    #[inline]
    pub(crate) fn add(
        least: &mut Option<Self>,
        packet: Self,
        uncovered: Option<Uncovered>,
        is_beside_step: impl Fn([Timestamp; 2]) -> bool,
    ) {
        if let Some(uncovered) = uncovered {
            Self::add_uncovered(least, packet, uncovered);
            return;
        }
        // Most packets are slower than others before them.
        if let Some(least) = least
            && packet.delay > least.delay
            && least
                .away_from_steps
                .is_some_and(|away| packet.delay >= away)
        {
            return;
        }
        let away_from_steps = (!is_beside_step(packet.times)).then_some(packet.delay);
        let packet = Self {
            away_from_steps,
            ..packet
        };
        *least = lesser(*least, Some(packet));
    }

    /// Adds a packet at a time at which no packet shows the clocks: an unknown step may falsify its delay.
    #[inline(never)]
    fn add_uncovered(least: &mut Option<Self>, mut packet: Self, uncovered: Uncovered) {
        packet.longest_uncovered[uncovered as usize] = Some(packet.delay);
        *least = lesser(*least, Some(packet));
    }

    /// Maximum errors of the delays before and after the packets that the clocks are estimated from. An unknown
    /// step changes these delays by its size, so their distance from the smallest delay bounds it, unless a
    /// queue changes by the same time in the opposite direction.
    pub(super) fn uncovered_errors(&self) -> [TimeDelta; 2] {
        self.longest_uncovered.map(|longest| {
            let most = longest.map(|longest| longest.max(self.away_from_steps.unwrap_or(longest)));
            most.map_or(TimeDelta::ZERO, |most| most - self.delay)
        })
    }
}

/// Returns the smaller of two delays, or the one that is known.
#[inline]
pub(crate) fn lesser(a: Option<LeastDelay>, b: Option<LeastDelay>) -> Option<LeastDelay> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let away = [a, b].map(|least| least.away_from_steps);
            Some(LeastDelay {
                away_from_steps: away.into_iter().flatten().min(),
                // `None` is less than any delay.
                longest_uncovered: [0, 1]
                    .map(|end: usize| a.longest_uncovered[end].max(b.longest_uncovered[end])),
                ..a.min(b)
            })
        }
        // `Option::min` would prefer `None`.
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesser_delay_keeps_the_smallest_one_away_from_steps() {
        let least = |delay, away: Option<i64>| {
            Some(LeastDelay {
                away_from_steps: away.map(TimeDelta::from_nanos),
                ..LeastDelay::of(
                    TimeDelta::from_nanos(delay),
                    [Timestamp::from_nanos(delay); 2],
                )
            })
        };
        assert_eq!(lesser(least(5, None), least(7, Some(7))), least(5, Some(7)));
        assert_eq!(
            lesser(least(9, Some(9)), least(7, Some(8))),
            least(7, Some(8))
        );
        assert_eq!(lesser(None, least(7, None)), least(7, None));
    }
}
