//! The clocks of several points along a path, solved together.

use tcpexp_units::{TimeDelta, Timestamp};

use super::model::ClockModel;
use super::offset::Offset;
use super::tick::TICK_OF_CAPTURES;
use super::timeline::TimelineReader;
use crate::spp::point::Point;

/// Number of smallest round trips that the packets in flight at the start and the end of captures take,
/// those in a full queue included. Over this time, clocks drift by at most a fiftieth of the error of the
/// offset, which is half the round trip: 1000 ppm, the error of the worst oscillators.
const IN_FLIGHT: i64 = 10;

/// The clocks of points along a path, solved together.
///
/// Neighbours determine the clocks: the offset between two points is the sum of the offsets of the
/// segments between them, and so is its maximum error. A path is never faster than the sum of the
/// fastest crossings of its segments, so the sum is at least as tight as the bound from the packets
/// of the two points.
///
/// This holds while the captures between the two points run. Before and after that time, the error of
/// each segment's skew moves the sum. The packets of the two points then determine their clocks, if
/// they do so better.
#[derive(Clone, Debug)]
pub struct PathClocks {
    /// The settled clocks of neighbours, from the first point on.
    segments: Vec<ClockModel>,
}

/// The clocks of two points along a path.
#[derive(Clone, Debug)]
pub struct JointClocks {
    /// Offset, skew and steps between the two points, with the offset of the whole path.
    pub clock: ClockModel,
    /// Places the records of each capture on the timeline of the path's first point, by
    /// [`Point::index`].
    pub timelines: [PointTimeline; 2],
    /// By how much the sum of the segments differs from what the packets of the two points alone
    /// show, if this exceeds the error bounds of both. The offset then has no bounds.
    pub contradiction: Option<TimeDelta>,
    /// True if the segments between the two points determine the timelines: then the delays of the
    /// segments sum to those between the points.
    pub by_segments: bool,
}

/// Places the records of one capture on the timeline of the first point of a path.
#[derive(Clone, Debug)]
pub struct PointTimeline {
    own: TimelineReader,
    /// The timelines of the points before, nearest first.
    before: Vec<TimelineReader>,
}

impl PathClocks {
    /// `segments` holds the settled clocks of neighbours, from the first point on.
    pub fn new(segments: Vec<ClockModel>) -> Self {
        Self { segments }
    }

    /// The clocks of the points `from` and `to`, counted from 0. `settled` is what their packets
    /// alone show, on the `from` timeline.
    ///
    /// # Panics
    ///
    /// If `from < to` does not hold, or there are fewer points.
    pub fn between(&self, [from, to]: [usize; 2], settled: ClockModel) -> JointClocks {
        let segments = &self.segments[..to];
        let onward = |count: usize| {
            let before = segments[..count].iter().rev();
            before.map(|clock| clock.reader(Point::Dst)).collect()
        };
        let src = PointTimeline {
            own: settled.reader(Point::Src),
            before: onward(from),
        };
        let own = settled.reader(Point::Dst);
        let by_segments = PointTimeline {
            // The steps are those that the two captures show, so that both count them alike.
            own: TimelineReader {
                seams: own.seams.clone(),
                ..segments[to - 1].reader(Point::Dst)
            },
            before: onward(to - 1),
        };
        if to == from + 1 {
            return JointClocks {
                clock: settled,
                timelines: [src, by_segments],
                contradiction: None,
                by_segments: true,
            };
        }
        let sum = Sum::of(&settled, &segments[from..]);
        if sum.is_worse(&settled) {
            let dst = PointTimeline {
                own,
                before: onward(from),
            };
            return JointClocks {
                clock: settled,
                timelines: [src, dst],
                contradiction: None,
                by_segments: false,
            };
        }
        JointClocks {
            contradiction: sum.contradiction(&settled),
            clock: sum.clock(settled),
            timelines: [src, by_segments],
            by_segments: true,
        }
    }
}

/// The clocks of two points according to the segments between them.
struct Sum {
    /// Offset at the moment to which the offset of the two points refers.
    middle: TimeDelta,
    /// Maximum error of `middle` while the captures of all segments run.
    error: Option<TimeDelta>,
    drift: TimeDelta,
    /// Further error outside this time.
    extrapolated: TimeDelta,
    /// True if the two points share packets for longer than a segment between them does, apart from
    /// the packets in flight.
    is_outlasted: bool,
}

impl Sum {
    fn of(settled: &ClockModel, segments: &[ClockModel]) -> Self {
        // The offset changes with time if the clocks have a skew, so both are of one moment.
        let moment = settled.reader(Point::Dst).origin;
        let extrapolated = extrapolated(settled, segments);
        Self {
            middle: moment - onto_first(segments, moment),
            error: segments.iter().map(|clock| clock.offset().error()).sum(),
            // The times of the segment's ends pass through the clocks of all segments between them.
            drift: segments.iter().map(|clock| clock.delay_error.drift).sum(),
            extrapolated,
            is_outlasted: extrapolated > TimeDelta::ZERO && is_outlasted(settled, segments),
        }
    }

    fn error(&self) -> Option<TimeDelta> {
        Some(self.error? + self.extrapolated)
    }

    /// True if the packets of the two points determine the offset better, because these points were
    /// captured for longer than those between them.
    fn is_worse(&self, settled: &ClockModel) -> bool {
        let errors = self.error().zip(settled.offset().error());
        self.is_outlasted && errors.is_some_and(|(sum, alone)| sum > alone)
    }

    /// By how much the offset differs from that of the two points, if this exceeds both errors.
    fn contradiction(&self, settled: &ClockModel) -> Option<TimeDelta> {
        let alone = settled.offset();
        let apart = (self.middle - alone.middle).abs();
        let (error, alone) = self.error().zip(alone.error())?;
        (apart > error + alone).then_some(apart)
    }

    /// The clocks of the two points with the offset of the segments.
    fn clock(&self, settled: ClockModel) -> ClockModel {
        let error = self.error();
        let error = error.filter(|_| self.contradiction(&settled).is_none());
        let offset = Offset {
            lower: error.map(|error| self.middle - error),
            upper: error.map(|error| self.middle + error),
            middle: self.middle,
        };
        settled.with_offset(offset, self.drift + self.extrapolated)
    }
}

/// Time on the clock of the segments' first point, of a time at their last point.
fn onto_first(segments: &[ClockModel], at: Timestamp) -> Timestamp {
    segments
        .iter()
        .rev()
        .fold(at, |at, clock| clock.reader(Point::Dst).without_drift(at))
}

/// Drift between the two points that the errors of the segments' skews allow, over the time in which
/// the two points share packets but a segment does not. Zero if it is below the resolution of most
/// captures.
fn extrapolated(settled: &ClockModel, segments: &[ClockModel]) -> TimeDelta {
    let drifts = segments.iter().zip(uncovered(settled, segments));
    let drift: TimeDelta = drifts
        .map(|(clock, uncovered)| clock.drift_over(uncovered))
        .sum();
    if drift > TICK_OF_CAPTURES {
        drift
    } else {
        TimeDelta::ZERO
    }
}

/// True if the two points share packets for longer than a segment does. The first and the last packets
/// of captures that ran at the same time differ by those in flight, so [`IN_FLIGHT`] does not count.
fn is_outlasted(settled: &ClockModel, segments: &[ClockModel]) -> bool {
    // The bounds of the offset are the smallest round trip apart.
    let half_round_trip = settled.offset().error().unwrap_or_default();
    let in_flight = TimeDelta::from_nanos(half_round_trip.as_nanos().saturating_mul(2 * IN_FLIGHT));
    uncovered(settled, segments).any(|uncovered| uncovered > in_flight)
}

/// The time in which the two points share packets but a segment does not, for each segment.
fn uncovered(settled: &ClockModel, segments: &[ClockModel]) -> impl Iterator<Item = TimeDelta> {
    let (first, last) = settled.covered();
    segments.iter().enumerate().map(move |(place, clock)| {
        let (from, to) = clock.covered();
        let [from, to] = [from, to].map(|at| onto_first(&segments[..place], at));
        (from - first).max(TimeDelta::ZERO) + (last - to).max(TimeDelta::ZERO)
    })
}

impl PointTimeline {
    /// Time of the record at `place` in the order of the capture, captured at `time` on the clock of this capture: on
    /// the clock of the first point and at its rate, without the steps of either clock.
    pub fn place(&self, place: u64, time: Timestamp) -> Timestamp {
        let at = self.own.place(place, time).at;
        let before = self.before.iter();
        before.fold(at, |at, reader| reader.without_drift(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spp::clock::LeastDelay;
    use crate::spp::crossing::{Crossing, PathDirection};

    const START: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);

    /// A clock that is ahead by `offset` at the start and fast by `ppm`.
    fn shown(at: Timestamp, offset_ns: i64, ppm: i64) -> Timestamp {
        let gained = (at - START).as_nanos() / 1_000_000 * ppm;
        at + TimeDelta::from_nanos(offset_ns + gained)
    }

    /// The clocks of two points from packets that take `owd_ms` each way.
    fn clock(near: (i64, i64), far: (i64, i64), owd_ms: i64) -> ClockModel {
        clock_until(6_000, near, far, owd_ms)
    }

    /// The same clocks from the first `packets` of them, one every five milliseconds.
    fn clock_until(packets: i64, near: (i64, i64), far: (i64, i64), owd_ms: i64) -> ClockModel {
        let crossings: Vec<Crossing> = (0..packets)
            .map(|number| {
                let left = START + TimeDelta::from_millis(5 * number);
                let arrived = left + TimeDelta::from_millis(owd_ms);
                let (path_direction, src, dst) = if number % 2 == 0 {
                    (PathDirection::Out, left, arrived)
                } else {
                    (PathDirection::Back, arrived, left)
                };
                Crossing {
                    path_direction,
                    src_place: number.unsigned_abs(),
                    dst_place: number.unsigned_abs(),
                    src_time: shown(src, near.0, near.1),
                    dst_time: shown(dst, far.0, far.1),
                    payload_bytes: 0,
                }
            })
            .collect();
        let tick = TimeDelta::from_nanos(1);
        let clock = ClockModel::estimate(&crossings, [tick; 2]).unwrap();
        let place = |point: Point, record, time| clock.reader(point).place(record, time).at;
        let owds = |way: PathDirection| {
            let of_way = crossings.iter().filter(move |c| c.path_direction == way);
            of_way
                .map(|c| {
                    let src = place(Point::Src, c.src_place, c.src_time);
                    let dst = place(Point::Dst, c.dst_place, c.dst_time);
                    Crossing {
                        src_time: src,
                        dst_time: dst,
                        ..*c
                    }
                })
                .map(|c| LeastDelay::of(c.raw_owd(), [c.src_time, c.dst_time]))
                .min()
        };
        let least = PathDirection::BOTH.map(owds);
        clock.settled(least, false)
    }

    const POINTS: [(i64, i64); 3] = [(0, 0), (-7_000_000_000, 40), (3_000_000_000, -25)];

    fn joint() -> (PathClocks, ClockModel) {
        let clocks = PathClocks::new(vec![
            clock(POINTS[0], POINTS[1], 3),
            clock(POINTS[1], POINTS[2], 9),
        ]);
        (clocks, clock(POINTS[0], POINTS[2], 12))
    }

    #[test]
    fn offset_of_a_path_is_the_sum_of_its_segments_within_their_bounds() {
        let (clocks, alone) = joint();
        let found = clocks.between([0, 2], alone);
        assert_eq!(found.contradiction, None);
        let offset = found.clock.offset();
        let off = (offset.middle - TimeDelta::from_seconds(3)).abs();
        assert!(off <= offset.error().unwrap(), "{offset:?}");
        assert!(offset.error().unwrap() <= TimeDelta::from_micros(12_100));
    }

    #[test]
    fn delays_of_segments_add_up_to_that_of_the_path_to_the_nanosecond() {
        let (clocks, alone) = joint();
        let [a, last] = clocks.between([0, 2], alone).timelines;
        let [a_again, b] = clocks.between([0, 1], clocks.segments[0].clone()).timelines;
        let [b_again, last_again] = clocks.between([1, 2], clocks.segments[1].clone()).timelines;
        for seconds in 0..30 {
            let at = START + TimeDelta::from_millis(1_000 * seconds + 317);
            let times = [0, 3, 12].map(|ms| at + TimeDelta::from_millis(ms));
            let [t0, t1, t2] = [0, 1, 2].map(|k: usize| shown(times[k], POINTS[k].0, POINTS[k].1));
            assert_eq!(a.place(0, t0), a_again.place(0, t0));
            assert_eq!(b.place(0, t1), b_again.place(0, t1));
            assert_eq!(last.place(0, t2), last_again.place(0, t2));
            let delay = last.place(0, t2) - a.place(0, t0);
            let off = (delay - TimeDelta::from_millis(12)).abs();
            assert!(off < TimeDelta::from_micros(12_100), "{delay}");
        }
    }

    #[test]
    fn delays_of_a_path_are_within_their_bounds_after_the_capture_between_its_ends_has_ended() {
        // Two seconds show no skew, but thirty do.
        for packets in [400, 1_200, 3_000, 6_000] {
            let clocks = PathClocks::new(vec![
                clock_until(packets, POINTS[0], POINTS[1], 3),
                clock_until(packets, POINTS[1], POINTS[2], 9),
            ]);
            let found = clocks.between([0, 2], clock(POINTS[0], POINTS[2], 12));
            let most = found.clock.offset().error().unwrap();
            let [near, far] = &found.timelines;
            for seconds in 0..30 {
                let left = START + TimeDelta::from_seconds(seconds);
                let arrived = left + TimeDelta::from_millis(12);
                let sent = near.place(0, shown(left, POINTS[0].0, POINTS[0].1));
                let received = far.place(0, shown(arrived, POINTS[2].0, POINTS[2].1));
                let off = (received - sent - TimeDelta::from_millis(12)).abs();
                assert!(off <= most, "{packets} packets, {seconds} s: {off} {most}");
            }
            assert!(
                most < TimeDelta::from_millis(13),
                "{packets} packets: {most}"
            );
        }
    }

    #[test]
    fn segments_determine_the_path_if_their_captures_differ_by_the_packets_in_flight_only() {
        let until = |packets| {
            // So few packets show no skew: the drift over those in flight exceeds a microsecond.
            let clocks = PathClocks::new(vec![
                clock(POINTS[0], POINTS[1], 3),
                clock_until(packets, POINTS[1], POINTS[2], 9),
            ]);
            // The packets of the ends have the smaller error: 6 ms instead of 3 ms and 9 ms.
            let found = clocks.between([0, 2], clock_until(40, POINTS[0], POINTS[2], 6));
            found.by_segments
        };
        assert_eq!([36, 5].map(until), [true, false]);
    }

    #[test]
    fn offsets_that_exclude_each_other_give_no_bound() {
        let (clocks, _) = joint();
        let other = (POINTS[2].0 + 60_000_000, POINTS[2].1);
        let found = clocks.between([0, 2], clock(POINTS[0], other, 12));
        let apart = found.contradiction.unwrap() - TimeDelta::from_millis(60);
        assert!(apart.abs() < TimeDelta::from_millis(1), "{apart}");
        assert_eq!(found.clock.offset().error(), None);
    }
}
