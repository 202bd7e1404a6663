//! Bins of crossings, and the base delays that they show.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tcpexp_units::Timestamp;

use super::{AT_END, Passage};
use crate::spp::crossing::PathDirection;
use crate::spp::point::Point;

/// Number of crossings of each way in a bin: fewer crossings follow a clock more closely, but hide a
/// base delay more often. A choice between the two, not measured.
pub(super) const IN_BIN: usize = 8;
/// Number of bins that captures with few crossings are divided into, if possible: a bin and its neighbours then
/// cover at most half of the captures.
const BINS: usize = 6;
/// Minimum number of crossings of each way in a bin: fewer than [`AT_END`] do not show a step.
const MIN_IN_BIN: usize = 3;
/// In each bin, the base delay is below at least one delay in this many. A step hides in its bin unless about
/// three quarters of the delays are on its higher side, but shows in the neighbours that [`around`] adds.
const HIGH_SHARE: usize = 4;
/// Number of bins before and after a bin that show how much its delays usually move. A choice, not measured:
/// many times [`OF_STEP`], so that a step does not make its own movement usual.
const AROUND: usize = 8;
/// Number of movements near a bin that a step may cause, since a step within a bin may show from the bin before
/// to this one and from this one to the next; the next smaller movement is usual.
const OF_STEP: usize = 2;
/// A bin that lasts longer than the median by more than this factor has a gap. A choice, not measured: bursts
/// of traffic alone make the lengths of bins differ.
const GAP: i64 = 4;

/// Base delays of both ways around one bin, by [`PathDirection::index`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Bin {
    /// Start on the timeline.
    pub(super) from: Timestamp,
    pub(super) low_ns: [i64; 2],
    pub(super) high_ns: [i64; 2],
    /// Sum of the movements of `low_ns` nearby.
    pub(super) moved_ns: [i64; 2],
    /// Movement that is usual nearby.
    pub(super) usual_ns: [i64; 2],
}

/// Groups `passages`, which are in order of time at `point`.
pub(super) fn bins(passages: &[Passage], point: Point) -> Vec<Bin> {
    let [out, back] = PathDirection::BOTH.map(|path_direction| {
        let of_way = passages
            .iter()
            .filter(|passage| passage.path_direction == path_direction);
        of_way.copied().collect::<Vec<Passage>>()
    });
    let least = out.len().min(back.len());
    if least < AT_END {
        let busier = if out.len() < back.len() { back } else { out };
        return bins_of_one_way(&busier, point);
    }
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
    } else if in_bin < IN_BIN
        && let Some(last) = bins.last_mut()
    {
        // With few crossings, the rest may last longer than the bins.
        last.extend(&delays);
    }
    show_ends(&mut bins, passages);
    bins
}

/// Groups the passages of the only way with enough of them to show a movement. It may be one of the clocks
/// or of a queue, and nothing contradicts that the other way moved as much.
fn bins_of_one_way(passages: &[Passage], point: Point) -> Vec<Bin> {
    let groups = passages.chunks(IN_BIN).map(|group| {
        let owds_ns: Vec<i64> = group.iter().map(|passage| passage.owd_ns).collect();
        Bin::of(group[0].at[point.index()], &mut [owds_ns.clone(), owds_ns])
    });
    let mut bins: Vec<Bin> = groups.collect();
    let owds_ns = passages.iter().map(|passage| passage.owd_ns);
    let least = [
        owds_ns.clone().take(AT_END).min(),
        owds_ns.rev().take(AT_END).min(),
    ];
    for way in [0, 1] {
        show(bins.first_mut(), way, least[0]);
        show(bins.last_mut(), way, least[1]);
    }
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
        show(bins.first_mut(), way, owds_ns.clone().take(AT_END).min());
        show(bins.last_mut(), way, owds_ns.rev().take(AT_END).min());
    }
}

/// Extends a bin by the smallest of the delays at an end.
fn show(bin: Option<&mut Bin>, way: usize, least: Option<i64>) {
    if let (Some(bin), Some(least)) = (bin, least) {
        bin.high_ns[way] = bin.high_ns[way].max(least);
    }
}

impl Bin {
    /// Adds the smallest delays of crossings that are too few for a bin.
    fn extend(&mut self, delays: &[Vec<i64>; 2]) {
        for (way, delays) in delays.iter().enumerate() {
            if let Some(least) = delays.iter().copied().min() {
                self.low_ns[way] = self.low_ns[way].min(least);
                self.high_ns[way] = self.high_ns[way].max(least);
            }
        }
    }

    pub(super) fn of(from: Timestamp, delays: &mut [Vec<i64>; 2]) -> Self {
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
/// last of them: a moving queue may hide a step. If both ways move alike, the smaller spread, since the clocks
/// move both. Zero without bins.
pub(super) fn spread(bins: &[Bin]) -> i64 {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return 0;
    };
    let moved = |way: usize| first.moved_ns[way].saturating_add(last.moved_ns[way]);
    let on = |way: usize| {
        let bounds = bins.iter().map(|bin| (bin.low_ns[way], bin.high_ns[way]));
        let (low, high) = bounds.fold((i64::MAX, i64::MIN), |all, bin| {
            (all.0.min(bin.0), all.1.max(bin.1))
        });
        high.saturating_sub(low)
    };
    // Neither way comes first: exchanged captures have the same spread.
    match moved(0).cmp(&moved(1)) {
        Ordering::Less => on(0),
        Ordering::Equal => on(0).min(on(1)),
        Ordering::Greater => on(1),
    }
}

/// Extends each bin by its neighbours, and learns how much its delays usually move.
pub(super) fn around(bins: &[Bin]) -> Vec<Bin> {
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
pub(super) fn with_doubts(mut bins: Vec<Bin>, widest_ns: i64) -> Vec<Bin> {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const STEP_NS: i64 = 300_000;

    /// Both ways alternate; the clock steps before the last `after` passages.
    pub(in super::super) fn passages(count: i64, after: i64) -> Vec<Passage> {
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
    fn spread_does_not_depend_on_which_way_comes_first() {
        // No delay moves from bin to bin, but those of one way differ within each bin.
        let bin = |high_ns| Bin {
            from: Timestamp::from_nanos(0),
            low_ns: [0; 2],
            high_ns,
            moved_ns: [0; 2],
            usual_ns: [0; 2],
        };
        for high_ns in [[2_000, 1_800_000], [1_800_000, 2_000]] {
            assert_eq!(spread(&[bin(high_ns)]), 2_000, "{high_ns:?}");
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
}
