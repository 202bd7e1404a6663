//! One step of a clock as the packets around it show it.

use super::delay::{Delay, confirmed};
use crate::spp::crossing::{Crossing, Way};
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// No smaller step is looked for: idle hosts and routers delay packets by some tens of microseconds.
pub(in crate::spp) const SMALLEST_NS: i64 = 100_000;

/// Records that are out of order by less are the capture's own disorder.
const TURNED_BACK_NS: i64 = 1_000_000;

/// Seen by one way only, a step that did not turn the clock back must be longer than any queue.
const LONGEST_QUEUE_NS: i64 = 60_000_000_000;

/// A step as the crossings around it show it.
#[derive(Clone, Debug)]
pub(in crate::spp) struct Jump {
    /// Whose clock jumped.
    pub(in crate::spp) point: Point,
    /// The last crossing before it, in the order of that point's records.
    pub(in crate::spp) before: usize,
    /// The first crossing after it.
    pub(in crate::spp) after: usize,
    /// How far the clock jumped; positive is forwards.
    pub(in crate::spp) size: TimeDelta,
    /// How far `size` may be off.
    pub(in crate::spp) error: TimeDelta,
    /// Whether only one way shows it, while queues hide it from the other: it may be a new route.
    pub(in crate::spp) suspected: bool,
    /// The crossings just before and just after, by way, which `size` is measured on.
    pub(in crate::spp) sides: [[Vec<usize>; 2]; 2],
    /// First and last crossing that the step was looked for in, to tell two findings of one step.
    pub(in crate::spp) extent: (usize, usize),
}

/// The smallest delays on one side of a step.
struct Floor {
    at: Timestamp,
    owd: TimeDelta,
    varies: TimeDelta,
}

/// How much longer the smallest delays of a way seem after a step, and what makes that doubtful.
#[derive(Clone, Copy)]
struct MeasuredShift {
    way: Way,
    longer: TimeDelta,
    varies: TimeDelta,
    drifts: TimeDelta,
}

impl Jump {
    /// Packets of a way on each side of a step that its size is measured on: few where these are
    /// all about as fast, so that drift matters less, and more where most had to queue.
    pub(in crate::spp) const SIDES: [usize; 2] = [16, 256];
    /// Parts of these in each of which the smallest delay is looked up.
    const PARTS: usize = 4;
    /// Clocks may drift apart by 1 ns in this many more than is known of their drift.
    const UNKNOWN_DRIFT: i64 = 10_000;

    /// Measures the size anew, with `drift` of the clocks (destination against source) taken out.
    ///
    /// The smallest delays before and after show it, on the way where these vary less.
    pub(in crate::spp) fn measure(&mut self, crossings: &[Crossing], drift: f64) {
        let [few, many] = Self::SIDES;
        let shift = |way: Way, count: usize| {
            let before = self.floor(crossings, drift, way, 0, count)?;
            let after = self.floor(crossings, drift, way, 1, count)?;
            let lag = after.at - before.at;
            Some(MeasuredShift {
                way,
                longer: after.owd - before.owd,
                varies: before.varies.max(after.varies),
                drifts: TimeDelta::from_nanos(lag.as_nanos() / Self::UNKNOWN_DRIFT),
            })
        };
        // A few packets in a row can be as fast as each other in a full queue too.
        let ways = Way::BOTH.into_iter().filter_map(|way| shift(way, many));
        let Some(calmer) = ways.min_by_key(|shift| shift.varies) else {
            return;
        };
        let measured = [shift(calmer.way, few).unwrap_or(calmer), calmer]
            .into_iter()
            .min_by_key(|shift| shift.varies + shift.drifts)
            .unwrap_or(calmer);
        let forwards = (measured.way == Way::Out) == (self.point == Point::Dst);
        self.size = if forwards {
            measured.longer
        } else {
            -measured.longer
        };
        self.error = measured.varies + measured.drifts;
    }

    /// The smallest delays of `count` packets of one way on one side.
    fn floor(
        &self,
        crossings: &[Crossing],
        drift: f64,
        way: Way,
        side: usize,
        count: usize,
    ) -> Option<Floor> {
        let nearest = &self.sides[way.index()][side];
        if nearest.is_empty() {
            return None;
        }
        let nearest = match side {
            0 => &nearest[nearest.len().saturating_sub(count)..],
            _ => &nearest[..count.min(nearest.len())],
        };
        // The clock that did not jump tells how much time passed.
        let steady = self.point.opposite();
        let start = time_at(&crossings[self.after], steady);
        let delays: Vec<Delay> = nearest
            .iter()
            .map(|&index| {
                let crossing = &crossings[index];
                let at_ns = (time_at(crossing, steady) - start).as_nanos();
                let drifted = TimeDelta::from_nanos(whole_nanos(at_ns as f64 * drift));
                let owd = match way {
                    Way::Out => crossing.raw_owd() - drifted,
                    Way::Back => crossing.raw_owd() + drifted,
                };
                Delay {
                    at_ns,
                    owd_ns: owd.as_nanos(),
                }
            })
            .collect();
        let mut floors: Vec<TimeDelta> = delays
            .chunks(delays.len().div_ceil(Self::PARTS).max(1))
            .filter_map(|part| confirmed(part).iter().map(|delay| delay.owd_ns).min())
            .map(TimeDelta::from_nanos)
            .collect();
        floors.sort_unstable();
        Some(Floor {
            at: time_at(&crossings[nearest[nearest.len() / 2]], steady),
            owd: *floors.get(floors.len() / 2)?,
            varies: *floors.last()? - *floors.first()?,
        })
    }

    /// Whether a crossing comes after this step in the capture of the clock that was set.
    pub(in crate::spp) fn is_before(&self, crossing: &Crossing, crossings: &[Crossing]) -> bool {
        let after = &crossings[self.after];
        match self.point {
            Point::Src => crossing.src_record >= after.src_record,
            Point::Dst => crossing.dst_record >= after.dst_record,
        }
    }

    /// How far the clock jumped as far as is certain: what is only suspected is not taken out.
    pub(super) fn taken_out(&self) -> TimeDelta {
        if self.suspected {
            TimeDelta::ZERO
        } else {
            self.size
        }
    }

    /// How far delays may be off because of it.
    pub(super) fn delay_error(&self) -> TimeDelta {
        self.error.max(self.size.abs() - self.taken_out().abs())
    }

    /// The time between the two packets that the jump does not account for.
    pub(super) fn unexplained(&self, crossings: &[Crossing]) -> TimeDelta {
        elapsed(crossings, self.point, self.before, self.after) - self.size
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.point != other.point
            && self.extent.0 <= other.extent.1
            && other.extent.0 <= self.extent.1
    }

    /// Whether one way alone shows that this was no queue.
    pub(in crate::spp) fn is_beyond_doubt(&self, crossings: &[Crossing]) -> bool {
        let elapsed = elapsed(crossings, self.point, self.before, self.after).as_nanos();
        elapsed < -TURNED_BACK_NS && self.size.as_nanos() < 0
            || self.size.abs().as_nanos() > LONGEST_QUEUE_NS
    }
}

/// Distance between the second smallest and the second largest, so that one outlier is harmless.
pub(in crate::spp) fn spread(sorted: &[i64]) -> i64 {
    let inner = match sorted {
        [_, inner @ .., _] if inner.len() > 1 => inner,
        all => all,
    };
    match inner {
        [low, .., high] => high.saturating_sub(*low),
        _ => 0,
    }
}

/// Time from one crossing to another on one point's clock.
pub(in crate::spp) fn elapsed(
    crossings: &[Crossing],
    point: Point,
    before: usize,
    after: usize,
) -> TimeDelta {
    time_at(&crossings[after], point) - time_at(&crossings[before], point)
}

fn time_at(crossing: &Crossing, point: Point) -> Timestamp {
    match point {
        Point::Src => crossing.src_time,
        Point::Dst => crossing.dst_time,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn whole_nanos(nanos: f64) -> i64 {
    nanos.round() as i64
}
