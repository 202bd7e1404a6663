//! Movement of the clocks at both ends of the captures.

use tcpexp_units::{TimeDelta, Timestamp};

use super::bins::IN_BIN;
use super::{AT_END, Passage, Zone};
use crate::spp::crossing::PathDirection;
use crate::spp::point::Point;

/// The first and the last stretch, where one way has too few packets to show a step.
///
/// Before both ways have packets, only one of them shows a step. From then on, both do: the step
/// cannot exceed the spread of the way that moves less.
pub(super) fn ends(passages: &[Passage], idle_ns: i64) -> Vec<Zone> {
    let ways = PathDirection::BOTH.map(|path_direction| {
        let of_way = passages
            .iter()
            .filter(|passage| passage.path_direction == path_direction);
        of_way.copied().collect::<Vec<Passage>>()
    });
    let reversed = ways.each_ref().map(|way| {
        let passages = way.iter().rev().map(|passage| Passage {
            at: passage.at.map(mirrored),
            ..*passage
        });
        passages.collect::<Vec<Passage>>()
    });
    let last = start(&reversed, idle_ns).into_iter().map(|zone| Zone {
        spans: zone.spans.map(|(from, to)| (mirrored(to), mirrored(from))),
        ..zone
    });
    start(&ways, idle_ns).into_iter().chain(last).collect()
}

/// The time as far before the Unix epoch as `at` is after it.
fn mirrored(at: Timestamp) -> Timestamp {
    Timestamp::from_nanos(at.as_nanos().saturating_neg())
}

/// The first stretch of the passages of each way.
fn start(ways: &[Vec<Passage>; 2], idle_ns: i64) -> Vec<Zone> {
    if ways.iter().any(|way| way.len() < AT_END) {
        return Vec::new();
    }
    let starts = Point::BOTH.map(|point| Start::at(point, ways));
    let zone = |spans: [(Timestamp, Timestamp); 2], sizes_ns: [i64; 2]| {
        let size_ns = sizes_ns[0].max(sizes_ns[1]);
        (size_ns > idle_ns).then(|| Zone {
            spans,
            size: TimeDelta::from_nanos(size_ns),
        })
    };
    let after = |at: Timestamp| at + TimeDelta::from_nanos(1);
    let zones = [
        zone(
            starts.map(|start| (Timestamp::MIN, start.both_from)),
            starts.map(|start| start.alone_ns),
        ),
        zone(
            starts.map(|start| (after(start.both_from), start.enough_from)),
            starts.map(|start| start.both_ns),
        ),
    ];
    zones.into_iter().flatten().collect()
}

/// The first stretch as seen at one point.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Time from which on both ways have packets.
    both_from: Timestamp,
    /// Time from which on both ways have enough packets to show a step.
    enough_from: Timestamp,
    /// Spread of the delays while only one way has packets.
    alone_ns: i64,
    /// Spread of the delays until both ways have enough packets, on the way where it is smaller.
    both_ns: i64,
}

impl Start {
    /// Each way has at least `AT_END` passages.
    fn at(point: Point, ways: &[Vec<Passage>; 2]) -> Self {
        let mut ways = ways.clone();
        let at = |passage: &Passage| passage.at[point.index()];
        for way in &mut ways {
            way.sort_by_key(at);
        }
        let reached = |place: usize| ways.each_ref().map(|way| at(&way[place]));
        let [firsts, enough] = [reached(0), reached(AT_END - 1)];
        let both_from = firsts[0].max(firsts[1]);
        let enough_from = enough[0].max(enough[1]);
        // A step before `until` shows in the passages before it and in enough passages after it.
        let spread = |way: &[Passage], until: Timestamp| {
            let count = way.partition_point(|passage| at(passage) <= until) + IN_BIN;
            let owds = || way.iter().take(count).map(|passage| passage.owd_ns);
            let (least, most) = (owds().min(), owds().max());
            most.unwrap_or(0).saturating_sub(least.unwrap_or(0))
        };
        let both = ways.each_ref().map(|way| spread(way, enough_from));
        Self {
            both_from,
            enough_from,
            alone_ns: spread(&ways[usize::from(firsts[1] < firsts[0])], both_from),
            both_ns: both[0].min(both[1]),
        }
    }
}
