//! Movement of the clocks that the model does not explain.
//!
//! A round-trip time adds two one-way delays, and each includes the clock difference at its own
//! time. So the clocks falsify a round-trip time by the change of their difference between the two
//! packets. Such a change shows in the smallest delays of both ways: those of one way grow by it,
//! those of the other way shrink by it. A queue or a route changes one way alone.
//!
//! # Bound
//!
//! The crossings are grouped into short bins. In bin `k`, the base delay of a way, clock difference
//! included, is between the smallest delay `low` and a low quantile `high`. If the clock
//! difference changes by δ between bins `i` and `j`, each way shows the change, unless a queue
//! changed by δ at the same time. So |δ| is at most the spread of the base delays over both bins on
//! the way that varies less. The neighbours of both bins are included, since a change within a bin
//! may show only before or after it, and for a round-trip time all bins between them. Half of the
//! spread is added for the extremes that the few packets of a bin do not meet.

mod ends;
mod sections;

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

use super::jump::Jump;
use super::seams::seen_at;
use super::timeline::TimelineReader;
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;
use ends::ends;
use sections::change_of_floors;

/// Number of crossings of each way in a bin: fewer crossings follow a clock more closely, but hide a
/// base delay more often.
const IN_BIN: usize = 8;
/// Number of bins that captures with few crossings are divided into, if possible.
const BINS: usize = 6;
/// Minimum number of crossings of each way in a bin.
const MIN_IN_BIN: usize = 3;
/// In each bin, the base delay is below at least one delay in this many.
const HIGH_SHARE: usize = 4;
/// Number of bins before and after a bin that show how much its delays usually move.
const AROUND: usize = 8;
/// Number of movements near a bin that a step may cause; the next smaller one is usual.
const OF_STEP: usize = 2;
/// A bin that lasts longer than the median by more than this factor has a gap.
const GAP: i64 = 4;
/// Movement of base delays that links and hosts without load cause.
const IDLE_NS: i64 = 20_000;
/// The clocks may have moved further than the base delays show, by the shown movement divided by this:
/// the few packets of a bin seldom meet the extremes of a drifting clock with empty queues.
const UNSHOWN_SHARE: i64 = 2;
/// Number of crossings of each way, on each side of a step, that may be on its other side.
const NEAR: usize = 4;
/// Fewer crossings of a way than this before or after a clock step do not show it.
const AT_END: usize = 3;

/// What the clock difference may have done besides the model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Wander {
    /// Bins in order of time, by [`Point::index`] of the clock that orders them.
    bins: [Vec<Bin>; 2],
    /// Times at which more is unknown.
    zones: Vec<Zone>,
    /// True if the clocks moved somewhere, so that even small movements count.
    moves: bool,
    drift: Option<TimeDelta>,
    coarseness: TimeDelta,
}

/// Base delays of both ways around one bin, by [`PathDirection::index`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bin {
    /// Start on the timeline.
    from: Timestamp,
    low_ns: [i64; 2],
    high_ns: [i64; 2],
    /// Sum of the movements of `low_ns` nearby.
    moved_ns: [i64; 2],
    /// Movement that is usual nearby.
    usual_ns: [i64; 2],
}

/// The bins that show a movement from one time to another.
#[derive(Clone, Copy, Debug)]
enum Bins {
    /// Those of the two times.
    Ends,
    /// Those of the two times and all between them.
    Between,
}

/// A stretch of time with a clock step of up to `size` at an unknown place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Zone {
    /// First and last time on the timeline, by [`Point::index`].
    spans: [(Timestamp, Timestamp); 2],
    size: TimeDelta,
}

/// A crossing on the timeline.
#[derive(Clone, Copy, Debug)]
struct Passage {
    /// By [`Point::index`].
    at: [Timestamp; 2],
    path_direction: PathDirection,
    owd_ns: i64,
}

impl Wander {
    /// Learns the movement from all crossings; `readers` place them on the timeline, and `jumps`
    /// are the steps in it.
    pub(super) fn learn(
        crossings: &[Crossing],
        readers: &[TimelineReader; 2],
        jumps: &[Jump],
        coarseness: TimeDelta,
    ) -> Self {
        let mut passages: Vec<Passage> = crossings
            .iter()
            .filter_map(|crossing| passage(crossing, readers))
            .collect();
        let mut zones: Vec<Zone> = jumps
            .iter()
            .filter_map(|jump| at_step(jump, crossings, readers))
            .collect();
        let (mut moves, mut drift_ns) = (false, None);
        let idle_ns = IDLE_NS.saturating_add(coarseness.as_nanos());
        let bins = Point::BOTH.map(|point| {
            passages.sort_by_key(|passage| passage.at[point.index()]);
            let bins = bins(&passages, point);
            let change = change_of_floors(&bins);
            let bins = around(&bins);
            // A step within a bin shows before it on one way and after it on the other, so the
            // neighbours count.
            let widest_ns = bins.iter().map(|bin| spread(&[*bin])).max().unwrap_or(0);
            moves |= widest_ns > idle_ns;
            drift_ns = drift_ns.max(change);
            with_doubts(bins, widest_ns)
        });
        zones.extend(ends(&passages, idle_ns));
        Self {
            bins,
            zones,
            moves,
            drift: drift_ns.map(TimeDelta::from_nanos),
            coarseness,
        }
    }

    /// Maximum change of the clock difference from one time to another at `point`, both on the
    /// timeline.
    pub(super) fn between(&self, point: Point, times: [Timestamp; 2]) -> TimeDelta {
        let [from, to] = times;
        let zones = self.zones.iter().filter(|zone| {
            let (first, last) = zone.spans[point.index()];
            from <= last && first <= to
        });
        let stepped: TimeDelta = zones.map(|zone| zone.size).sum();
        // Each way shows the clock of the other point at a different time. If both clocks move between
        // the two times, the first and the last bin may show less than those between them.
        stepped + self.moved(point, times, Bins::Between)
    }

    /// Maximum error of the delay of a packet that passes the points at `times`, by
    /// [`Point::index`], because of a clock step nearby that the model lacks or misplaces.
    pub(super) fn beside(&self, times: [Timestamp; 2]) -> TimeDelta {
        let zones = self.zones.iter().filter(|zone| {
            let mut spans = zone.spans.iter().zip(times);
            spans.any(|((first, last), at)| *first <= at && at <= *last)
        });
        zones.map(|zone| zone.size).sum()
    }

    /// Maximum change of the clock difference from one time to another at `point`, both on the
    /// timeline, that the delays around both times show.
    pub(super) fn change(&self, point: Point, times: [Timestamp; 2]) -> TimeDelta {
        self.moved(point, times, Bins::Ends)
    }

    fn moved(&self, point: Point, times: [Timestamp; 2], of: Bins) -> TimeDelta {
        if !self.moves && self.coarseness == TimeDelta::ZERO {
            return TimeDelta::ZERO;
        }
        let bins = &self.bins[point.index()];
        let places = times.map(|time| {
            let after = bins.partition_point(|bin| bin.from <= time);
            after.saturating_sub(1)
        });
        let [first, last] = [places[0].min(places[1]), places[0].max(places[1])];
        let Some(between) = bins.get(first..=last) else {
            return TimeDelta::ZERO;
        };
        let spread_ns = match of {
            Bins::Ends => spread(&[between[0], between[between.len() - 1]]),
            Bins::Between => spread(between),
        };
        if self.moves {
            let unshown_ns = spread_ns / UNSHOWN_SHARE;
            TimeDelta::from_nanos(spread_ns.saturating_add(unshown_ns)) + self.coarseness
        } else {
            // A step below the tick does not show as a movement.
            TimeDelta::from_nanos(spread_ns)
        }
    }

    /// Maximum change of the clock difference over the whole captures, beyond the skew and the
    /// steps of the model; `None` if too few packets show it.
    pub(super) fn drift(&self) -> Option<TimeDelta> {
        self.drift
    }
}

/// A crossing on the timeline; `None` if a clock step is between its two times.
fn passage(crossing: &Crossing, readers: &[TimelineReader; 2]) -> Option<Passage> {
    let [src, dst] = readers;
    let src = src.place(crossing.src_record, crossing.src_time);
    let dst = dst.place(crossing.dst_record, crossing.dst_time);
    let placed = Crossing {
        src_time: src.at,
        dst_time: dst.at,
        ..*crossing
    };
    (src.piece == dst.piece).then(|| Passage {
        at: [src.at, dst.at],
        path_direction: crossing.path_direction,
        owd_ns: placed.raw_owd().as_nanos(),
    })
}

/// Groups `passages`, which are in order of time at `point`.
fn bins(passages: &[Passage], point: Point) -> Vec<Bin> {
    let least = PathDirection::BOTH.map(|path_direction| {
        let of_way = passages
            .iter()
            .filter(|passage| passage.path_direction == path_direction);
        of_way.count()
    });
    let least = least[0].min(least[1]);
    let in_bin = (least / BINS).clamp(MIN_IN_BIN, IN_BIN);
    let mut bins = Vec::new();
    let mut delays: [Vec<i64>; 2] = Default::default();
    let mut first = None;
    for passage in passages {
        first.get_or_insert(passage.at[point.index()]);
        delays[passage.path_direction.index()].push(passage.owd_ns);
        if delays.iter().all(|delays| delays.len() >= in_bin) {
            bins.extend(first.take().map(|from| Bin::of(from, &mut delays)));
            delays = Default::default();
        }
    }
    // `ends` covers fewer delays.
    if delays.iter().all(|delays| delays.len() >= AT_END) {
        bins.extend(first.map(|from| Bin::of(from, &mut delays)));
    }
    show_ends(&mut bins, passages);
    bins
}

/// Extends the first bin by the delays at the start, and the last bin by those at the end: no neighbour shows
/// the outer side of a step within these bins. `ends` covers fewer delays.
fn show_ends(bins: &mut [Bin], passages: &[Passage]) {
    for path_direction in PathDirection::BOTH {
        let of_way = passages
            .iter()
            .filter(|passage| passage.path_direction == path_direction);
        let owds_ns = of_way.map(|passage| passage.owd_ns);
        let way = path_direction.index();
        let show = |bin: Option<&mut Bin>, least: Option<i64>| {
            if let (Some(bin), Some(least)) = (bin, least) {
                bin.high_ns[way] = bin.high_ns[way].max(least);
            }
        };
        show(bins.first_mut(), owds_ns.clone().take(AT_END).min());
        show(bins.last_mut(), owds_ns.rev().take(AT_END).min());
    }
}

impl Bin {
    fn of(from: Timestamp, delays: &mut [Vec<i64>; 2]) -> Self {
        let [out, back] = delays.each_mut().map(|delays| {
            delays.sort_unstable();
            let high = (delays.len() / HIGH_SHARE).max(1);
            (delays[0], delays[high.min(delays.len() - 1)])
        });
        Self {
            from,
            low_ns: [out.0, back.0],
            high_ns: [out.1, back.1],
            moved_ns: [0; 2],
            usual_ns: [0; 2],
        }
    }
}

/// Spread of the base delays over these bins, on the way whose delays move less near the first and the
/// last of them: a moving queue may hide a step. Zero without bins.
fn spread(bins: &[Bin]) -> i64 {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return 0;
    };
    let moved = |way: usize| first.moved_ns[way].saturating_add(last.moved_ns[way]);
    let way = usize::from(moved(1) < moved(0));
    let bounds = bins.iter().map(|bin| (bin.low_ns[way], bin.high_ns[way]));
    let (low, high) = bounds.fold((i64::MAX, i64::MIN), |all, bin| {
        (all.0.min(bin.0), all.1.max(bin.1))
    });
    high.saturating_sub(low)
}

/// Extends each bin by its neighbours, and learns how much its delays usually move.
fn around(bins: &[Bin]) -> Vec<Bin> {
    let movements: Vec<[i64; 2]> = bins
        .windows(2)
        .map(|pair| {
            [0, 1].map(|way: usize| {
                let moved = pair[1].low_ns[way].saturating_sub(pair[0].low_ns[way]);
                moved.saturating_abs()
            })
        })
        .collect();
    (0..bins.len())
        .map(|place| {
            let near = &bins[place.saturating_sub(1)..(place + 2).min(bins.len())];
            let moved = place.saturating_sub(AROUND)..(place + AROUND).min(movements.len());
            let mut bin = bins[place];
            for way in [0, 1] {
                let low = near.iter().map(|bin| bin.low_ns[way]).min();
                let high = near.iter().map(|bin| bin.high_ns[way]).max();
                bin.low_ns[way] = low.unwrap_or(0);
                bin.high_ns[way] = high.unwrap_or(0);
                let mut moved: Vec<i64> = movements[moved.clone()]
                    .iter()
                    .map(|moved| moved[way])
                    .collect();
                moved.sort_unstable();
                bin.moved_ns[way] = moved
                    .iter()
                    .fold(0, |sum, moved| sum.saturating_add(*moved));
                let rank = moved.len().saturating_sub(1 + OF_STEP);
                bin.usual_ns[way] = moved.get(rank).copied().unwrap_or(0);
            }
            bin
        })
        .collect()
}

/// Extends each bin by what its delays may hide: a clock that drifts has its extremes next to a
/// step, where few delays of a bin show them, and in a gap the clocks may move by `widest_ns`.
fn with_doubts(mut bins: Vec<Bin>, widest_ns: i64) -> Vec<Bin> {
    let starts: Vec<Timestamp> = bins.iter().map(|bin| bin.from).collect();
    let lengths = || starts.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos());
    let mut sorted: Vec<i64> = lengths().collect();
    sorted.sort_unstable();
    let median_ns = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    // The last bin has no length.
    for (bin, length_ns) in bins.iter_mut().zip(lengths().chain([0])) {
        let unseen_ns = if length_ns / GAP > median_ns {
            widest_ns
        } else {
            0
        };
        for way in [0, 1] {
            let hidden_ns = bin.usual_ns[way].max(unseen_ns);
            bin.low_ns[way] = bin.low_ns[way].saturating_sub(hidden_ns);
            bin.high_ns[way] = bin.high_ns[way].saturating_add(hidden_ns);
        }
    }
    bins
}

/// The stretch around a step in which a few packets may be on its other side.
fn at_step(jump: &Jump, crossings: &[Crossing], readers: &[TimelineReader; 2]) -> Option<Zone> {
    let near: Vec<usize> = jump
        .sides
        .iter()
        .flat_map(|[before, after]| {
            let before = before.iter().rev().take(NEAR);
            before.chain(after.iter().take(NEAR)).copied()
        })
        .collect();
    let times = near.iter().flat_map(|&index| {
        Point::BOTH.map(|point| {
            let (record, time) = seen_at(&crossings[index], point);
            readers[point.index()].place(record, time).at
        })
    });
    let (first, last) = (times.clone().min()?, times.max()?);
    // A step looks like the opposite step of the other clock, but for the packets in flight.
    let longest = near
        .iter()
        .filter_map(|&index| passage(&crossings[index], readers))
        .map(|passage| TimeDelta::from_nanos(passage.owd_ns))
        .max();
    let in_flight = longest.unwrap_or_default().max(TimeDelta::ZERO);
    let span = (first - in_flight, last + in_flight);
    Some(Zone {
        spans: [span; 2],
        size: jump.size.abs(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: i64 = 300_000;

    /// Both ways alternate; the clock steps before the last `after` passages.
    fn passages(count: i64, after: i64) -> Vec<Passage> {
        let passage = |number: i64| {
            let path_direction = PathDirection::BOTH[usize::from(number % 2 == 1)];
            let stepped = if number < count - after { 0 } else { STEP_NS };
            let owd_ns = match path_direction {
                PathDirection::Out => 20_000_000 + stepped,
                PathDirection::Back => 20_000_000 - stepped,
            };
            Passage {
                at: [Timestamp::from_nanos(number * 10_000_000); 2],
                path_direction,
                owd_ns,
            }
        };
        (0..count).map(passage).collect()
    }

    #[test]
    fn step_within_the_last_bin_is_part_of_its_spread() {
        for after in [6, 8, 10] {
            let bins = around(&bins(&passages(64, after), Point::Src));
            let last = bins.last().unwrap();
            assert!(spread(&[*last]) >= STEP_NS, "{after}: {last:?}");
        }
    }

    #[test]
    fn step_within_the_first_bin_is_part_of_its_spread() {
        for before in [6, 8, 10] {
            let bins = around(&bins(&passages(64, 64 - before), Point::Src));
            let first = &bins[0];
            assert!(spread(&[*first]) >= STEP_NS, "{before}: {first:?}");
        }
    }

    #[test]
    fn opposite_movements_of_both_clocks_during_a_round_trip_add_up() {
        let bin = |from: i64, level_ns: i64| Bin {
            from: Timestamp::from_nanos(from),
            low_ns: [level_ns; 2],
            high_ns: [level_ns; 2],
            moved_ns: [0; 2],
            usual_ns: [0; 2],
        };
        let bins = vec![bin(0, 0), bin(10, 2_000), bin(20, 1_800)];
        let wander = Wander {
            bins: [bins.clone(), bins],
            moves: true,
            ..Wander::default()
        };
        let times = [5, 25].map(Timestamp::from_nanos);
        let between = wander.between(Point::Src, times);
        assert_eq!(between, TimeDelta::from_nanos(3_000));
        assert_eq!(
            wander.between(Point::Src, [times[1], times[0]]),
            between,
            "whichever comes first"
        );
        let change = wander.change(Point::Src, times);
        assert_eq!(change, TimeDelta::from_nanos(2_700));
    }

    #[test]
    fn step_near_an_end_is_part_of_the_drift() {
        for after in [24, 40, 480, 600, 616] {
            let bins = bins(&passages(640, after), Point::Src);
            assert!(bins.len() > 2 * sections::SECTIONS);
            let change = change_of_floors(&bins).unwrap();
            assert!(
                (STEP_NS..2 * STEP_NS).contains(&change),
                "{after}: {change}"
            );
        }
    }
}
