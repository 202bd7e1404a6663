//! The relation between the clocks of the two capture points.
//!
//! A packet's timestamps at the two points differ by the clock offset and the one-way delay.
//! Packets of both ways bound the offset from both sides. The smallest delays over time show the
//! skew. A shift of both ways at once shows a clock step.

use serde::{Deserialize, Serialize};
use tcpexp_units::{Skew, TimeDelta, Timestamp};

use super::coverage::Coverage;
use super::delays::Delays;
use super::jump::{Jump, SMALLEST_NS};
use super::lasting;
use super::least::{LeastDelay, LeastDelays};
use super::offset::{DelayError, Offset};
use super::seams::{placed_steps, seams, unstepping};
use super::skew::SkewEstimate;
use super::steps::{self, ClockStep};
use super::timeline::{Rate, TRILLION, TimelineReader};
use super::wander::Wander;
use crate::spp::crossing::Crossing;
use crate::spp::point::Point;

/// Number of rounds, since step sizes depend on the skew and the skew depends on step sizes.
const ROUNDS_WITH_STEPS: usize = 3;

/// Maximum error of an oscillator (1000 ppm), in parts per trillion.
const PLAUSIBLE_PPT: i64 = TRILLION / 1_000;

/// What is known about the clocks of two captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Each capture has its own clock, or may have.
    #[default]
    Separate,
    /// Both captures have the times of one clock: those of two interfaces of a host, for example.
    One,
}

/// Offset, skew and steps between the clocks of two captures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockModel {
    offset: Offset,
    offset_is_sure: bool,
    is_against_order: bool,
    skew: SkewEstimate,
    steps: Vec<ClockStep>,
    suspected_steps: Vec<ClockStep>,
    readers: [TimelineReader; 2],
    /// Maximum error of the relative rate after the detected skew is removed.
    rate_error: Rate,
    /// Errors of delays on the timeline other than the error of the offset.
    pub(in crate::spp) delay_error: DelayError,
    wander: Wander,
    /// Times of the first and the last crossing on the source clock, without its steps.
    covered: (Timestamp, Timestamp),
    /// The bounds of the offset by the fastest packets, if the model is that of a single clock, whose
    /// offset is zero and which no packet changes. `None` for separate clocks.
    one_clock: Option<Offset>,
}

impl ClockModel {
    /// Estimates the model from packets seen at both points, in order of `src_place`.
    ///
    /// Tolerates a few false matches. Returns `None` without crossings. `ticks` holds the
    /// resolution of each clock, by [`Point::index`].
    pub fn estimate(crossings: &[Crossing], ticks: [TimeDelta; 2]) -> Option<Self> {
        let mut delay_error = DelayError {
            ticks,
            ..DelayError::default()
        };
        let coarseness = delay_error.coarseness();
        let first = crossings.first()?;
        let mut jumps = steps::find(crossings, coarseness);
        let (mut delays, mut skew) = fit(first, crossings, &mut jumps);
        // A false step falsifies the skew, and the skew hides that the step is false.
        while lasting::remove_passing(&mut jumps, crossings, drift(skew)) {
            (delays, skew) = fit(first, crossings, &mut jumps);
        }
        // What is left of a step after the skew is removed may be none.
        jumps.retain(|jump| jump.size.abs().as_nanos() > SMALLEST_NS / 2);
        for jump in &mut jumps {
            jump.suspected |= !jump.is_measured();
        }
        lasting::doubt_unmoved(&mut jumps, crossings, drift(skew));
        steps::doubt_remainders(&mut jumps);
        let (offset, offset_is_sure) = delays.offset(used(skew), coarseness);
        let mut readers = unstepping(crossings, &jumps);
        let dst = &mut readers[Point::Dst.index()];
        dst.origin = delays.start + offset.middle;
        dst.offset = offset.middle;
        let ppt = used(skew).as_ppt();
        // A clock that runs at 1 + ρ gains ρ / (1 + ρ) per time that it shows.
        dst.gains = Rate::of(ppt, TRILLION.saturating_add(ppt));
        // Only the common timeline shows where a step of one clock is in the other capture.
        let steps = placed_steps(crossings, &jumps, &readers);
        for point in Point::BOTH {
            readers[point.index()].seams = seams(crossings, &jumps, &steps, point);
        }
        let wander = Wander::learn(crossings, &readers, &jumps, coarseness);
        let (mut suspected_steps, mut certain) = (Vec::new(), Vec::new());
        for (step, jump) in steps.into_iter().zip(&jumps) {
            if jump.suspected {
                suspected_steps.push(step);
            } else {
                certain.push(step);
            }
        }
        for steps in [&mut suspected_steps, &mut certain] {
            steps.sort_by_key(|step: &ClockStep| step.at);
        }
        let step_errors = jumps.iter().map(Jump::delay_error).sum();
        let wandered = wander.drift();
        let wandered = wandered.unwrap_or_else(|| rate_error(skew).share(delays.span()).abs());
        delay_error.drift = delays.drift_error(skew) + step_errors + wandered;
        Some(Self {
            offset,
            offset_is_sure,
            is_against_order: false,
            skew,
            steps: certain,
            suspected_steps,
            readers,
            rate_error: rate_error(skew),
            delay_error,
            wander,
            covered: (delays.start, delays.start + delays.span()),
            one_clock: None,
        })
    }

    /// Returns the model of two captures with the times of one clock: without offset, skew and steps.
    ///
    /// Returns `None` without crossings. `ticks` holds the resolution of each capture, by [`Point::index`].
    pub(in crate::spp) fn of_one_clock(
        crossings: &[Crossing],
        ticks: [TimeDelta; 2],
    ) -> Option<Self> {
        let times = crossings.iter().map(|crossing| crossing.src_time);
        let covered = (times.clone().min()?, times.max()?);
        let skew = SkewEstimate {
            uncertainty: Some(Skew::NONE),
            ..SkewEstimate::default()
        };
        let delay_error = DelayError {
            ticks,
            ..DelayError::default()
        };
        let readers = <[TimelineReader; 2]>::default();
        let delays = Delays::new(crossings.first()?, crossings, &readers);
        let (allowed, _) = delays.offset(Skew::NONE, delay_error.coarseness());
        Some(Self {
            offset: Offset::between(Some(TimeDelta::ZERO), Some(TimeDelta::ZERO)),
            offset_is_sure: true,
            is_against_order: false,
            skew,
            steps: Vec::new(),
            suspected_steps: Vec::new(),
            readers,
            rate_error: Rate::default(),
            delay_error,
            wander: Wander::default(),
            covered,
            one_clock: Some(allowed.around_zero()),
        })
    }

    /// Returns the reader that places the records of one capture on the common timeline.
    pub fn reader(&self, point: Point) -> TimelineReader {
        self.readers[point.index()].clone()
    }

    /// Destination clock minus source clock at the first crossing, without later steps.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Returns the model with the offset that the fastest packets show. `least` holds their delays
    /// on this timeline, by [`PathDirection::index`](crate::spp::PathDirection::index). [`Offset`] derives the bound.
    ///
    /// With `symmetric` the fastest packets of both ways are assumed to have equal delays.
    #[must_use]
    pub fn settled(&self, least: LeastDelays, symmetric: bool) -> Self {
        if least == [None; 2] || self.is_one_clock() {
            return self.clone();
        }
        // The clocks may have been set before an uncovered packet: its delay is no bound for the other times.
        let coverage = self.coverage();
        let bound = |least: LeastDelay| {
            let covered = coverage.excluded(least.times).is_none();
            let away = least.away_from_steps.filter(|_| !covered);
            away.unwrap_or(least.delay)
        };
        let delays = least.map(|least| least.map(bound));
        let offset = self.offset.settled(delays, &self.delay_error, symmetric);
        let mut settled = self.clone();
        let dst = &mut settled.readers[Point::Dst.index()];
        let moved = offset.middle - self.offset.middle;
        dst.origin = dst.origin + moved;
        dst.offset += moved;
        settled.offset = offset;
        settled
    }

    /// Returns the model with an offset from elsewhere, and the drift of the timeline that this
    /// offset belongs to; the model's own timeline stays as it is.
    pub(super) fn with_offset(mut self, offset: Offset, drift: TimeDelta) -> Self {
        self.offset = offset;
        self.delay_error.drift = drift;
        self
    }

    /// True if both captures are known to have the times of one clock.
    pub fn is_one_clock(&self) -> bool {
        self.one_clock.is_some()
    }

    /// The smallest round trip of the packets that the model is estimated from: the distance between
    /// the bounds that they set on the offset. `None` without both bounds.
    pub(in crate::spp) fn smallest_round_trip(&self) -> Option<TimeDelta> {
        let bounds = self.one_clock.unwrap_or(self.offset);
        Some(bounds.upper? - bounds.lower?)
    }

    /// True if enough packets agree on the offset to distinguish identical packets by their delays.
    pub(in crate::spp) fn offset_is_sure(&self) -> bool {
        self.offset_is_sure
    }

    /// Marks the offset as unsure: the packets it is estimated from may be false matches.
    pub(in crate::spp) fn doubt_offset(&mut self) {
        self.offset_is_sure = self.is_one_clock();
    }

    /// Notes that some packets arrive before they leave if they go from the source to the destination.
    /// Only the order of the captures shows this direction.
    pub(in crate::spp) fn note_against_order(&mut self) {
        self.is_against_order = true;
    }

    /// The warning about one-way traffic whose direction is taken from the order of the captures
    /// although the clocks contradict it; `None` for all other traffic.
    pub fn order_warning(&self) -> Option<&'static str> {
        self.is_against_order.then_some(
            "some traffic passes in one direction only, and according to the clocks it reaches dst before src: this traffic counts as sent from src to dst, as the captures are named; if the clocks agree, swap the captures",
        )
    }

    /// Relative rate of the clocks.
    pub fn skew(&self) -> SkewEstimate {
        self.skew
    }

    /// Clock steps, in order of time.
    pub fn steps(&self) -> &[ClockStep] {
        &self.steps
    }

    /// Possible clock steps, in order of time. The delays of one way changed at once and stayed
    /// changed, and queues of the other way hide whether its delays changed too.
    ///
    /// They are not removed from the timeline, but nothing is measured across them.
    pub fn suspected_steps(&self) -> &[ClockStep] {
        &self.suspected_steps
    }

    /// Resolution of each clock, by [`Point::index`].
    pub fn ticks(&self) -> [TimeDelta; 2] {
        self.delay_error.ticks
    }

    /// How much earlier than its departure a packet may seem to arrive because of coarse clocks;
    /// zero for clocks with microsecond resolution.
    pub fn coarseness(&self) -> TimeDelta {
        self.delay_error.coarseness()
    }

    /// True if a possible clock step may falsify the delay of a packet that passes the points at
    /// `times`, by [`Point::index`].
    pub(crate) fn is_beside_step(&self, times: [Timestamp; 2]) -> bool {
        self.wander.beside(times) > TimeDelta::ZERO
    }

    /// The times at which packets show the clocks.
    pub(crate) fn coverage(&self) -> Coverage {
        if self.is_one_clock() {
            return Coverage::ALWAYS;
        }
        let (first, last) = self.covered;
        Coverage::between(first, last)
    }

    /// What the clocks may have done besides the model.
    pub(super) fn wander(&self) -> &Wander {
        &self.wander
    }

    /// Times of the first and the last crossing on the source clock, without its steps.
    pub(super) fn covered(&self) -> (Timestamp, Timestamp) {
        self.covered
    }

    /// Change of the clock difference over `span` that the error of the skew allows.
    pub(super) fn drift_over(&self, span: TimeDelta) -> TimeDelta {
        self.rate_error.share(span).abs()
    }

    /// Maximum error of a round-trip time with this `turnaround`, as far as the clocks cause it.
    /// `times` are those of its first and its last packet at its `near` point, on the timeline.
    ///
    /// Each of the two differences of times is exact to one tick of its clock. The relative rate of
    /// the clocks is known to the uncertainty of the skew, which acts over the turnaround; without
    /// an estimate it is at most 1000 ppm, the error of the worst oscillators. Nothing is measured
    /// across clock steps. Other movements of the clocks add as much as the delays of both ways
    /// allow, if there are signs of any.
    #[inline]
    pub(in crate::spp) fn rtt_error(
        &self,
        turnaround: TimeDelta,
        near: Point,
        times: [Timestamp; 2],
    ) -> TimeDelta {
        self.delay_error.both_ticks()
            + self.rate_error.share(turnaround).abs()
            + self.wander.between(near, times)
    }

    /// Share of a raw round-trip time that is due to skew: `rtt = raw - share`.
    ///
    /// A raw round-trip time is the time between two packets at the near point minus the
    /// `turnaround` between them at the `far` point, each on its own clock. A fast far clock shows
    /// too long a turnaround, so `raw` is too short and the share is negative. Zero if no skew was
    /// detected. The result is in time of the near clock.
    pub fn skew_share(&self, far: Point, turnaround: TimeDelta) -> TimeDelta {
        match far {
            // While the destination clock shows T, T / (1 + ρ) passes on the source clock.
            Point::Dst => -self.readers[far.index()].gains.share(turnaround),
            // Relative to the destination clock, the source clock is slow by this rate.
            Point::Src => Rate::of(used(self.skew).as_ppt(), TRILLION).share(turnaround),
        }
    }
}

/// Estimates the skew, and measures the `jumps` with the skew removed.
fn fit(first: &Crossing, crossings: &[Crossing], jumps: &mut [Jump]) -> (Delays, SkewEstimate) {
    let mut skew = SkewEstimate::default();
    let mut delays = Delays::default();
    let rounds = if jumps.is_empty() {
        1
    } else {
        ROUNDS_WITH_STEPS
    };
    for _ in 0..rounds {
        for jump in &mut *jumps {
            jump.measure(crossings, drift(skew));
        }
        delays = Delays::new(first, crossings, &unstepping(crossings, jumps));
        skew = delays.skew(jumps);
    }
    (delays, skew)
}

/// The relative rate of the clocks to correct for.
fn drift(skew: SkewEstimate) -> f64 {
    used(skew).as_ppt() as f64 / TRILLION as f64
}

/// Maximum error of the relative rate after the detected skew is removed.
fn rate_error(skew: SkewEstimate) -> Rate {
    let estimated = skew
        .uncertainty
        .map(|uncertainty| uncertainty.as_ppt().abs());
    let off_ppt = estimated.unwrap_or(PLAUSIBLE_PPT);
    Rate::of(off_ppt.min(PLAUSIBLE_PPT), TRILLION)
}

/// The skew to correct for: zero unless detected.
fn used(skew: SkewEstimate) -> Skew {
    if skew.detected { skew.skew } else { Skew::NONE }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tcpexp_units::Timestamp;

    use super::*;
    use crate::spp::clock::DelayBounds;
    use crate::spp::clock::offset::fewest_mistaken;
    use crate::spp::clock::seams::seen_at;
    use crate::spp::crossing::PathDirection;

    /// Clocks with nanosecond resolution.
    const FINE: [TimeDelta; 2] = [TimeDelta::from_nanos(1); 2];
    const MS: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MS;
    const HOUR: i64 = 3_600 * SECOND;

    /// Two clocks, a path between them, and packets on it.
    struct Scene {
        seconds: i64,
        /// Packets per second, by way.
        rates: [i64; 2],
        offset_ns: i64,
        skew_ppm: i64,
        /// Clock steps: point, true time, size.
        set: Vec<(Point, i64, i64)>,
        /// One packet in this many is a false match.
        wrong_every: Option<u64>,
    }

    impl Default for Scene {
        fn default() -> Self {
            Self {
                seconds: 30,
                rates: [200, 100],
                offset_ns: 5 * HOUR,
                skew_ppm: 0,
                set: Vec::new(),
                wrong_every: None,
            }
        }
    }

    /// A pseudo-random number that depends only on `seed`.
    fn random(seed: u64) -> u64 {
        let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn random_below(seed: i64, end: i64) -> i64 {
        let [seed, end] = [seed, end].map(i64::unsigned_abs);
        i64::try_from(random(seed) % end).unwrap()
    }

    /// 20 ms plus up to 5 µs.
    fn clean(_way: PathDirection, sent_ns: i64) -> i64 {
        20 * MS + random_below(sent_ns, 5_000)
    }

    /// A queue of up to 180 ms towards the destination that is empty for half a second in every
    /// five.
    fn queue_out(path_direction: PathDirection, sent_ns: i64) -> i64 {
        let full = (sent_ns % (5 * SECOND) - SECOND / 2).max(0) / 25;
        clean(path_direction, sent_ns)
            + if path_direction == PathDirection::Out {
                full
            } else {
                0
            }
    }

    /// Bursts of cross traffic both ways that take up to 90 ms of each 100 ms to drain.
    fn bursts(path_direction: PathDirection, sent_ns: i64) -> i64 {
        let slot = sent_ns / (100 * MS);
        let burst = random_below(
            2 * slot + i64::from(path_direction == PathDirection::Out),
            90 * MS,
        );
        clean(path_direction, sent_ns) + (burst - sent_ns % (100 * MS)).max(0)
    }

    /// Up to 30 ms of extra delay per packet, both ways.
    fn noise(path_direction: PathDirection, sent_ns: i64) -> i64 {
        clean(path_direction, sent_ns) + random_below(sent_ns + 1, 30 * MS)
    }

    impl Scene {
        fn clock(&self, point: Point, true_ns: i64) -> Timestamp {
            let jumps = self
                .set
                .iter()
                .filter(|set| set.0 == point && true_ns >= set.1);
            let jumped: i64 = jumps.map(|set| set.2).sum();
            let shown = match point {
                Point::Src => true_ns,
                Point::Dst => true_ns + true_ns / 1_000 * self.skew_ppm / 1_000 + self.offset_ns,
            };
            Timestamp::from_nanos((1_700_000_000 * SECOND + shown + jumped) / 1_000 * 1_000)
        }

        /// Returns the crossings, and the true times of each packet at the two points.
        fn run(
            &self,
            owd_ns: impl Fn(PathDirection, i64) -> i64,
        ) -> (Vec<Crossing>, Vec<[i64; 2]>) {
            let mut passages = Vec::new();
            for path_direction in PathDirection::BOTH {
                for i in 0..self.seconds * self.rates[path_direction.index()] {
                    let sent = i * SECOND / self.rates[path_direction.index()];
                    let mut arrived = sent + owd_ns(path_direction, sent);
                    let dice = random(sent.unsigned_abs() + 7);
                    if self
                        .wrong_every
                        .is_some_and(|every| dice.is_multiple_of(every))
                    {
                        arrived += random_below(sent + 9, 2 * SECOND) - SECOND;
                    }
                    let [src, dst] = match path_direction {
                        PathDirection::Out => [sent, arrived],
                        PathDirection::Back => [arrived, sent],
                    };
                    passages.push((path_direction, [src, dst]));
                }
            }
            let mut places = vec![[0; 2]; passages.len()];
            for point in Point::BOTH {
                let mut order: Vec<usize> = (0..passages.len()).collect();
                order.sort_by_key(|&i| passages[i].1[point.index()]);
                for (place, i) in (0..).zip(order) {
                    // Between two crossings there is a packet that was not sampled.
                    places[i][point.index()] = 2 * place;
                }
            }
            let mut all: Vec<(Crossing, [i64; 2])> = passages
                .iter()
                .zip(places)
                .map(|(&(path_direction, times), [src_place, dst_place])| {
                    let crossing = Crossing {
                        path_direction,
                        src_place,
                        dst_place,
                        src_time: self.clock(Point::Src, times[0]),
                        dst_time: self.clock(Point::Dst, times[1]),
                        payload_bytes: 0,
                    };
                    (crossing, times)
                })
                .collect();
            all.sort_by_key(|(crossing, _)| crossing.src_place);
            all.into_iter().unzip()
        }

        fn model(&self, owd_ns: impl Fn(PathDirection, i64) -> i64) -> ClockModel {
            ClockModel::estimate(&self.run(owd_ns).0, FINE).unwrap()
        }
    }

    fn skew_error_ppm(scene: &Scene, owd_ns: impl Fn(PathDirection, i64) -> i64) -> f64 {
        let skew = scene.model(owd_ns).skew();
        assert!(skew.detected, "{skew:?}");
        let error = skew.skew.as_ppm_f64() - scene.skew_ppm as f64;
        let uncertainty = skew.uncertainty.unwrap().as_ppm_f64();
        assert!(error.abs() <= uncertainty, "{error} {skew:?}");
        error.abs()
    }

    /// Estimates the clocks and returns the error of a round-trip time of 100 ms around `at_ns`,
    /// measured at the source.
    fn rtt_error_at(scene: &Scene, at_ns: i64, owd: fn(PathDirection, i64) -> i64) -> TimeDelta {
        let (crossings, _) = scene.run(owd);
        let model = ClockModel::estimate(&crossings, FINE).unwrap();
        let time = |ns: i64| scene.clock(Point::Src, ns);
        let times = [time(at_ns - 50 * MS), time(at_ns + 50 * MS)];
        model.rtt_error(TimeDelta::from_micros(10), Point::Src, times)
    }

    #[test]
    fn steady_clocks_add_no_error_beyond_ticks_and_skew() {
        for owd in [clean, queue_out] {
            for at in 1..29 {
                let error = rtt_error_at(&Scene::default(), at * SECOND, owd);
                assert!(error < TimeDelta::from_micros(1), "{at} s: {error}");
            }
        }
    }

    #[test]
    fn queue_of_one_way_at_an_end_of_the_captures_adds_no_error() {
        fn queue_at_ends(path_direction: PathDirection, sent_ns: i64) -> i64 {
            let from_end = sent_ns.min(30 * SECOND - sent_ns);
            let queue = if path_direction == PathDirection::Out && from_end < 100 * MS {
                from_end / 3
            } else {
                0
            };
            clean(path_direction, sent_ns) + queue
        }
        for at in [80 * MS, 30 * SECOND - 80 * MS] {
            let error = rtt_error_at(&Scene::default(), at, queue_at_ends);
            assert!(error < TimeDelta::from_micros(10), "{at} ns: {error}");
        }
    }

    #[test]
    fn step_between_the_first_packets_of_one_way_is_part_of_the_error_of_a_round_trip_time() {
        // Way back there are three packets in the first second, but dozens way out.
        let scene = Scene {
            set: vec![(Point::Dst, SECOND / 3, MS)],
            ..Scene::default()
        };
        let (mut crossings, _) = scene.run(clean);
        let time = |ns: i64| scene.clock(Point::Src, ns);
        let kept =
            [SECOND / 4, SECOND * 2 / 5, SECOND * 3 / 5].map(|ns| time(ns)..time(ns + 10 * MS));
        crossings.retain(|crossing| {
            crossing.path_direction == PathDirection::Out
                || crossing.src_time >= time(SECOND)
                || kept.iter().any(|kept| kept.contains(&crossing.src_time))
        });
        let model = ClockModel::estimate(&crossings, FINE).unwrap();
        let times = [time(SECOND * 3 / 10), time(SECOND * 2 / 5)];
        let error = model.rtt_error(TimeDelta::from_micros(10), Point::Src, times);
        let allowed = TimeDelta::from_nanos(MS) - TimeDelta::from_micros(10);
        assert!(error >= allowed, "{error}");
    }

    #[test]
    fn step_before_the_first_packet_back_is_part_of_the_error_of_a_round_trip_time() {
        for first_back in [SECOND, 5 * SECOND] {
            let scene = Scene {
                set: vec![(Point::Dst, SECOND / 3, MS)],
                ..Scene::default()
            };
            let (mut crossings, _) = scene.run(clean);
            let from = scene.clock(Point::Src, first_back);
            crossings.retain(|crossing| {
                crossing.path_direction == PathDirection::Out || crossing.src_time >= from
            });
            let model = ClockModel::estimate(&crossings, FINE).unwrap();
            let times = [scene.clock(Point::Src, SECOND / 4), from];
            let error = model.rtt_error(TimeDelta::from_micros(10), Point::Src, times);
            let allowed = TimeDelta::from_nanos(MS) - TimeDelta::from_micros(10);
            assert!(error >= allowed, "{first_back} ns: {error}");
        }
    }

    #[test]
    fn step_behind_a_queue_is_part_of_the_error_of_a_round_trip_time() {
        for size in [100_000, 300_000, -1_000_000] {
            let scene = Scene {
                set: vec![(Point::Dst, 12 * SECOND + SECOND / 3, size)],
                ..Scene::default()
            };
            let error = rtt_error_at(&scene, 12 * SECOND + SECOND / 3, queue_out);
            let allowed = TimeDelta::from_nanos(size.abs()) - TimeDelta::from_micros(10);
            assert!(error >= allowed, "{size} ns: {error}");
        }
    }

    #[test]
    fn corrections_of_a_saw_tooth_clock_are_part_of_the_error_of_a_round_trip_time() {
        let scene = saw_tooth(100);
        for second in 3..27 {
            let error = rtt_error_at(&scene, second * SECOND, queue_out);
            assert!(error >= TimeDelta::from_micros(95), "{second} s: {error}");
        }
    }

    /// A clock at the destination that gains `ppm` and is set back each second.
    fn saw_tooth(ppm: i64) -> Scene {
        Scene {
            skew_ppm: ppm,
            set: (1..30)
                .map(|second| (Point::Dst, second * SECOND, -ppm * 1_000))
                .collect(),
            ..Scene::default()
        }
    }

    /// Estimates the clocks from crossings with their true times, and requires the true queueing delay of
    /// each to be within its error. The fastest packets take 20 ms.
    fn require_queueing_delays_within_errors(crossings: &[(Crossing, [i64; 2])], of: &str) {
        let (crossings, times): (Vec<Crossing>, Vec<[i64; 2]>) = crossings.iter().copied().unzip();
        let model = ClockModel::estimate(&crossings, FINE).unwrap();
        let least = least_delays(&model, &crossings);
        let bounds = DelayBounds::new(&model.settled(least, false), least);
        let true_owds = times.iter().map(|[src, dst]| (dst - src).abs());
        for (crossing, true_owd) in crossings.iter().zip(true_owds) {
            let Some(placed) = placed(&model, crossing) else {
                continue;
            };
            let way = crossing.path_direction;
            let queueing = placed.raw_owd() - least[way.index()].unwrap().delay;
            let off = (queueing - TimeDelta::from_nanos(true_owd - 20 * MS)).abs();
            let errors = bounds.of(way, [placed.src_time, placed.dst_time]);
            // Rounding of the times, and the true smallest delay.
            let allowed = errors
                .queueing
                .map(|error| error + TimeDelta::from_micros(7));
            assert!(
                allowed.is_none_or(|allowed| off <= allowed),
                "{of}, {crossing:?}: {off} {errors:?}"
            );
        }
    }

    #[test]
    fn queueing_delays_under_a_saw_tooth_clock_are_within_their_errors() {
        for (rate, ppm) in [(100, 100), (100, 500), (50, -500), (400, 50)] {
            let scene = Scene {
                rates: [rate; 2],
                ..saw_tooth(ppm)
            };
            let (crossings, times) = scene.run(clean);
            let all: Vec<_> = crossings.into_iter().zip(times).collect();
            require_queueing_delays_within_errors(&all, &format!("{rate} {ppm} ppm"));
        }
    }

    #[test]
    fn queueing_delays_are_within_their_errors_however_few_packets_the_other_direction_has() {
        let steps = [SECOND, -SECOND, 5 * MS, -5 * MS].map(|step_ns| (0, step_ns));
        let scenes = steps.into_iter().chain([(50, 0), (-50, 0)]);
        for (skew_ppm, step_ns) in scenes {
            let scene = Scene {
                skew_ppm,
                set: vec![(Point::Dst, 15 * SECOND, step_ns)],
                ..Scene::default()
            };
            let (crossings, times) = scene.run(clean);
            let all: Vec<_> = crossings.into_iter().zip(times).collect();
            for back in [1, 2, 3, 4, 5, 8, 12, 20] {
                for spread_s in [1, 5, 20] {
                    // The packets back are those of the first seconds, evenly.
                    let is_kept = |sent: i64| {
                        let every = spread_s * SECOND / back;
                        sent < spread_s * SECOND && sent % every < SECOND / 100
                    };
                    let kept: Vec<_> = all
                        .iter()
                        .filter(|(crossing, times)| {
                            crossing.path_direction == PathDirection::Out || is_kept(times[1])
                        })
                        .copied()
                        .collect();
                    let of = format!("{skew_ppm} ppm, {step_ns} ns, {back} in {spread_s} s");
                    require_queueing_delays_within_errors(&kept, &of);
                }
            }
        }
    }

    #[test]
    fn skew_is_exact_to_1_ppm_if_one_direction_has_no_queue() {
        for skew_ppm in [-200, -20, 20, 200] {
            let scene = Scene {
                skew_ppm,
                ..Scene::default()
            };
            assert!(skew_error_ppm(&scene, clean) < 0.2);
            assert!(skew_error_ppm(&scene, queue_out) < 0.2);
        }
    }

    #[test]
    fn skew_is_found_despite_bursts_in_both_directions() {
        let scene = Scene {
            skew_ppm: 200,
            ..Scene::default()
        };
        assert!(skew_error_ppm(&scene, bursts) < 1.0);
    }

    #[test]
    fn skew_is_found_from_one_direction_alone() {
        for rates in [[400, 0], [0, 400]] {
            let scene = Scene {
                rates,
                skew_ppm: 50,
                ..Scene::default()
            };
            assert!(skew_error_ppm(&scene, clean) < 0.2);
        }
    }

    #[test]
    fn clocks_of_equal_rate_have_no_skew() {
        for owd_ns in [clean, queue_out, bursts, noise] {
            for seconds in [1, 5, 30] {
                let scene = Scene {
                    seconds,
                    ..Scene::default()
                };
                let model = scene.model(owd_ns);
                assert!(!model.skew().detected, "{:?}", model.skew());
                assert!(model.steps().is_empty(), "{:?}", model.steps());
            }
        }
    }

    #[test]
    fn wrong_matches_do_not_change_the_model() {
        let scene = Scene {
            wrong_every: Some(200),
            skew_ppm: 100,
            ..Scene::default()
        };
        let model = scene.model(queue_out);
        assert!(
            (model.skew().skew.as_ppm_f64() - 100.0).abs() < 1.0,
            "{:?}",
            model.skew()
        );
        assert!((model.offset().middle.as_nanos() - 5 * HOUR).abs() < MS);
        assert!(model.steps().is_empty(), "{:?}", model.steps());
    }

    #[test]
    fn offset_is_bounded_by_the_smallest_delays() {
        for offset_ns in [-9 * HOUR, 0, 5 * HOUR] {
            let Offset {
                lower,
                upper,
                middle,
            } = Scene {
                offset_ns,
                ..Scene::default()
            }
            .model(queue_out)
            .offset();
            let off = |offset: TimeDelta| offset.as_nanos() - offset_ns;
            assert!((-20_000_000 - off(lower.unwrap())).abs() < 10_000);
            assert!((20_000_000 - off(upper.unwrap())).abs() < 10_000);
            assert!(off(middle).abs() < 10_000);
        }
    }

    /// Smallest delay of each way on the timeline of the model.
    /// The crossing on the timeline of the model; `None` if a step is between its times.
    fn placed(model: &ClockModel, crossing: &Crossing) -> Option<Crossing> {
        let src = model
            .reader(Point::Src)
            .place(crossing.src_place, crossing.src_time);
        let dst = model
            .reader(Point::Dst)
            .place(crossing.dst_place, crossing.dst_time);
        (src.piece == dst.piece).then_some(Crossing {
            src_time: src.at,
            dst_time: dst.at,
            ..*crossing
        })
    }

    fn least_delays(model: &ClockModel, crossings: &[Crossing]) -> LeastDelays {
        PathDirection::BOTH.map(|path_direction| {
            let of_way = crossings
                .iter()
                .filter(|crossing| crossing.path_direction == path_direction);
            let placed = of_way.filter_map(|crossing| placed(model, crossing));
            let owds = placed.map(|crossing| {
                let times = [crossing.src_time, crossing.dst_time];
                LeastDelay::of(crossing.raw_owd(), times)
            });
            owds.min()
        })
    }

    #[test]
    fn skew_too_small_to_detect_is_part_of_the_error_of_the_offset() {
        // Delays of a microsecond, and more at random, leave no room for a drift.
        for spread_ns in [2_000, 10_000, 50_000] {
            for skew_ppm in (-30..=30).step_by(5) {
                for seed in 0..20 {
                    let scene = Scene {
                        seconds: 1,
                        skew_ppm,
                        ..Scene::default()
                    };
                    let (crossings, _) = scene.run(|path_direction, sent_ns| {
                        let way = i64::from(path_direction == PathDirection::Out);
                        1_000 + random_below(2 * (sent_ns + seed * SECOND) + way, spread_ns)
                    });
                    let model = ClockModel::estimate(&crossings, FINE).unwrap();
                    let least = least_delays(&model, &crossings);
                    let offset = model.settled(least, false).offset();
                    let off = (offset.middle.as_nanos() - scene.offset_ns).abs();
                    // Timestamps have a resolution of one microsecond.
                    let error = offset.error().unwrap().as_nanos() + 1_000;
                    assert!(
                        off <= error,
                        "{spread_ns} {skew_ppm} {seed}: {off} {error} {:?}",
                        model.skew()
                    );
                }
            }
        }
    }

    #[test]
    fn one_direction_yields_one_bound_of_the_offset() {
        let out = Scene {
            rates: [400, 0],
            ..Scene::default()
        }
        .model(clean)
        .offset();
        assert_eq!((out.lower, out.upper), (None, Some(out.middle)));
        let back = Scene {
            rates: [0, 400],
            ..Scene::default()
        }
        .model(clean)
        .offset();
        assert_eq!((back.lower, back.upper), (Some(back.middle), None));
    }

    #[test]
    fn clock_step_is_found_at_its_record() {
        let at_ns = 11 * SECOND + 111_111;
        for size in [-2 * HOUR, -SECOND, -30 * MS, 30 * MS, SECOND, 2 * HOUR] {
            for point in Point::BOTH {
                // A step smaller than the shift that bursts cause on both ways is not detectable.
                let delays = if size.abs() < SECOND { 2 } else { 3 };
                for owd_ns in &[clean, queue_out, bursts][..delays] {
                    let scene = Scene {
                        set: vec![(point, at_ns, size)],
                        skew_ppm: 40,
                        ..Scene::default()
                    };
                    let (crossings, passed) = scene.run(owd_ns);
                    let model = ClockModel::estimate(&crossings, FINE).unwrap();
                    let [step] = model.steps() else {
                        panic!("{point} {size}: {:?}", model.steps());
                    };
                    assert_eq!(step.point, point);
                    assert!(
                        (step.size.as_nanos() - size).abs() < 20_000,
                        "{size} {step:?}"
                    );
                    let first_after = crossings
                        .iter()
                        .zip(&passed)
                        .filter(|(_, passed)| passed[point.index()] >= at_ns)
                        .map(|(crossing, _)| seen_at(crossing, point).0)
                        .min();
                    let found = match point {
                        Point::Src => step.src_place,
                        Point::Dst => step.dst_place,
                    };
                    assert_eq!(Some(found), first_after, "{point} {size}");
                    let error = model.skew().skew.as_ppm_f64() - 40.0;
                    assert!(error.abs() < 1.0, "{point} {size}: {:?}", model.skew());
                }
            }
        }
    }

    #[test]
    fn several_clock_steps_are_found_in_order() {
        let set = vec![
            (Point::Dst, 5 * SECOND, HOUR),
            (Point::Src, 12 * SECOND, -30 * MS),
            (Point::Dst, 20 * SECOND, -2 * SECOND),
        ];
        let model = Scene {
            set: set.clone(),
            ..Scene::default()
        }
        .model(queue_out);
        let found: Vec<(Point, i64)> = model
            .steps()
            .iter()
            .map(|step| (step.point, (step.size.as_nanos() + MS / 2).div_euclid(MS)))
            .collect();
        let wanted: Vec<(Point, i64)> = set.iter().map(|set| (set.0, set.2 / MS)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn step_that_the_directions_measure_differently_is_suspected() {
        /// One packet less in the queue towards the destination from 15 s on.
        fn shorter_queue(path_direction: PathDirection, sent_ns: i64) -> i64 {
            let is_queued = path_direction == PathDirection::Out && sent_ns < 15 * SECOND;
            clean(path_direction, sent_ns) + if is_queued { 8 * MS / 10 } else { 0 }
        }
        let scene = Scene {
            set: vec![(Point::Dst, 15 * SECOND, -MS)],
            ..Scene::default()
        };
        let model = scene.model(shorter_queue);
        assert_eq!(model.steps(), []);
        assert_eq!(model.suspected_steps().len(), 1);
        assert_eq!(scene.model(clean).steps().len(), 1);
    }

    #[test]
    fn longer_route_is_not_a_clock_step() {
        for path_directions in [
            &[PathDirection::Out][..],
            &[PathDirection::Back],
            &PathDirection::BOTH,
        ] {
            let model = Scene::default().model(|path_direction, sent_ns| {
                let longer = path_directions.contains(&path_direction) && sent_ns > 12 * SECOND;
                clean(path_direction, sent_ns) + if longer { 40 * MS } else { 0 }
            });
            assert!(model.steps().is_empty(), "{:?}", model.steps());
            assert!(!model.skew().detected, "{:?}", model.skew());
        }
    }

    /// The queue of one direction drains at the time at which that of the other fills.
    fn exchanged_queues(path_direction: PathDirection, sent_ns: i64) -> i64 {
        let full = match path_direction {
            PathDirection::Out => 10 * SECOND..12 * SECOND,
            PathDirection::Back => 8 * SECOND..10 * SECOND,
        };
        let queue = if full.contains(&sent_ns) { 5 * MS } else { 0 };
        clean(path_direction, sent_ns) + queue
    }

    #[test]
    fn queue_that_fills_while_that_of_the_other_direction_drains_is_not_a_clock_step() {
        let model = Scene::default().model(exchanged_queues);
        assert!(model.steps().is_empty(), "{:?}", model.steps());
        assert!(model.suspected_steps().is_empty());
    }

    #[test]
    fn clock_step_is_found_while_the_queues_of_both_directions_exchange() {
        let scene = Scene {
            set: vec![(Point::Dst, 10 * SECOND, 20 * MS)],
            ..Scene::default()
        };
        let model = scene.model(exchanged_queues);
        let steps = [model.steps(), model.suspected_steps()].concat();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!((steps[0].size - TimeDelta::from_millis(20)).abs() <= TimeDelta::from_millis(6));
    }

    /// A queue towards the source that is empty for half a second in every five.
    fn noisy_back(path_direction: PathDirection, sent_ns: i64) -> i64 {
        let is_full = path_direction == PathDirection::Back && sent_ns % (5 * SECOND) > SECOND / 2;
        let queue = if is_full {
            random_below(sent_ns + 1, 8 * MS)
        } else {
            0
        };
        clean(path_direction, sent_ns) + queue
    }

    #[test]
    fn suspected_step_is_none_if_the_smallest_delays_of_the_other_direction_stay() {
        let model = Scene::default().model(|path_direction, sent_ns| {
            let is_longer = path_direction == PathDirection::Out && sent_ns > 12_500 * MS;
            noisy_back(path_direction, sent_ns) + i64::from(is_longer) * MS
        });
        let steps = [model.steps(), model.suspected_steps()].concat();
        assert!(steps.is_empty(), "{steps:?}");
    }

    #[test]
    fn step_that_a_queue_of_one_direction_hides_is_suspected_at_least() {
        let scene = Scene {
            set: vec![(Point::Dst, 12_500 * MS, MS)],
            ..Scene::default()
        };
        let model = scene.model(noisy_back);
        let steps = [model.steps(), model.suspected_steps()].concat();
        assert_eq!(steps.len(), 1, "{steps:?}");
    }

    #[test]
    fn link_stall_in_both_directions_is_not_a_clock_step() {
        let model = Scene::default().model(|path_direction, sent_ns| {
            let arrived = sent_ns + clean(path_direction, sent_ns);
            let stalled = 12_000 * MS..12_100 * MS;
            if stalled.contains(&arrived) {
                stalled.end - sent_ns + (arrived - stalled.start) / 1_000
            } else {
                arrived - sent_ns
            }
        });
        assert!(model.steps().is_empty(), "{:?}", model.steps());
    }

    #[test]
    fn arrivals_follow_departures_on_the_timeline() {
        let scene = Scene {
            skew_ppm: -150,
            set: vec![
                (Point::Dst, 9 * SECOND, -3 * SECOND),
                (Point::Src, 19 * SECOND, HOUR),
            ],
            ..Scene::default()
        };
        let (crossings, passed) = scene.run(queue_out);
        let model = ClockModel::estimate(&crossings, FINE).unwrap();
        assert_eq!(model.steps().len(), 2);
        let [src, dst] = Point::BOTH.map(|point| model.reader(point));
        for (crossing, [src_ns, dst_ns]) in crossings.iter().zip(&passed) {
            let src = src.place(crossing.src_place, crossing.src_time);
            let dst = dst.place(crossing.dst_place, crossing.dst_time);
            let apart = (dst.at - src.at).as_nanos();
            assert!((apart - (dst_ns - src_ns)).abs() < 30_000, "{crossing:?}");
            let pieces = u32::from(*src_ns >= 9 * SECOND) + u32::from(*src_ns >= 19 * SECOND);
            let near = [9, 19]
                .iter()
                .any(|s| (src_ns - s * SECOND).abs() < 20 * MS);
            assert!(near || src.piece == pieces, "{crossing:?}");
        }
    }

    #[test]
    fn unsampled_records_near_a_clock_step_are_placed_by_their_time() {
        let at_ns = 11 * SECOND + 111_111;
        for size in [-HOUR, HOUR] {
            let scene = Scene {
                set: vec![(Point::Dst, at_ns, size)],
                ..Scene::default()
            };
            let model = scene.model(clean);
            let reader = model.reader(Point::Dst);
            let between = model.steps()[0].dst_place - 1;
            let [before, after] = [at_ns - 1_000, at_ns + 1_000]
                .map(|at_ns| reader.place(between, scene.clock(Point::Dst, at_ns)));
            assert_eq!((before.piece, after.piece), (0, 1));
            assert!((after.at - before.at).abs() < TimeDelta::from_micros(20));
        }
    }

    #[test]
    fn skew_share_makes_round_trips_of_both_points_agree() {
        for skew_ppm in [-200, 200] {
            let scene = Scene {
                skew_ppm,
                ..Scene::default()
            };
            let model = scene.model(clean);
            let clock = |point, true_ns| scene.clock(point, true_ns);
            for far in Point::BOTH {
                // 20 ms out, 10 s of turnaround, 20 ms back.
                let near = far.opposite();
                let elapsed = clock(near, 10_040 * MS) - clock(near, 0);
                let turnaround = clock(far, 10_020 * MS) - clock(far, 20 * MS);
                let raw = elapsed - turnaround;
                let rtt = raw - model.skew_share(far, turnaround);
                assert!((raw.as_nanos() - 40 * MS).abs() > MS);
                assert!(
                    (rtt.as_nanos() - 40 * MS).abs() < 20_000,
                    "{far} {skew_ppm} {rtt}"
                );
            }
        }
    }

    #[test]
    fn few_packets_yield_an_offset_and_no_skew() {
        let (crossings, _) = Scene {
            skew_ppm: 200,
            ..Scene::default()
        }
        .run(clean);
        assert!(ClockModel::estimate(&[], FINE).is_none());
        for count in 1..4 {
            let model = ClockModel::estimate(&crossings[..count], FINE).unwrap();
            assert_eq!(model.skew(), SkewEstimate::default());
            assert_eq!(
                model.skew_share(Point::Dst, TimeDelta::from_seconds(9)),
                TimeDelta::ZERO
            );
            assert!(model.steps().is_empty());
            assert!((model.offset().middle.as_nanos() - 5 * HOUR).abs() < 21 * MS);
        }
    }

    #[test]
    fn packets_at_one_time_yield_no_skew() {
        let (mut crossings, _) = Scene::default().run(clean);
        let first = crossings[0];
        for crossing in &mut crossings {
            (crossing.src_time, crossing.dst_time) = (first.src_time, first.dst_time);
        }
        let model = ClockModel::estimate(&crossings, FINE).unwrap();
        assert_eq!(model.skew(), SkewEstimate::default());
        assert_eq!(model.offset().middle, first.difference());
    }

    fn any_time() -> impl Strategy<Value = i64> {
        prop_oneof![
            any::<i64>(),
            Just(i64::MIN),
            Just(i64::MAX),
            0..1_000_000_000_i64
        ]
    }

    fn any_crossing() -> impl Strategy<Value = Crossing> {
        (
            any::<bool>(),
            0..500_u64,
            0..500_u64,
            any_time(),
            any_time(),
        )
            .prop_map(|(out, src_place, dst_place, src_ns, dst_ns)| Crossing {
                path_direction: if out {
                    PathDirection::Out
                } else {
                    PathDirection::Back
                },
                src_place,
                dst_place,
                src_time: Timestamp::from_nanos(src_ns),
                dst_time: Timestamp::from_nanos(dst_ns),
                payload_bytes: 0,
            })
    }

    proptest! {
        #[test]
        fn arbitrary_crossings_never_panic(
            mut crossings in prop::collection::vec(any_crossing(), 1..300),
            record: u64,
            nanos: i64,
        ) {
            crossings.sort_by_key(|crossing| crossing.src_place);
            let model = ClockModel::estimate(&crossings, FINE).unwrap();
            for point in Point::BOTH {
                model.reader(point).place(record, Timestamp::from_nanos(nanos));
                model.skew_share(point, TimeDelta::from_nanos(nanos));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn noise_is_neither_skew_nor_clock_step(seed in 0..1_000_000_i64, seconds in 1..10_i64) {
            let model = Scene { seconds, ..Scene::default() }.model(|path_direction, sent_ns| {
                let delay = if seed % 2 == 0 { noise } else { bursts };
                delay(path_direction, sent_ns + seed * SECOND)
            });
            prop_assert!(!model.skew().detected, "{:?}", model.skew());
            prop_assert!(model.steps().is_empty(), "{:?}", model.steps());
        }
    }

    #[test]
    fn burst_of_wrong_matches_does_not_make_the_round_trip_negative() {
        let in_ms = |owds: &[i64]| -> Vec<i64> { owds.iter().map(|owd| owd * MS).collect() };
        let (out, burst) = (in_ms(&[20, 21, 25, 26]), in_ms(&[-90, -89, -88]));
        let back = in_ms(&[10, 11, 12, 13]);
        let with_burst = [&burst[..], &back].concat();
        assert_eq!(
            fewest_mistaken(&[out.clone(), back.clone()], TimeDelta::ZERO),
            [0, 0]
        );
        assert_eq!(
            fewest_mistaken(&[out.clone(), with_burst.clone()], TimeDelta::ZERO),
            [0, 3]
        );
        assert_eq!(fewest_mistaken(&[with_burst, out], TimeDelta::ZERO), [3, 0]);
        assert_eq!(fewest_mistaken(&[burst, back], TimeDelta::ZERO), [3, 0]);
        assert_eq!(
            fewest_mistaken(&[in_ms(&[]), in_ms(&[-50])], TimeDelta::ZERO),
            [0, 0]
        );
    }

    #[test]
    fn small_clock_wander_makes_no_match_wrong() {
        let (out, back) = (vec![0, MS, 2 * MS], vec![-2 * MS, -MS, 0]);
        assert_eq!(fewest_mistaken(&[out, back], TimeDelta::ZERO), [0, 0]);
    }
}
