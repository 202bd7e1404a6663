//! The smallest plausible delays between the points.

use tcpexp_units::TimeDelta;

use crate::spp::alignment::Alignment;

/// How far the smallest one-way delay may be below the smallest sampled delay.
const LITTLE: TimeDelta = TimeDelta::from_micros(100);

/// Smallest plausible one-way delays on the timeline, by
/// [`PathDirection::index`](crate::spp::PathDirection::index): half the smallest delays.
///
/// With separate clocks, the timeline makes the smallest delay of each direction half the
/// `round_trip`. Half of this delay is margin for the error of the offset; without a round trip the
/// margin is [`LITTLE`]. With one clock, the sample shows the smallest delays, and the margin is for
/// faster packets that the sample lacks.
pub(super) fn smallest_owds(
    alignment: &Alignment,
    round_trip: Option<TimeDelta>,
) -> [TimeDelta; 2] {
    if alignment.clock.is_one_clock() {
        return alignment.least_owd.map(|least| {
            // A negative delay belongs to a false match or is due to a coarse clock.
            let least = least.unwrap_or_default().max(TimeDelta::ZERO);
            TimeDelta::from_nanos(least.as_nanos() / 2)
        });
    }
    let smallest = round_trip.map_or(-LITTLE, |round_trip| {
        TimeDelta::from_nanos(round_trip.as_nanos() / 4)
    });
    [smallest; 2]
}
