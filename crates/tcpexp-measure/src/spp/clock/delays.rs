//! Delays of both ways on clocks that are never set.

use tcpexp_units::{Skew, TimeDelta, Timestamp};

use super::delay::{Delay, confirmed};
use super::jump::Jump;
use super::offset::{Offset, fewest_mistaken};
use super::skew::{self, SkewEstimate};
use super::timeline::{Rate, TRILLION, TimelineReader};
use crate::spp::crossing::{Crossing, Way};

/// By how much a round trip may seem shorter than nothing: four times are rounded in it, and skew is
/// known to some parts in a million.
const ROUNDING: TimeDelta = TimeDelta::from_micros(100);

/// Fewer packets may all be mistaken for others: a handshake that is sent again is.
const LEAST_COUNTED: usize = 8;

/// Delays of both ways in order of time at the source, with steps taken out of the clocks.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// The first crossing's time at the source, where the delays' time starts.
    pub(super) start: Timestamp,
    /// The first crossing's difference, which is taken off (out) or added to (back) all delays.
    difference: TimeDelta,
    /// By [`Way::index`].
    ways: [Vec<Delay>; 2],
}

impl Delays {
    pub(super) fn new(
        first: &Crossing,
        crossings: &[Crossing],
        readers: &[TimelineReader; 2],
    ) -> Self {
        let unstep = |crossing: &Crossing| {
            let [src, dst] = readers;
            Crossing {
                src_time: src.place(crossing.src_record, crossing.src_time).at,
                dst_time: dst.place(crossing.dst_record, crossing.dst_time).at,
                ..*crossing
            }
        };
        let first = unstep(first);
        let (start, difference) = (first.src_time, first.difference());
        let ways = Way::BOTH.map(|way| {
            let mut delays: Vec<Delay> = crossings
                .iter()
                .filter(|crossing| crossing.way == way)
                .map(|crossing| {
                    let crossing = unstep(crossing);
                    let ahead = crossing.difference() - difference;
                    Delay {
                        at_ns: (crossing.src_time - start).as_nanos(),
                        owd_ns: match way {
                            Way::Out => ahead.as_nanos(),
                            Way::Back => (-ahead).as_nanos(),
                        },
                    }
                })
                .collect();
            delays.sort_by_key(|delay| delay.at_ns);
            delays
        });
        Self {
            start,
            difference,
            ways,
        }
    }

    pub(super) fn skew(&self, jumps: &[Jump]) -> SkewEstimate {
        let step_error_ns = jumps.iter().map(|jump| jump.error.as_nanos() as f64).sum();
        skew::estimate(&self.ways, step_error_ns)
    }

    /// How far the uncertainty of a detected skew makes the clocks drift apart from the first
    /// packet to the last.
    pub(super) fn drift_error(&self, skew: SkewEstimate) -> TimeDelta {
        let ends = self.ways.iter().filter_map(|way| way.last());
        let span_ns = ends.map(|delay| delay.at_ns).max().unwrap_or(0);
        match skew.uncertainty {
            Some(uncertainty) if skew.detected => {
                let rate = Rate::of(uncertainty.as_ppt(), TRILLION);
                rate.share(TimeDelta::from_nanos(span_ns)).abs()
            }
            _ => TimeDelta::ZERO,
        }
    }

    pub(super) fn offset(&self, skew: Skew, coarseness: TimeDelta) -> (Offset, bool) {
        let rate = Rate::of(skew.as_ppt(), TRILLION);
        let owds_ns = Way::BOTH.map(|way| {
            let level: Vec<Delay> = self.ways[way.index()]
                .iter()
                .map(|delay| {
                    let drifted = rate.share(TimeDelta::from_nanos(delay.at_ns)).as_nanos();
                    let owd_ns = match way {
                        Way::Out => delay.owd_ns.saturating_sub(drifted),
                        Way::Back => delay.owd_ns.saturating_add(drifted),
                    };
                    Delay { owd_ns, ..*delay }
                })
                .collect();
            let confirmed = confirmed(&level);
            let mut owds_ns: Vec<i64> = confirmed.iter().map(|delay| delay.owd_ns).collect();
            owds_ns.sort_unstable();
            owds_ns
        });
        let mistaken = fewest_mistaken(&owds_ns, coarseness);
        let [out, back] = Way::BOTH.map(|way| {
            let smallest = owds_ns[way.index()].get(mistaken[way.index()]);
            smallest.map(|&owd_ns| TimeDelta::from_nanos(owd_ns))
        });
        let counted: usize = owds_ns.iter().map(Vec::len).sum();
        let mistaken: usize = mistaken.iter().sum();
        let upper = out.map(|owd| self.difference + owd);
        let lower = back.map(|owd| self.difference - owd);
        let contradict = lower
            .zip(upper)
            .is_some_and(|(lower, upper)| lower - upper > ROUNDING + coarseness);
        let is_sure = counted >= LEAST_COUNTED && mistaken * 4 <= counted && !contradict;
        let offset = Offset::between(lower, upper);
        (offset, is_sure)
    }
}
