//! Delays of both ways, with clock steps removed.

use tcpexp_units::{Skew, TimeDelta, Timestamp};

use super::delay::{Delay, confirmed};
use super::jump::Jump;
use super::offset::{Offset, fewest_mistaken};
use super::skew::{self, SkewEstimate};
use super::timeline::{Rate, TRILLION, TimelineReader};
use crate::spp::crossing::{Crossing, PathDirection};

/// Round trips down to minus this are not a contradiction: four timestamps are rounded, and the
/// skew is accurate to some ppm.
const ROUNDING: TimeDelta = TimeDelta::from_micros(100);

/// Below this many, every match may be false, as after a retransmitted handshake.
const MIN_COUNTED: usize = 8;

/// Delays of both ways in order of source time, with clock steps removed.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// Source time of the first crossing, the origin of the delays' time.
    pub(super) start: Timestamp,
    /// Clock difference of the first crossing: subtracted from delays out, added to delays back.
    difference: TimeDelta,
    /// Delays by [`PathDirection::index`].
    path_directions: [Vec<Delay>; 2],
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
                src_time: src.place(crossing.src_place, crossing.src_time).at,
                dst_time: dst.place(crossing.dst_place, crossing.dst_time).at,
                ..*crossing
            }
        };
        let first = unstep(first);
        let (start, difference) = (first.src_time, first.difference());
        let path_directions = PathDirection::BOTH.map(|path_direction| {
            let mut delays: Vec<Delay> = crossings
                .iter()
                .filter(|crossing| crossing.path_direction == path_direction)
                .map(|crossing| {
                    let crossing = unstep(crossing);
                    let ahead = crossing.difference() - difference;
                    Delay {
                        at_ns: (crossing.src_time - start).as_nanos(),
                        owd_ns: match path_direction {
                            PathDirection::Out => ahead.as_nanos(),
                            PathDirection::Back => (-ahead).as_nanos(),
                        },
                    }
                })
                .collect();
            // The hull of the skew needs the order of time, and records may be out of order.
            delays.sort_by_key(|delay| delay.at_ns);
            delays
        });
        Self {
            start,
            difference,
            path_directions,
        }
    }

    pub(super) fn skew(&self, jumps: &[Jump]) -> SkewEstimate {
        let step_error_ns = jumps.iter().map(|jump| jump.error.as_nanos() as f64).sum();
        skew::estimate(&self.path_directions, step_error_ns)
    }

    /// Drift between the first and the last packet that the uncertainty of a detected skew allows.
    pub(super) fn drift_error(&self, skew: SkewEstimate) -> TimeDelta {
        match skew.uncertainty {
            Some(uncertainty) if skew.detected => {
                let rate = Rate::of(uncertainty.as_ppt(), TRILLION);
                rate.share(self.span()).abs()
            }
            _ => TimeDelta::ZERO,
        }
    }

    /// Time between the first and the last packet.
    pub(super) fn span(&self) -> TimeDelta {
        let ends = self
            .path_directions
            .iter()
            .filter_map(|path_direction| path_direction.last());
        TimeDelta::from_nanos(ends.map(|delay| delay.at_ns).max().unwrap_or(0))
    }

    pub(super) fn offset(&self, skew: Skew, coarseness: TimeDelta) -> (Offset, bool) {
        let rate = Rate::of(skew.as_ppt(), TRILLION);
        let owds_ns = PathDirection::BOTH.map(|path_direction| {
            let level: Vec<Delay> = self.path_directions[path_direction.index()]
                .iter()
                .map(|delay| {
                    let drifted = rate.share(TimeDelta::from_nanos(delay.at_ns)).as_nanos();
                    let owd_ns = match path_direction {
                        PathDirection::Out => delay.owd_ns.saturating_sub(drifted),
                        PathDirection::Back => delay.owd_ns.saturating_add(drifted),
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
        let [out, back] = PathDirection::BOTH.map(|path_direction| {
            // The smallest delays, as many as `mistaken`, belong to false matches.
            let smallest = owds_ns[path_direction.index()].get(mistaken[path_direction.index()]);
            smallest.map(|&owd_ns| TimeDelta::from_nanos(owd_ns))
        });
        let counted: usize = owds_ns.iter().map(Vec::len).sum();
        let mistaken: usize = mistaken.iter().sum();
        // The proof at `Offset`: −min d' ≤ θ ≤ min d. Delays are relative to the first difference.
        let upper = out.map(|owd| self.difference + owd);
        let lower = back.map(|owd| self.difference - owd);
        let contradict = lower
            .zip(upper)
            .is_some_and(|(lower, upper)| lower - upper > ROUNDING + coarseness);
        let is_sure = counted >= MIN_COUNTED && mistaken * 4 <= counted && !contradict;
        let offset = Offset::between(lower, upper);
        (offset, is_sure)
    }
}
