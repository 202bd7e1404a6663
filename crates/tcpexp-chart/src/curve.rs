//! Curves of a delay chart, one per series.

use std::cmp::Reverse;
use std::ptr;

use tcpexp_metrics::RttSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::clip::Point;
use crate::layer::Layer;
use crate::legend::Key;
use crate::lines::{Join, over_time, staircase};
use crate::quantity::Shown;
use crate::stroke::Stroke;
use crate::theme::{Ink, SERIES};
use crate::{DelaySeries, Error};

/// Maximum number of bins in a drawn series, of up to four samples each: more than seven per
/// millimetre.
const MAX_BINS: usize = 700;
/// Maximum number of steps in a drawn distribution: more than ten per millimetre.
const STEPS: u64 = 500;
/// Series with fewer samples are drawn as dots: a line would suggest samples in between.
const MIN_JOINED: u64 = 200;
/// A series with its colour.
pub(crate) struct Curve {
    ink: Ink,
    label: String,
    /// Times of the first and the last packet, lost packets included.
    pub(crate) times: (Timestamp, Timestamp),
    pub(crate) delay: RttSummary,
    over_time: Vec<(Timestamp, TimeDelta)>,
    lost_at: Vec<Timestamp>,
    pub(crate) lost: u64,
    distribution: Vec<(TimeDelta, f64)>,
}

/// Returns one curve per series with samples, in order; series beyond the colours are pooled in one
/// grey curve.
pub(crate) fn curves(series: &[DelaySeries]) -> Result<Vec<Curve>, Error> {
    let mut coloured: Vec<&DelaySeries> = series.iter().filter(|s| s.samples() > 0).collect();
    let others = take_others(&mut coloured);
    let coloured = coloured.into_iter().zip((0..SERIES).map(Ink::Series));
    let curves: Vec<Curve> = coloured
        .chain(others.as_ref().map(|others| (others, Ink::Other(0))))
        .filter_map(|(series, ink)| Curve::of(series, ink))
        .collect();
    if curves.is_empty() {
        Err(Error::NoSamples)
    } else {
        Ok(curves)
    }
}

/// Removes the series with the fewest samples until each series has a colour, and pools the removed
/// series.
fn take_others(series: &mut Vec<&DelaySeries>) -> Option<DelaySeries> {
    let mut by_samples = series.clone();
    by_samples.sort_by_key(|series| Reverse(series.samples()));
    let (_, pooled) = by_samples.split_at_checked(SERIES)?;
    let mut others = DelaySeries::new(match pooled.len() {
        0 => return None,
        1 => "1 other flow".to_owned(),
        number => format!("{number} other flows"),
    });
    for other in pooled {
        others.merge(other);
    }
    // Labels need not differ, so the address identifies a series.
    series.retain(|series| !pooled.iter().any(|other| ptr::eq(*series, *other)));
    Some(others)
}

impl Curve {
    fn of(series: &DelaySeries, ink: Ink) -> Option<Self> {
        let mut quantiles = series.distribution.clone();
        let delay = quantiles.summary()?;
        let mut distribution = vec![(delay.min, 0.0)];
        distribution.extend(quantiles.ecdf(STEPS));
        let (first, last) = series.over_time.times()?;
        let times = series
            .lost_at
            .times()
            .map_or((first, last), |lost| (first.min(lost.0), last.max(lost.1)));
        let lost_at = series.lost_at.points(MAX_BINS).into_iter();
        Some(Self {
            ink,
            label: series.label.clone(),
            times,
            delay,
            over_time: series.over_time.points(MAX_BINS),
            lost_at: lost_at.map(|(time, ())| time).collect(),
            lost: series.lost,
            distribution,
        })
    }

    pub(crate) fn legend(&self, shown: &Shown) -> Key {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!(", {lost} lost"),
        };
        let median = shown.text(nanos(self.delay.median));
        let text = format!("{}: median {median}{lost}", self.label);
        Key::line(text, Stroke::over_time(self.ink, 4))
    }

    /// One mark per loss, over seconds since `start`.
    pub(crate) fn losses(&self, start: Timestamp) -> Layer {
        let seconds = |time: &Timestamp| (*time - start).as_seconds_f64();
        Layer::Marks(self.lost_at.iter().map(seconds).collect(), self.ink)
    }

    /// The samples over time, in `seconds` since `start`.
    pub(crate) fn over_time(&self, start: Timestamp, seconds: f64, shown: &Shown) -> Vec<Layer> {
        let points: Vec<Point> = self
            .over_time
            .iter()
            .map(|&(time, delay)| {
                let x = (time - start).as_seconds_f64();
                (x, shown.value(nanos(delay)))
            })
            .collect();
        let join = if self.delay.samples < MIN_JOINED {
            Join::Never
        } else {
            Join::Straight
        };
        over_time(&points, seconds, join, Stroke::over_time(self.ink, 2))
    }

    /// The empirical distribution of the delays.
    pub(crate) fn distribution(&self, shown: &Shown) -> Layer {
        let steps = self
            .distribution
            .iter()
            .map(|&(delay, share)| (shown.value(nanos(delay)), share));
        Layer::Line(staircase(steps), Stroke::over_time(self.ink, 4))
    }
}

/// Nanoseconds as floating point; for charts only, as large values lose precision.
pub(crate) fn nanos(delay: TimeDelta) -> f64 {
    delay.as_nanos() as f64
}
