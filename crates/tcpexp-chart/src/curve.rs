//! What a chart of delays draws of each series.

use std::cmp::Reverse;
use std::ptr;

use plotters::style::RGBColor;
use tcpexp_measure::RttSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::axis::Unit;
use crate::colours::{COLOURS, GREYS};
use crate::legend::Key;
use crate::panel::Panel;
use crate::{DelaySeries, Error};

/// Bins of a drawn series over time, of up to four samples: more than seven per millimetre.
const MOST_BINS: usize = 700;
/// Steps of a drawn distribution: more than ten per millimetre.
const STEPS: u64 = 500;
/// Series with fewer samples are dots: a line between them would tell of samples that are not.
const LEAST_JOINED: u64 = 200;
/// Samples that are further apart than this part of the time axis are not joined by a line.
const JOINED: f64 = 0.02;

/// A series with its colour.
pub(crate) struct Curve {
    colour: RGBColor,
    label: String,
    /// Of the first and the last packet, lost or not.
    pub(crate) times: (Timestamp, Timestamp),
    pub(crate) delay: RttSummary,
    over_time: Vec<(Timestamp, TimeDelta)>,
    lost_at: Vec<Timestamp>,
    pub(crate) lost: u64,
    distribution: Vec<(TimeDelta, f64)>,
}

/// One curve for each series with samples, in their order, and one in grey for those that are too
/// many to have a colour.
pub(crate) fn curves(series: &[DelaySeries]) -> Result<Vec<Curve>, Error> {
    let mut coloured: Vec<&DelaySeries> = series.iter().filter(|s| s.samples() > 0).collect();
    let others = take_others(&mut coloured);
    let coloured = coloured.into_iter().zip(COLOURS);
    let curves: Vec<Curve> = coloured
        .chain(others.as_ref().map(|others| (others, GREYS[0])))
        .filter_map(|(series, colour)| Curve::of(series, colour))
        .collect();
    if curves.is_empty() {
        Err(Error::NoSamples)
    } else {
        Ok(curves)
    }
}

/// Removes the series with fewest samples until there is a colour for each; pools the removed.
fn take_others(series: &mut Vec<&DelaySeries>) -> Option<DelaySeries> {
    let mut by_samples = series.clone();
    by_samples.sort_by_key(|series| Reverse(series.samples()));
    let (_, pooled) = by_samples.split_at_checked(COLOURS.len())?;
    let mut others = DelaySeries::new(match pooled.len() {
        0 => return None,
        1 => "1 other flow".to_owned(),
        number => format!("{number} other flows"),
    });
    for other in pooled {
        others.merge(other);
    }
    series.retain(|series| !pooled.iter().any(|other| ptr::eq(*series, *other)));
    Some(others)
}

impl Curve {
    fn of(series: &DelaySeries, colour: RGBColor) -> Option<Self> {
        let mut quantiles = series.distribution.clone();
        let delay = quantiles.summary()?;
        let mut distribution = vec![(delay.min, 0.0)];
        distribution.extend(quantiles.ecdf(STEPS));
        let (first, last) = series.over_time.times()?;
        let times = series
            .lost_at
            .times()
            .map_or((first, last), |lost| (first.min(lost.0), last.max(lost.1)));
        let lost_at = series.lost_at.points(MOST_BINS).into_iter();
        Some(Self {
            colour,
            label: printable(&series.label),
            times,
            delay,
            over_time: series.over_time.points(MOST_BINS),
            lost_at: lost_at.map(|(time, ())| time).collect(),
            lost: series.lost,
            distribution,
        })
    }

    pub(crate) fn legend(&self, unit: Unit) -> Key {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!(", {lost} lost"),
        };
        let median = unit.show(self.delay.median);
        Key::line(
            format!("{}: median {median}{lost}", self.label),
            self.colour,
        )
    }

    /// Draws a mark for each loss, over seconds since `start`.
    pub(crate) fn draw_losses(&self, panel: &Panel, start: Timestamp) -> Result<(), Error> {
        for &time in &self.lost_at {
            panel.draw_mark((time - start).as_seconds_f64(), self.colour)?;
        }
        Ok(())
    }

    /// Draws the samples over seconds since `start`.
    pub(crate) fn draw_over_time(
        &self,
        panel: &Panel,
        start: Timestamp,
        unit: Unit,
    ) -> Result<(), Error> {
        let seconds = |time: Timestamp| (time - start).as_seconds_f64();
        let points: Vec<(f64, f64)> = self
            .over_time
            .iter()
            .map(|&(time, delay)| (seconds(time), unit.value(delay)))
            .collect();
        let apart = if self.delay.samples < LEAST_JOINED {
            0.0
        } else {
            panel.x.high * JOINED
        };
        for run in points.chunk_by(|a, b| b.0 - a.0 < apart) {
            match run {
                [lonely] => panel.draw_dot(*lonely, self.colour)?,
                _ => panel.draw_line(run, self.colour, 2)?,
            }
        }
        Ok(())
    }

    /// Draws the distribution as far as it is within the panel.
    pub(crate) fn draw_distribution(&self, panel: &Panel, unit: Unit) -> Result<(), Error> {
        let steps = self
            .distribution
            .iter()
            .map(|&(delay, share)| (unit.value(delay), share));
        panel.draw_line(&staircase(steps, panel.x.high), self.colour, 4)
    }
}

/// The line of a function that jumps up at each step and is flat between them, up to `end`.
fn staircase(steps: impl IntoIterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    let mut line = Vec::new();
    for (value, share) in steps {
        if value > end {
            line.push((end, below));
            break;
        }
        line.extend([(value, below), (value, share)]);
        below = share;
    }
    line
}

/// A label without characters that XML cannot hold.
pub(crate) fn printable(label: &str) -> String {
    let unprintable = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    label.replace(unprintable, "\u{fffd}")
}
