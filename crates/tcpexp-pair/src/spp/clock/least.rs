//! The smallest one-way delay of each way.

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

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
}

impl LeastDelay {
    /// The delay of a packet that passes the points at `times`.
    pub(crate) fn of(delay: TimeDelta, times: [Timestamp; 2]) -> Self {
        Self {
            delay,
            times,
            away_from_steps: None,
        }
    }

    /// Adds a packet to the smallest delays; `is_beside_step` is true for the times of packets whose
    /// delays a possible clock step may falsify.
    #[inline]
    pub(crate) fn add(
        least: &mut Option<Self>,
        packet: Self,
        is_beside_step: impl Fn([Timestamp; 2]) -> bool,
    ) {
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
}

/// Returns the smaller of two delays, or the one that is known.
#[inline]
pub(crate) fn lesser(a: Option<LeastDelay>, b: Option<LeastDelay>) -> Option<LeastDelay> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let away = [a, b].map(|least| least.away_from_steps);
            Some(LeastDelay {
                away_from_steps: away.into_iter().flatten().min(),
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
