//! The delay of recurring datagrams, learned from the times between them.
//!
//! Datagrams that are equal in all fields differ in one respect: the times at which they left. A
//! shift of the source's times that puts at least half of the datagrams onto arrivals, within a
//! window as narrow as the path's variation of the delay, is the delay plus the clock offset,
//! unless another shift explains the arrivals as well.
//!
//! # Why no other shift remains
//!
//! Let `w` be the width of the window and `D` the shift. A shift `D'` farther from `D` than `w`
//! matches each datagram to another arrival than `D` does. While both captures run, a datagram without
//! an arrival in the window of `D'` contradicts `D'`, because the datagram would have to be lost,
//! missed, or late. `D` is accepted only if at least three quarters of the datagrams contradict each
//! such `D'`, and at most half contradict `D`. If `D'` were true, half of the datagrams would have the
//! arrival of another datagram in the window of `D` by chance, while three quarters of the datagrams
//! show that the times between datagrams do not repeat at this lag. Sixteen such chances, each at most
//! one in four, have a probability below 10⁻⁹.
//!
//! A loss, a hole or a late start of a capture makes no shift better than others: only datagrams
//! whose arrival would lie within the other capture count. Datagrams at a constant rate match
//! equally well at each multiple of their period, so such a stream stays ambiguous.
//!
//! Identical datagrams leave at least a period apart. The window is at most half as wide, so an
//! arrival lies in the window of one departure at most, whatever the captures missed.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

use super::fields::Ends;
use super::sketch::Sketched;

/// Number of recurring datagrams kept per direction of a flow: 80 seconds of a telephone call.
const KEPT_OF_FLOW: usize = 4_096;
/// Number of recurring datagrams kept in total, to bound memory.
const KEPT_IN_ALL: usize = 65_536;
/// Number of datagrams that are shifted: the arrivals are compared with each.
const PROBES: usize = 256;
/// Fewest datagrams that can show or contradict a shift: with at most one chance in four each, half
/// of them agree by chance with a probability below 10⁻³ per shift, and below 10⁻⁹ for all.
const MIN_PROBES: usize = 64;
/// Widths of the window, in nanoseconds: from the delay variation of a short queue down to that of
/// an empty path.
const WIDTHS_NS: [i64; 4] = [5_000_000, 1_000_000, 200_000, 50_000];

/// Recurring datagrams of one capture, by sender and receiver.
#[derive(Debug, Default)]
pub(super) struct Departures {
    of_flows: HashMap<Ends, Vec<Sketched>, FixedState>,
    kept: usize,
}

/// Delays on the timeline at which recurring datagrams of a stream are distinguishable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::spp) struct SpacedOwds {
    pub(in crate::spp) least: TimeDelta,
    pub(in crate::spp) most: TimeDelta,
}

/// Recurring datagrams of one direction of a flow that their spacing distinguishes.
#[derive(Debug)]
pub(super) struct Spaced {
    pub(super) ends: Ends,
    /// The same datagrams in both captures, in order of the source records.
    pub(super) common: Vec<(Sketched, Sketched)>,
    width: TimeDelta,
}

impl Departures {
    #[cold]
    pub(super) fn keep(&mut self, ends: Ends, datagram: Sketched) {
        if self.kept >= KEPT_IN_ALL {
            return;
        }
        let of_flow = self.of_flows.entry(ends).or_default();
        if of_flow.len() < KEPT_OF_FLOW {
            of_flow.push(datagram);
            self.kept += 1;
        }
    }

    /// Returns the streams whose spacing shows the delay.
    pub(super) fn spaced(&self, other: &Self) -> Vec<Spaced> {
        let both = self.of_flows.iter().filter_map(|(ends, ours)| {
            let theirs = other.of_flows.get(ends)?;
            Spaced::learn(*ends, ours, theirs)
        });
        let mut spaced: Vec<Spaced> = both.collect();
        // A hash map has no order.
        spaced.sort_by_key(|spaced| spaced.ends);
        spaced
    }
}

impl Spaced {
    fn learn(ends: Ends, ours: &[Sketched], theirs: &[Sketched]) -> Option<Self> {
        let period_ns = shortest_period_ns(ours)?.min(shortest_period_ns(theirs)?);
        let shifts = Shifts::new(ours, theirs)?;
        let widths = WIDTHS_NS.into_iter();
        let found: Vec<(Shift, i64)> = widths
            .filter(|width_ns| 2 * width_ns < period_ns)
            .filter_map(|width_ns| Some((shifts.only_one(width_ns)?, width_ns)))
            .collect();
        let most = found.iter().map(|(shift, _)| shift.matched).max()?;
        // A narrow window distinguishes more spacings; a wide one keeps delayed datagrams.
        let (shift, width_ns) = found
            .into_iter()
            .rfind(|(shift, _)| shift.matched * 10 >= most * 9)?;
        Some(Self {
            ends,
            common: common(ours, theirs, shift.by_ns, width_ns),
            width: TimeDelta::from_nanos(width_ns),
        })
    }

    /// Delays on the timeline, if the shared datagrams have these; each delay within the window is
    /// plausible, and a little less for the error of the clocks' rates.
    pub(super) fn owds(&self, found: impl Iterator<Item = TimeDelta>) -> Option<SpacedOwds> {
        let least = found.min()?;
        Some(SpacedOwds {
            least: least - TimeDelta::from_nanos(self.width.as_nanos() / 4),
            most: least + self.width,
        })
    }
}

/// Shortest time between two identical datagrams, in nanoseconds; `None` without any.
fn shortest_period_ns(datagrams: &[Sketched]) -> Option<i64> {
    let mut last: HashMap<u64, Timestamp, FixedState> = HashMap::default();
    let gaps = datagrams.iter().filter_map(|datagram| {
        let before = last.insert(datagram.hash(), datagram.time)?;
        Some((datagram.time - before).abs().as_nanos())
    });
    gaps.min()
}

/// Pairs the datagrams that a shift within the window puts onto exactly one arrival.
fn common(
    ours: &[Sketched],
    theirs: &[Sketched],
    shift_ns: i64,
    width_ns: i64,
) -> Vec<(Sketched, Sketched)> {
    let mut arrivals: HashMap<u64, Vec<&Sketched>, FixedState> = HashMap::default();
    for arrival in theirs {
        arrivals.entry(arrival.hash()).or_default().push(arrival);
    }
    for alike in arrivals.values_mut() {
        alike.sort_unstable_by_key(|arrival| arrival.time);
    }
    let only_arrival = |datagram: &Sketched| {
        let alike = arrivals.get(&datagram.hash())?;
        let from = datagram.time + TimeDelta::from_nanos(shift_ns);
        let until = from + TimeDelta::from_nanos(width_ns);
        let start = alike.partition_point(|arrival| arrival.time < from);
        let end = alike.partition_point(|arrival| arrival.time <= until);
        (end == start + 1).then(|| *alike[start])
    };
    let pairs = ours
        .iter()
        .filter_map(|datagram| Some((*datagram, only_arrival(datagram)?)));
    pairs.collect()
}

/// A window of shifts.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// Lower end of the window in nanoseconds.
    by_ns: i64,
    /// Number of probes that the window puts onto an arrival.
    matched: usize,
}

/// All shifts that put a probe onto an arrival.
struct Shifts {
    /// In nanoseconds, in ascending order.
    all_ns: Vec<i64>,
    /// Times of the probes, in ascending order.
    probes: Vec<Timestamp>,
    /// First and last arrival.
    span: (Timestamp, Timestamp),
}

impl Shifts {
    fn new(ours: &[Sketched], theirs: &[Sketched]) -> Option<Self> {
        let mut arrivals: HashMap<u64, Vec<Timestamp>, FixedState> = HashMap::default();
        for arrival in theirs {
            let alike = arrivals.entry(arrival.hash()).or_default();
            alike.push(arrival.time);
        }
        let times = || theirs.iter().map(|arrival| arrival.time);
        let every = ours.len().div_ceil(PROBES).max(1);
        let probes = ours.iter().step_by(every);
        let mut all_ns = Vec::new();
        for probe in probes.clone() {
            let alike = arrivals.get(&probe.hash()).into_iter().flatten();
            all_ns.extend(alike.map(|at| (*at - probe.time).as_nanos()));
        }
        all_ns.sort_unstable();
        let mut probes: Vec<Timestamp> = probes.map(|probe| probe.time).collect();
        probes.sort_unstable();
        Some(Self {
            all_ns,
            probes,
            span: (times().min()?, times().max()?),
        })
    }

    /// The shift that excludes all others; `None` if it matches too few probes, or another shift remains
    /// possible.
    fn only_one(&self, width_ns: i64) -> Option<Shift> {
        let windows = || self.windows(width_ns);
        let best = windows().max_by_key(|shift| shift.matched)?;
        let matched = best.matched;
        let comparable = self.comparable(best.by_ns, width_ns);
        if comparable < MIN_PROBES || matched < MIN_PROBES / 2 || matched * 2 < comparable {
            return None;
        }
        // A shift that leaves few datagrams to compare needs no separate contradiction: if the
        // spacing of a stream repeats at no lag that can be compared, it repeats at no other lag
        // either.
        let is_rival = |other: Shift| {
            let is_apart = other.by_ns.saturating_sub(best.by_ns).abs() > width_ns;
            is_apart
                && other.matched * 4 > MIN_PROBES
                && other.matched * 4 > self.comparable(other.by_ns, width_ns)
        };
        (!windows().any(is_rival)).then_some(best)
    }

    /// Each shift with the number of probes that it puts onto an arrival within the window. The
    /// window is narrower than the time between identical arrivals, so no probe counts twice.
    fn windows(&self, width_ns: i64) -> impl Iterator<Item = Shift> {
        let mut end = 0;
        self.all_ns.iter().enumerate().map(move |(start, from_ns)| {
            while self
                .all_ns
                .get(end)
                .is_some_and(|shift_ns| *shift_ns <= from_ns.saturating_add(width_ns))
            {
                end += 1;
            }
            Shift {
                by_ns: *from_ns,
                matched: end - start,
            }
        })
    }

    /// Number of probes whose arrival lies within the other capture after this shift.
    fn comparable(&self, shift_ns: i64, width_ns: i64) -> usize {
        let (first, last) = self.span;
        let shift = TimeDelta::from_nanos(shift_ns);
        let width = TimeDelta::from_nanos(width_ns);
        let start = self.probes.partition_point(|at| *at + shift < first);
        let end = self
            .probes
            .partition_point(|at| *at + shift + width <= last);
        end.saturating_sub(start)
    }
}
