//! One clock step, measured on the packets around it.

use super::delay::{Delay, confirmed};
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// Smallest step that is searched for: idle hosts and routers vary delays by some tens of
/// microseconds.
pub(in crate::spp) const SMALLEST_NS: i64 = 100_000;

/// Records out of order by less than this are reordering of the capture, not a step.
const TURNED_BACK_NS: i64 = 1_000_000;

/// A step that only one way shows, and that did not set the clock back, must exceed any queueing
/// delay.
const LONGEST_QUEUE_NS: i64 = 60_000_000_000;

/// A clock step, described by the crossings around it.
#[derive(Clone, Debug)]
pub(in crate::spp) struct Jump {
    /// Point whose clock jumped.
    pub(in crate::spp) point: Point,
    /// Index of the last crossing before the step, in order of the point's records.
    pub(in crate::spp) before: usize,
    /// Index of the first crossing after the step.
    pub(in crate::spp) after: usize,
    /// Size of the step; positive is forwards.
    pub(in crate::spp) size: TimeDelta,
    /// Maximum error of `size`.
    pub(in crate::spp) error: TimeDelta,
    /// True if only one way shows the step and queues hide it on the other: it may be a route
    /// change.
    pub(in crate::spp) suspected: bool,
    /// Crossings just before and after the step that `size` is measured on, by way and side.
    pub(in crate::spp) sides: [[Vec<usize>; 2]; 2],
    /// First and last crossing of the search range, to detect two findings of one step.
    pub(in crate::spp) extent: (usize, usize),
}

/// The smallest delays on one side of a step.
struct Floor {
    at: Timestamp,
    owd: TimeDelta,
    varies: TimeDelta,
}

/// Increase of the smallest delays of a way after a step, with its sources of error.
#[derive(Clone, Copy)]
struct MeasuredShift {
    path_direction: PathDirection,
    longer: TimeDelta,
    varies: TimeDelta,
    drifts: TimeDelta,
}

impl MeasuredShift {
    /// Maximum error of `longer`.
    fn error(&self) -> TimeDelta {
        self.varies + self.drifts
    }

    /// Increase of the destination clock minus the source clock.
    fn difference(&self) -> TimeDelta {
        match self.path_direction {
            PathDirection::Out => self.longer,
            PathDirection::Back => -self.longer,
        }
    }
}

impl Jump {
    /// Number of packets per way and side from which the size is measured. Few packets suffice if
    /// their delays are similar, and then drift matters less. Many are needed if most packets
    /// queued.
    pub(in crate::spp) const SIDES: [usize; 2] = [16, 256];
    /// Number of parts of these packets; the smallest delay of each part is used.
    const PARTS: usize = 4;
    /// A size is known if it exceeds its error by this factor.
    const MEASURED: i64 = 8;
    /// Unknown drift allowed between the clocks: 1 ns in this many.
    const UNKNOWN_DRIFT: i64 = 10_000;

    /// Measures the size again, with the clock `drift` (destination relative to source) removed.
    ///
    /// Uses the smallest delays before and after the step, on the way where they vary less.
    pub(in crate::spp) fn measure(&mut self, crossings: &[Crossing], drift: f64) {
        let [few, many] = Self::SIDES;
        let shift = |path_direction: PathDirection, count: usize| {
            let before = self.floor(crossings, drift, path_direction, 0, count)?;
            let after = self.floor(crossings, drift, path_direction, 1, count)?;
            let lag = after.at - before.at;
            Some(MeasuredShift {
                path_direction,
                longer: after.owd - before.owd,
                varies: before.varies.max(after.varies),
                drifts: TimeDelta::from_nanos(lag.as_nanos() / Self::UNKNOWN_DRIFT),
            })
        };
        // In a full queue a few packets in a row can have similar delays too, so compare the ways
        // on many.
        let ways = PathDirection::BOTH.map(|path_direction| shift(path_direction, many));
        let Some(calmer) = ways.into_iter().flatten().min_by_key(|shift| shift.varies) else {
            return;
        };
        let best = |many: MeasuredShift| {
            [shift(many.path_direction, few).unwrap_or(many), many]
                .into_iter()
                .min_by_key(MeasuredShift::error)
                .unwrap_or(many)
        };
        let measured = best(calmer);
        let other = ways[calmer.path_direction.opposite().index()].map(best);
        // The destination clock minus the source clock; the clock of this point jumped.
        self.size = match self.point {
            Point::Src => -measured.difference(),
            Point::Dst => measured.difference(),
        };
        // A step shifts both ways equally. If they contradict each other, a queue changed too, of the
        // one way or of the other.
        let apart = other.map_or(TimeDelta::ZERO, |other| {
            let apart = (measured.difference() - other.difference()).abs();
            // A queue that grows steadily grows further from one side to the other than within one.
            let explained = measured.error() + other.error();
            let is_explained = apart <= explained + explained;
            if is_explained { TimeDelta::ZERO } else { apart }
        });
        self.error = measured.error() + apart;
    }

    /// Smallest delays of up to `count` packets of one way on one side.
    fn floor(
        &self,
        crossings: &[Crossing],
        drift: f64,
        path_direction: PathDirection,
        side: usize,
        count: usize,
    ) -> Option<Floor> {
        let nearest = &self.sides[path_direction.index()][side];
        if nearest.is_empty() {
            return None;
        }
        let nearest = match side {
            0 => &nearest[nearest.len().saturating_sub(count)..],
            _ => &nearest[..count.min(nearest.len())],
        };
        let delays = self.delays(crossings, drift, path_direction, nearest);
        let mut floors: Vec<TimeDelta> = delays
            .chunks(delays.len().div_ceil(Self::PARTS).max(1))
            .filter_map(|part| confirmed(part).iter().map(|delay| delay.owd_ns).min())
            .map(TimeDelta::from_nanos)
            .collect();
        floors.sort_unstable();
        Some(Floor {
            at: time_at(
                &crossings[nearest[nearest.len() / 2]],
                self.point.opposite(),
            ),
            owd: *floors.get(floors.len() / 2)?,
            varies: *floors.last()? - *floors.first()?,
        })
    }

    /// Delays of the `nearest` crossings, which go one way, with the clock `drift` removed. Their time is
    /// zero at the step.
    pub(super) fn delays(
        &self,
        crossings: &[Crossing],
        drift: f64,
        path_direction: PathDirection,
        nearest: &[usize],
    ) -> Vec<Delay> {
        // The clock that did not jump shows the elapsed time.
        let steady = self.point.opposite();
        let start = time_at(&crossings[self.after], steady);
        let delay = |&index: &usize| {
            let crossing = &crossings[index];
            let at_ns = (time_at(crossing, steady) - start).as_nanos();
            // A faster destination clock makes delays out grow and delays back shrink.
            let drifted = TimeDelta::from_nanos(whole_nanos(at_ns as f64 * drift));
            let owd = match path_direction {
                PathDirection::Out => crossing.raw_owd() - drifted,
                PathDirection::Back => crossing.raw_owd() + drifted,
            };
            Delay {
                at_ns,
                owd_ns: owd.as_nanos(),
            }
        };
        nearest.iter().map(delay).collect()
    }

    /// True if this step is before the crossing in the capture of the clock that was set.
    pub(in crate::spp) fn is_before(&self, crossing: &Crossing, crossings: &[Crossing]) -> bool {
        let after = &crossings[self.after];
        match self.point {
            Point::Src => crossing.src_place >= after.src_place,
            Point::Dst => crossing.dst_place >= after.dst_place,
        }
    }

    /// True if the size is known well enough to remove it from the clock.
    pub(super) fn is_measured(&self) -> bool {
        self.error.as_nanos().saturating_mul(Self::MEASURED) <= self.size.abs().as_nanos()
    }

    /// Size to remove from the clock: zero for a suspected step.
    pub(super) fn taken_out(&self) -> TimeDelta {
        if self.suspected {
            TimeDelta::ZERO
        } else {
            self.size
        }
    }

    /// Maximum error of delays because of this step.
    pub(super) fn delay_error(&self) -> TimeDelta {
        // A suspected step stays on the timeline, so delays may be off by its whole size.
        self.error.max(self.size.abs() - self.taken_out().abs())
    }

    /// Time between the two packets around the step that the step does not explain.
    pub(super) fn unexplained(&self, crossings: &[Crossing]) -> TimeDelta {
        elapsed(crossings, self.point, self.before, self.after) - self.size
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.point != other.point
            && self.extent.0 <= other.extent.1
            && other.extent.0 <= self.extent.1
    }

    /// True if one way alone proves that the shift is no queue.
    pub(in crate::spp) fn is_beyond_doubt(&self, crossings: &[Crossing]) -> bool {
        let elapsed = elapsed(crossings, self.point, self.before, self.after).as_nanos();
        // No queue makes a clock show an earlier time for a later record.
        elapsed < -TURNED_BACK_NS && self.size.as_nanos() < 0
            || self.size.abs().as_nanos() > LONGEST_QUEUE_NS
    }
}

/// Distance between the second smallest and the second largest value, so that one outlier is
/// harmless.
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

/// Time from one crossing to another on the clock of `point`.
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
