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

mod bins;
mod ends;
mod sections;

use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

use super::jump::Jump;
use super::seams::seen_at;
use super::timeline::TimelineReader;
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;
use bins::{Bin, around, bins, spread, with_doubts};
use ends::ends;
use sections::change_of_floors;

/// Movement of base delays that links and hosts without load cause. The description of the column
/// `rtt_error_ns` states this value.
pub(super) const IDLE_NS: i64 = 20_000;
/// The clocks may have moved further than the base delays show, by the shown movement divided by this:
/// the few packets of a bin seldom meet the extremes of a drifting clock with empty queues. A choice without a
/// derivation.
const UNSHOWN_SHARE: i64 = 2;
/// Number of crossings of each way, on each side of a step, that may be on its other side. A choice, not
/// measured.
const NEAR: usize = 4;
/// Fewer crossings of a way than this before or after a clock step do not show it: a queue may delay two packets
/// alike. A choice, not measured.
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
    let src = src.place(crossing.src_place, crossing.src_time);
    let dst = dst.place(crossing.dst_place, crossing.dst_time);
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
            let (place, time) = seen_at(&crossings[index], point);
            readers[point.index()].place(place, time).at
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
}
