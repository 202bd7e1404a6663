//! The rate of the destination clock relative to the source clock.
//!
//! The smallest delays of a way are all equal. On clocks with different rates they lie on a sloping
//! line with every other packet above it. Of all lines below the packets, the estimate takes the
//! line that is highest in the middle of the capture (the linear program of Moon, Skelly and
//! Towsley, INFOCOM 1999), which is an edge of the lower convex hull (Zhang, Liu and Xia, INFOCOM
//! 2002).
//!
//! This edge rests on two packets. It is exact even if a queue is empty only twice. If the smallest
//! delays vary, however, the two packets are merely those with the smallest random delays. Within
//! the uncertainty of the edges, the small delays of all parts of the capture decide: the median of
//! the slopes between every two parts of a way (Theil and Sen).

use serde::{Deserialize, Serialize};
use tcpexp_units::Skew;

use super::delay::{Delay, MIN_PACKETS, confirmed};
use crate::spp::crossing::PathDirection;

/// Most captures have microsecond timestamps, so the difference of two has an error of two.
const RESOLUTION_NS: f64 = 2_000.0;

/// An estimate is significant if it exceeds this many times its uncertainty.
const SIGNIFICANT: f64 = 3.0;

/// A way whose uncertainty exceeds the other's by more than this factor is ignored, unless it contradicts
/// the other.
const BLUNT: f64 = 8.0;

/// Maximum error of an oscillator (1000 ppm). A steeper slope is a queue, unless both ways show it.
const PLAUSIBLE: f64 = 1e-3;

/// A larger rate is no clock error.
const POSSIBLE: f64 = 0.1;

/// Number of parts of the capture that are left out in turn to see how much the slope depends on
/// each.
const FOLDS: i64 = 4;

/// Number of parts of the capture; the line should touch delays in each.
const COVER_PARTS: i64 = 16;

/// Defines the representative delay of a part: one delay in this many is below it, and at least
/// this number, so that two false matches cannot represent a part.
const BELOW_FLOOR: (usize, usize) = (20, 2);

/// Coordinate limit that keeps products of two differences within 128 bits.
const LIMIT: i64 = 1 << 61;

/// Relative rate of the two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkewEstimate {
    /// Measured rate of the destination clock relative to the source clock; positive if faster.
    pub skew: Skew,
    /// Uncertainty of `skew`; `None` if the packets are too few or too close in time. For an undetected
    /// skew, which counts as zero, the true skew is within this distance of zero as well.
    pub uncertainty: Option<Skew>,
    /// True if `skew` is significant. Nothing is corrected for an undetected skew.
    pub detected: bool,
}

/// Slope of the smallest delays over time, in nanoseconds per nanosecond.
#[derive(Clone, Copy, Debug)]
struct Slope {
    rate: f64,
    uncertainty: f64,
}

/// Skew evidence of one way.
#[derive(Clone, Debug)]
struct Shown {
    slope: Slope,
    /// Slopes between small delays of every two parts of the capture.
    between_parts: Vec<f64>,
}

/// Estimates the skew from the delays of both ways, by [`PathDirection::index`] and in order of time.
///
/// `step_error_ns` is the error of the delays from removed clock steps.
pub(in crate::spp) fn estimate(delays: &[Vec<Delay>; 2], step_error_ns: f64) -> SkewEstimate {
    let [out, back] = PathDirection::BOTH
        .map(|path_direction| shown(&delays[path_direction.index()], step_error_ns));
    // With a faster destination clock, delays out seem to grow and delays back seem to shrink.
    let mut asked: Vec<Shown> = out.into_iter().chain(back.map(Shown::turned)).collect();
    let both = match &asked[..] {
        [out, back] => Some(combine(out.slope, back.slope)),
        _ => None,
    };
    // However blunt one way is, it may contradict the other; only then does it say anything.
    if both.is_none_or(|(_, agreed)| agreed != Some(false)) {
        let uncertainties = asked.iter().map(|shown| shown.slope.uncertainty);
        let least = uncertainties.fold(f64::INFINITY, f64::min);
        asked.retain(|shown| shown.slope.uncertainty <= BLUNT * least);
    }
    let (combined, agreed) = match (&asked[..], both) {
        ([_, _], Some(both)) => both,
        ([only], _) => (only.slope, None),
        _ => return SkewEstimate::default(),
    };
    let combined = match agreed {
        // A clock's rate shows on both ways, so the delay of one way changed: a median would mix it
        // in.
        Some(false) => combined,
        _ => steadied(combined, &asked),
    };
    let significant = combined.rate.abs() > SIGNIFICANT * combined.uncertainty;
    let plausible =
        combined.rate.abs() < PLAUSIBLE || (agreed == Some(true) && combined.rate.abs() < POSSIBLE);
    let detected = significant && plausible && agreed != Some(false);
    let uncertainty = if detected {
        combined.uncertainty
    } else {
        // The slope is not significant, but it may be the skew.
        combined.rate.abs() + combined.uncertainty
    };
    if !detected && uncertainty > PLAUSIBLE {
        // Every oscillator is within this bound, so the estimate carries no information.
        return SkewEstimate::default();
    }
    SkewEstimate {
        skew: in_ppt(combined.rate),
        uncertainty: Some(in_ppt(uncertainty)),
        detected,
    }
}

impl Shown {
    /// The same evidence with the opposite sign.
    fn turned(self) -> Self {
        Self {
            slope: Slope {
                rate: -self.slope.rate,
                ..self.slope
            },
            between_parts: self.between_parts.into_iter().map(|slope| -slope).collect(),
        }
    }
}

/// Combines the slopes of both ways and reports whether they agree; `None` if not both are
/// significant.
fn combine(out: Slope, back: Slope) -> (Slope, Option<bool>) {
    let (sharp, other) = if out.uncertainty < back.uncertainty {
        (out, back)
    } else {
        (back, out)
    };
    let apart = (sharp.rate - other.rate).abs();
    if apart > SIGNIFICANT * (sharp.uncertainty + other.uncertainty) {
        // The skew may be anywhere from one slope to the other, each with its uncertainty.
        let uncertainty = sharp.uncertainty.max(apart + other.uncertainty);
        return (
            Slope {
                uncertainty,
                ..sharp
            },
            Some(false),
        );
    }
    // Inverse-variance weighting: the combined uncertainty is (Σ σ⁻²)^(-1/2).
    let weight = |slope: Slope| slope.uncertainty.powi(-2);
    let whole = weight(sharp) + weight(other);
    let rate = (sharp.rate * weight(sharp) + other.rate * weight(other)) / whole;
    let both_significant =
        [sharp, other].map(|slope| slope.rate.abs() > SIGNIFICANT * slope.uncertainty) == [true; 2];
    let uncertainty = whole.powf(-0.5);
    (
        Slope { rate, uncertainty },
        both_significant.then_some(true),
    )
}

/// Slope of the line under `delays`. Its uncertainty adds up how much the slope changes when a
/// quarter of the capture is left out, how far the smallest delays of other parts are above the
/// line, and the resolution of the clocks.
///
/// A queue that never empties after the start bends the line, and then only one quarter of the
/// capture supports the line. A queue that grows evenly throughout is indistinguishable from skew
/// on one way.
fn shown(delays: &[Delay], step_error_ns: f64) -> Option<Shown> {
    if delays.len() < MIN_PACKETS {
        return None;
    }
    let delays: Vec<Delay> = delays
        .iter()
        .map(|delay| Delay {
            at_ns: delay.at_ns.clamp(-LIMIT, LIMIT),
            owd_ns: delay.owd_ns.clamp(-LIMIT, LIMIT),
        })
        .collect();
    let points = confirmed(&delays);
    let (start, end) = (points.first()?.at_ns, points.last()?.at_ns);
    let span = end - start;
    let middle = start + span / 2;
    let (foot, rate) = line_under(points.iter(), middle)?;
    let part_of = |delay: &Delay, parts: i64| {
        // `span + 1` puts the last packet into the last part. At `LIMIT` the product exceeds 64
        // bits.
        i128::from(delay.at_ns - start) * i128::from(parts) / (i128::from(span) + 1)
    };
    let mut moved: f64 = 0.0;
    for fold in 0..FOLDS {
        let rest = points
            .iter()
            .filter(|delay| part_of(delay, FOLDS) != i128::from(fold));
        let (_, without) = line_under(rest, middle)?;
        moved = moved.max((without - rate).abs());
    }
    let above = |delay: &Delay| Above {
        at_ns: delay.at_ns,
        above_ns: (delay.owd_ns - foot.owd_ns) as f64 - rate * (delay.at_ns - foot.at_ns) as f64,
    };
    let in_one_part = |a: &Delay, b: &Delay| part_of(a, COVER_PARTS) == part_of(b, COVER_PARTS);
    let gaps = points
        .chunk_by(in_one_part)
        .filter_map(|part| lowest_but(0, part.iter().map(above)));
    // In a quarter of the parts a queue may never empty.
    let upper_quartile = quantile(gaps.map(|gap| gap.above_ns), 3, 4)?;
    let doubt_ns = upper_quartile.max(0.0) + RESOLUTION_NS + step_error_ns;
    // An error of the height at one end turns the line by this error over the span.
    let uncertainty = moved + doubt_ns / span as f64;
    let floors = delays.chunk_by(in_one_part).filter_map(|part| {
        let (one_in, least) = BELOW_FLOOR;
        lowest_but((part.len() / one_in).max(least), part.iter().map(above))
    });
    let floors: Vec<Above> = floors.collect();
    let between_parts = floors.iter().enumerate().flat_map(|(i, from)| {
        let later = floors[i + 1..].iter();
        // Heights are relative to the line, so its rate is added. No two parts share a time.
        later.map(move |to| rate + (to.above_ns - from.above_ns) / (to.at_ns - from.at_ns) as f64)
    });
    Some(Shown {
        slope: Slope { rate, uncertainty },
        between_parts: between_parts.collect(),
    })
}

/// A delay relative to the line under all delays.
#[derive(Clone, Copy, Debug)]
struct Above {
    at_ns: i64,
    above_ns: f64,
}

/// Returns the lowest delay after skipping `below` lower ones; `None` if too few are left.
fn lowest_but(below: usize, delays: impl Iterator<Item = Above>) -> Option<Above> {
    let mut delays: Vec<Above> = delays.collect();
    if below >= delays.len() {
        return None;
    }
    let by_height = |a: &Above, b: &Above| a.above_ns.total_cmp(&b.above_ns);
    Some(*delays.select_nth_unstable_by(below, by_height).1)
}

/// The median slope of all parts of the capture, if it is within the uncertainty of `edges`; else
/// `edges`.
///
/// Delays that vary by more than a clock can are queueing, and only the lowest of them are
/// significant.
fn steadied(edges: Slope, path_directions: &[Shown]) -> Slope {
    let slopes = path_directions
        .iter()
        .flat_map(|shown| &shown.between_parts);
    match quantile(slopes.copied(), 1, 2) {
        Some(rate)
            if edges.uncertainty < PLAUSIBLE && (rate - edges.rate).abs() <= edges.uncertainty =>
        {
            Slope { rate, ..edges }
        }
        _ => edges,
    }
}

/// The quantile `part / whole` of the values; `None` without values.
fn quantile(values: impl Iterator<Item = f64>, part: usize, whole: usize) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() * part / whole).copied()
}

/// Returns the line under all `points` that is highest at `middle`: a point on it and its slope.
///
/// `None` if all points have the same time.
fn line_under<'a>(points: impl Iterator<Item = &'a Delay>, middle: i64) -> Option<(Delay, f64)> {
    let hull = lower_hull(points);
    // If a part of the capture is left out, the middle may lie beyond the last corner.
    let right = hull
        .partition_point(|corner| corner.at_ns <= middle)
        .clamp(1, hull.len().max(2) - 1);
    let (left, right) = (hull.get(right - 1)?, hull.get(right)?);
    let rise = (right.owd_ns - left.owd_ns) as f64;
    Some((*left, rise / (right.at_ns - left.at_ns) as f64))
}

/// Corners of the lower convex hull of `points`, which are in order of time.
fn lower_hull<'a>(points: impl Iterator<Item = &'a Delay>) -> Vec<Delay> {
    // Andrew's monotone chain takes linear time, since the points are in order of time.
    let mut hull: Vec<Delay> = Vec::new();
    for point in points {
        // An edge between two points of one time has no slope.
        if let Some(last) = hull.last()
            && last.at_ns == point.at_ns
        {
            if last.owd_ns <= point.owd_ns {
                continue;
            }
            hull.pop();
        }
        while let [.., before, last] = hull[..]
            && !turns_up(before, last, *point)
        {
            hull.pop();
        }
        hull.push(*point);
    }
    hull
}

/// True if the slope increases at `b` on the path `a`, `b`, `c`.
fn turns_up(a: Delay, b: Delay, c: Delay) -> bool {
    let run = |from: Delay, to: Delay| i128::from(to.at_ns - from.at_ns);
    let rise = |from: Delay, to: Delay| i128::from(to.owd_ns - from.owd_ns);
    rise(a, b) * run(b, c) < rise(b, c) * run(a, b)
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn in_ppt(rate: f64) -> Skew {
    Skew::from_ppt((rate * 1e12).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_millisecond(count: i64, owd_ns: impl Fn(i64) -> i64) -> Vec<Delay> {
        (0..count)
            .map(|i| Delay {
                at_ns: i * 1_000_000,
                owd_ns: owd_ns(i),
            })
            .collect()
    }

    fn of_out(owd_ns: impl Fn(i64) -> i64) -> SkewEstimate {
        estimate(&[every_millisecond(10_000, owd_ns), Vec::new()], 0.0)
    }

    #[test]
    fn queue_that_sometimes_empties_hides_no_skew() {
        let estimate = of_out(|i| i * 50 + (i % 100) * 1_000_000 / 7);
        assert!(estimate.detected, "{estimate:?}");
        assert!((estimate.skew.as_ppm_f64() - 50.0).abs() < 0.1);
    }

    #[test]
    fn route_change_at_any_time_is_not_skew() {
        for change in (0..10_000).step_by(100) {
            let estimate = of_out(|i| if i < change { 0 } else { 5_000_000 });
            assert!(!estimate.detected, "{change}: {estimate:?}");
        }
    }

    /// A pseudo-random number below `end`.
    fn random_below(seed: i64, end: i64) -> i64 {
        let mut z = seed.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (z >> 40).cast_signed() % end
    }

    #[test]
    fn a_few_fast_packets_hide_no_skew() {
        // A few packets near `lucky` are 0.1 ms faster than all packets before and after.
        for lucky in (2_000..5_000).step_by(100) {
            let estimate = of_out(|i| {
                let luck = if i / 4 == lucky / 4 { 100_000 } else { 0 };
                i * 50 + random_below(i, 30_000) - luck
            });
            let error_ppm = estimate.skew.as_ppm_f64() - 50.0;
            assert!(error_ppm.abs() < 0.5, "{lucky}: {estimate:?}");
        }
    }

    #[test]
    fn bound_wider_than_the_error_of_any_oscillator_is_no_measurement() {
        let brief = every_millisecond(200, |i| random_below(i, 50_000_000));
        assert_eq!(estimate(&[brief, Vec::new()], 0.0), SkewEstimate::default());
    }

    #[test]
    fn two_directions_that_disagree_yield_no_skew() {
        let out = every_millisecond(10_000, |i| i * 100);
        let back = every_millisecond(10_000, |i| i * 100);
        assert!(!estimate(&[out, back], 0.0).detected);
    }

    #[test]
    fn a_queue_that_fills_evenly_is_no_skew_if_the_jitter_of_the_other_direction_contradicts_it() {
        for (ppm, jitter_ns) in [(50, 1_000), (200, 100_000), (800, 500_000)] {
            let out = every_millisecond(10_000, |i| i * ppm);
            let back = every_millisecond(10_000, |i| random_below(i, jitter_ns));
            let found = estimate(&[out, back], 0.0);
            assert!(!found.detected, "{ppm} ppm: {found:?}");
            let uncertainty = found.uncertainty.map(Skew::as_ppm_f64);
            assert!(
                uncertainty.is_none_or(|most| most >= ppm as f64),
                "{ppm} ppm: {found:?}"
            );
        }
    }

    #[test]
    fn undetected_skew_is_within_the_uncertainty_around_zero() {
        // A skew of 30 ppm over two bursts of packets, an hour apart and each with a queue.
        for queue in [0, 20_000_000, 60_000_000, 150_000_000] {
            let burst = |start: i64| {
                (0..60).map(move |i| {
                    let at_ns = start * 1_000_000_000 + i * 1_000_000;
                    let queued = random_below(at_ns, queue + 1);
                    Delay {
                        at_ns,
                        owd_ns: at_ns / 1_000_000 * 30 + queued,
                    }
                })
            };
            let delays = burst(0).chain(burst(3_600)).collect();
            let found = estimate(&[delays, Vec::new()], 0.0);
            let uncertainty = found.uncertainty.map(Skew::as_ppm_f64);
            let zero = if found.detected {
                found.skew.as_ppm_f64()
            } else {
                0.0
            };
            assert!(
                uncertainty.is_none_or(|most| (30.0 - zero).abs() <= most),
                "{queue}: {found:?}"
            );
        }
    }

    #[test]
    fn skew_between_two_slopes_that_disagree_is_within_the_uncertainty() {
        let out = every_millisecond(10_000, |i| i * 100);
        let back = every_millisecond(10_000, |i| i * 60);
        let found = estimate(&[out, back], 0.0);
        let uncertainty = found.uncertainty.unwrap().as_ppm_f64();
        for ppm in [100.0, -60.0] {
            assert!(uncertainty >= f64::abs(ppm), "{found:?}");
            assert!(
                uncertainty >= (ppm - found.skew.as_ppm_f64()).abs(),
                "{found:?}"
            );
        }
    }

    #[test]
    fn implausible_skew_needs_both_directions() {
        let out = every_millisecond(10_000, |i| i * 5_000);
        let back = every_millisecond(10_000, |i| i * -5_000);
        assert!(!estimate(&[out.clone(), Vec::new()], 0.0).detected);
        assert!(estimate(&[out, back], 0.0).detected);
    }

    #[test]
    fn lone_impossibly_fast_packets_are_ignored() {
        let delays = every_millisecond(1_000, |i| if i % 100 == 7 { -5 } else { 10 });
        assert!(confirmed(&delays).iter().all(|delay| delay.owd_ns == 10));
    }
}
