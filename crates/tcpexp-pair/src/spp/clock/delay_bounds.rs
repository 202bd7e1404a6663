//! The maximum errors of delays between the two points.

use tcpexp_units::{TimeDelta, Timestamp};

use super::ClockModel;
use super::least::LeastDelays;
use super::wander::Wander;
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
}

/// The packet with the smallest delay of a way.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// By [`Point::index`].
    times: [Timestamp; 2],
    /// Maximum error of the smallest delay because of a clock step nearby.
    stepped: TimeDelta,
}

impl DelayBounds {
    /// `least` holds the smallest delays; `clock` is settled with them.
    pub(crate) fn new(clock: &ClockModel, least: LeastDelays) -> Self {
        let wander = clock.wander().clone();
        let least = least.map(|least| {
            least.map(|least| {
                let stepped = wander.beside(least.times);
                // Other packets are nearly as fast where no step falsifies them.
                let away = least.away_from_steps.map(|away| away - least.delay);
                Least {
                    times: least.times,
                    stepped: away.map_or(stepped, |away| away.min(stepped)),
                }
            })
        });
        Self {
            offset_error: clock.offset().error(),
            ticks: clock.delay_error.both_ticks(),
            drift: clock.delay_error.drift,
            least,
            wander,
        }
    }

    /// The errors of a packet of this way that passes the points at `times`, by [`Point::index`], on
    /// the timeline of the matching.
    pub(crate) fn of(&self, path_direction: PathDirection, times: [Timestamp; 2]) -> DelayErrors {
        let stepped = self.wander.beside(times);
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
