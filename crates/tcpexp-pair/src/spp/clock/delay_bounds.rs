//! The maximum errors of delays between the two points.

use tcpexp_units::{TimeDelta, Timestamp};

use super::ClockModel;
use super::coverage::Coverage;
use super::least::LeastDelays;
use super::wander::{IDLE_NS, Wander};
use crate::spp::crossing::PathDirection;
use crate::spp::point::Point;

/// Maximum errors of the delays of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DelayErrors {
    /// Bound for the one-way delay; `None` if the offset has no bound.
    pub(crate) one_way: Option<TimeDelta>,
    /// Bound for the queueing delay; `None` if the offset has no bound, because the movement of the
    /// clocks is then unknown.
    pub(crate) queueing: Option<TimeDelta>,
    /// True if a clock step that is unknown or misplaced may falsify the delay of this packet alone.
    pub(crate) is_beside_step: bool,
}

/// The bounds of all delays between two captures.
///
/// A one-way delay is the difference of two times, each exact to one tick of its clock, minus the
/// estimate of the offset. The bounds of the offset hold at the times of the smallest delays. After
/// these times, the clocks may have moved.
///
/// A queueing delay is the difference of two one-way delays of one way. The offset cancels. The ticks
/// and the movement of the clocks remain. If a step near the fastest packet may falsify its delay, the
/// error is at most the difference between this delay and that of the fastest packets elsewhere.
///
/// Before and after the packets that the clocks are estimated from, a step of any size may be unknown. Its
/// size is at most the spread of the delays of all matched packets there.
///
/// A step of one clock falsifies the packets of both ways that pass the point of this clock after it.
/// Seen from the other point, the two ways show the step at different times, because packets are in
/// flight. Which clock moved is unknown, so the larger movement of the two points counts.
#[derive(Clone, Debug)]
pub(crate) struct DelayBounds {
    offset_error: Option<TimeDelta>,
    /// Sum of one tick of each clock.
    ticks: TimeDelta,
    drift: TimeDelta,
    least: [Option<Least>; 2],
    wander: Wander,
    coverage: Coverage,
}

/// The packet with the smallest delay of a way.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// By [`Point::index`].
    times: [Timestamp; 2],
    /// Maximum error of the smallest delay because of a clock step nearby.
    stepped: TimeDelta,
    /// Maximum errors of the delays before and after the packets that the clocks are estimated from.
    uncovered: [TimeDelta; 2],
}

impl DelayBounds {
    /// `least` holds the smallest delays; `clock` is settled with them.
    pub(crate) fn new(clock: &ClockModel, least: LeastDelays) -> Self {
        let wander = clock.wander().clone();
        let coverage = clock.coverage();
        let idle = TimeDelta::from_nanos(IDLE_NS) + clock.coarseness();
        let least = least.map(|least| {
            least.map(|least| {
                let uncovered = least
                    .uncovered_errors()
                    .map(|error| if error > idle { error } else { TimeDelta::ZERO });
                let end = coverage.excluded(least.times);
                let unseen = end.map_or(TimeDelta::ZERO, |end| uncovered[end as usize]);
                let stepped = wander.beside(least.times) + unseen;
                // Other packets are nearly as fast where no step falsifies them.
                let away = least.away_from_steps.map(|away| away - least.delay);
                Least {
                    times: least.times,
                    stepped: away.map_or(stepped, |away| away.min(stepped)),
                    uncovered,
                }
            })
        });
        Self {
            offset_error: clock.offset().error(),
            ticks: clock.delay_error.both_ticks(),
            drift: clock.delay_error.drift,
            least,
            wander,
            coverage,
        }
    }

    /// The errors of a packet of this way that passes the points at `times`, by [`Point::index`], on
    /// the timeline of the matching.
    pub(crate) fn of(&self, path_direction: PathDirection, times: [Timestamp; 2]) -> DelayErrors {
        let unseen = self
            .coverage
            .excluded(times)
            .map_or(TimeDelta::ZERO, |end| {
                let least = self.least[path_direction.index()];
                least.map_or(TimeDelta::ZERO, |least| least.uncovered[end as usize])
            });
        let stepped = self.wander.beside(times) + unseen;
        let moved = self.least.map(|least| {
            least.map(|least| {
                let change = |point: Point| {
                    let at = point.index();
                    self.wander.change(point, [least.times[at], times[at]])
                };
                change(Point::Src).max(change(Point::Dst)) + least.stepped + stepped
            })
        });
        let [out, back] = moved;
        let most = out.max(back).unwrap_or_default();
        let queueing = moved[path_direction.index()];
        DelayErrors {
            one_way: self.offset_error.map(|error| error + self.ticks + most),
            queueing: self
                .offset_error
                .and(queueing)
                .map(|moved| self.ticks + self.drift + moved),
            is_beside_step: stepped > TimeDelta::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spp::clock::LeastDelay;
    use crate::spp::crossing::Crossing;

    const MS: i64 = 1_000_000;
    /// Smallest delay of both ways.
    const DELAY_NS: i64 = 10 * MS;

    /// Times at both points of a packet that passes the upstream point at `sent_ms` and takes `owd_ns`.
    fn times(way: PathDirection, sent_ms: i64, owd_ns: i64) -> [Timestamp; 2] {
        let sent = Timestamp::from_nanos(sent_ms * MS);
        way.by_point(sent, sent + TimeDelta::from_nanos(owd_ns))
    }

    /// Bounds after packets of both ways from 1 to 2 s, which show the clocks, and one more packet.
    fn bounds_with(way: PathDirection, sent_ms: i64, owd_ns: i64) -> DelayBounds {
        let mut crossings = Vec::new();
        for number in 0..100_u64 {
            let path_direction = PathDirection::BOTH[usize::from(number % 2 == 1)];
            let sent_ms = 1_000 + 10 * i64::try_from(number).unwrap();
            let [src_time, dst_time] = times(path_direction, sent_ms, DELAY_NS);
            crossings.push(Crossing {
                path_direction,
                src_place: number,
                dst_place: number,
                src_time,
                dst_time,
                payload_bytes: 0,
            });
        }
        let clock = ClockModel::estimate(&crossings, [TimeDelta::from_nanos(1); 2]).unwrap();
        let offset_ns = clock.offset().middle.as_nanos();
        assert_eq!(offset_ns, 0);
        let mut least = LeastDelays::default();
        let seen = crossings.iter().map(|crossing| {
            let times = [crossing.src_time, crossing.dst_time];
            (crossing.path_direction, times, DELAY_NS)
        });
        for (way, times, owd_ns) in seen.chain([(way, times(way, sent_ms, owd_ns), owd_ns)]) {
            let delay = LeastDelay::of(TimeDelta::from_nanos(owd_ns), times);
            let least = &mut least[way.index()];
            let uncovered = clock.coverage().excluded(times);
            LeastDelay::add(least, delay, uncovered, |times| clock.is_beside_step(times));
        }
        DelayBounds::new(&clock.settled(least, false), least)
    }

    #[test]
    fn step_that_no_sampled_packet_shows_is_part_of_the_errors() {
        let step = TimeDelta::from_millis(50);
        for way in PathDirection::BOTH {
            for sent_ms in [500, 2_500] {
                for step_ns in [50 * MS, -50 * MS] {
                    let owd_ns = DELAY_NS + step_ns;
                    let bounds = bounds_with(way, sent_ms, owd_ns);
                    let error = |at_ms, owd_ns| {
                        let errors = bounds.of(way, times(way, at_ms, owd_ns));
                        errors.queueing.unwrap()
                    };
                    // The queueing delay of the slower of the two is the step.
                    let slower = if step_ns > 0 {
                        error(sent_ms, owd_ns)
                    } else {
                        error(1_500, DELAY_NS)
                    };
                    assert!(slower >= step, "{way:?} {sent_ms} {step_ns}: {slower}");
                    if step_ns > 0 {
                        let known = error(1_500, DELAY_NS);
                        assert!(known < TimeDelta::from_millis(1), "{known}");
                    }
                }
            }
        }
    }

    #[test]
    fn packets_as_fast_as_the_sampled_ones_show_that_no_clock_stepped() {
        let bounds = bounds_with(PathDirection::Out, 2_500, DELAY_NS);
        let errors = bounds.of(
            PathDirection::Out,
            times(PathDirection::Out, 2_500, DELAY_NS),
        );
        assert!(!errors.is_beside_step);
        assert!(errors.queueing.unwrap() < TimeDelta::from_millis(1));
    }
}
