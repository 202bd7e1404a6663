//! Round-trip times over time and their distribution.

use std::cmp::Reverse;

use plotters::style::RGBColor;
use tcpexp_units::Timestamp;

use crate::axis::{Axis, Unit, range};
use crate::canvas::Canvas;
use crate::legend::Legend;
use crate::panel::{Frame, Panel};
use crate::{Error, FigureSize, RttSeries, Svg};

/// The Okabe-Ito palette, which readers of any colour vision tell apart, without its yellow,
/// which white paper swallows.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x00, 0x00, 0x00),
];
const OTHERS: RGBColor = RGBColor(0xAA, 0xAA, 0xAA);

/// White margin around the figure.
const MARGIN: i32 = 12;
/// Between the panels.
const BETWEEN: i32 = 40;
/// Part of the width that the time panel gets, in percent.
const TIME_PERCENT: i32 = 62;
/// Less room for data than this says nothing.
const LEAST_INSIDE: i32 = 150;
/// Samples that are further apart than this part of the time axis are not joined by a line.
const JOINED: f64 = 0.02;
/// Bins of a drawn series over time, of up to four samples: more than seven per millimetre.
const MOST_BINS: usize = 700;
/// Steps of a drawn distribution: one per third of a millimetre of its panel or less.
const STEPS: u64 = 500;

/// Draws round-trip times over time (left) and their empirical distribution (right).
///
/// Time is seconds since the first sample of any series, so all series must be on one clock. With
/// more than seven series, those with most samples have colours and the rest is pooled in grey.
/// Samples close in time are joined by a line, lonely ones are dots.
pub fn rtt_figure(series: &[RttSeries], size: FigureSize) -> Result<Svg, Error> {
    let curves = curves(series)?;
    let figure = Figure::new(curves);
    Canvas::draw(size, |canvas| figure.draw(canvas, size))
}

/// A series with its colour.
struct Curve {
    series: RttSeries,
    colour: RGBColor,
}

/// The series with samples, most important last, so that it is drawn on top.
fn curves(series: &[RttSeries]) -> Result<Vec<Curve>, Error> {
    let mut sampled: Vec<&RttSeries> = series.iter().filter(|s| s.samples > 0).collect();
    if sampled.is_empty() {
        return Err(Error::NoSamples);
    }
    let mut others = RttSeries::default();
    if sampled.len() > COLOURS.len() {
        let mut by_samples = sampled.clone();
        by_samples.sort_by_key(|series| Reverse(series.samples));
        let (_, pooled) = by_samples.split_at(COLOURS.len());
        for series in pooled {
            others.merge(series);
        }
        others.label = format!("{} other flows", pooled.len());
        sampled.retain(|series| !pooled.iter().any(|other| std::ptr::eq(*series, *other)));
    }
    let coloured = sampled.into_iter().cloned().zip(COLOURS);
    let others = (others.samples > 0).then_some((others, OTHERS));
    Ok(coloured
        .chain(others)
        .map(|(series, colour)| Curve { series, colour })
        .collect())
}

/// The numbers of a figure before it has a size.
struct Figure {
    unit: Unit,
    /// Seconds from the first sample to the last.
    seconds: f64,
    rtt_range: (f64, f64),
    lines: Vec<Line>,
}

/// What is drawn of a series.
struct Line {
    colour: RGBColor,
    legend: String,
    over_time: Vec<(f64, f64)>,
    distribution: Vec<(f64, f64)>,
}

impl Figure {
    fn new(curves: Vec<Curve>) -> Self {
        let times = || {
            curves
                .iter()
                .filter_map(|curve| curve.series.over_time.times())
        };
        let rtts = || {
            curves
                .iter()
                .filter_map(|curve| curve.series.over_time.extremes())
        };
        let start = times().map(|(first, _)| first).min().unwrap_or_default();
        let end = times().map(|(_, last)| last).max().unwrap_or_default();
        let least = rtts().map(|(least, _)| least).min().unwrap_or_default();
        let most = rtts().map(|(_, most)| most).max().unwrap_or_default();
        let unit = Unit::of(least, most);
        Self {
            unit,
            seconds: (end - start).as_seconds_f64(),
            rtt_range: range(unit.value(least), unit.value(most)),
            lines: curves
                .into_iter()
                .map(|curve| Line::new(curve, start, unit))
                .collect(),
        }
    }

    fn draw(&self, canvas: &Canvas<'_>, size: FigureSize) -> Result<(), Error> {
        let (width, height) = Canvas::extent(size);
        let entries = self
            .lines
            .iter()
            .map(|line| (line.legend.as_str(), line.colour));
        let legend = Legend::new(canvas, entries, (MARGIN, width - MARGIN));
        let top = MARGIN
            .saturating_add(legend.height())
            .saturating_add(MARGIN);
        let outer = Frame {
            left: MARGIN,
            right: width - MARGIN,
            top,
            bottom: height - MARGIN,
        };
        let middle = width / 100 * TIME_PERCENT;
        let left = Frame {
            right: middle - BETWEEN / 2,
            ..outer
        };
        let right = Frame {
            left: middle + BETWEEN / 2,
            ..outer
        };
        let over_time = Panel::new(
            canvas,
            left,
            self.time_axis(left.width()),
            self.rtt_axis(left.height()),
        );
        let distribution = Panel::new(
            canvas,
            right,
            self.rtt_axis(right.width()),
            share_axis(right.height()),
        );
        let too_small = |panel: &Panel| panel.inside().0.min(panel.inside().1) < LEAST_INSIDE;
        if too_small(&over_time) || too_small(&distribution) {
            let FigureSize {
                width_mm,
                height_mm,
            } = size;
            return Err(Error::TooSmall {
                width_mm,
                height_mm,
                series: self.lines.len(),
            });
        }
        legend.draw(canvas, MARGIN)?;
        over_time.draw_axes()?;
        distribution.draw_axes()?;
        for line in self.lines.iter().rev() {
            line.draw(&over_time, self.seconds, &distribution)?;
        }
        Ok(())
    }

    fn time_axis(&self, length: i32) -> Axis {
        let seconds = if self.seconds > 0.0 {
            self.seconds
        } else {
            1.0
        };
        Axis::new("time (s)", (0.0, seconds), ticks(length, 110))
    }

    fn rtt_axis(&self, length: i32) -> Axis {
        let name = format!("RTT ({})", self.unit.name());
        Axis::new(name, self.rtt_range, ticks(length, 90))
    }
}

fn share_axis(length: i32) -> Axis {
    Axis::new("fraction of samples", (0.0, 1.0), ticks(length, 80))
}

/// As many ticks as have room on an axis.
fn ticks(length: i32, room: i32) -> u32 {
    (length / room).max(1).unsigned_abs()
}

impl Line {
    fn new(curve: Curve, start: Timestamp, unit: Unit) -> Self {
        let Curve { series, colour } = curve;
        let RttSeries {
            label,
            over_time,
            mut distribution,
            ..
        } = series;
        let median = distribution
            .summary()
            .map(|summary| unit.show(summary.median));
        let steps = distribution.ecdf(STEPS).into_iter();
        let least = over_time
            .extremes()
            .map(|(least, _)| (unit.value(least), 0.0));
        let points = over_time.points(MOST_BINS).into_iter();
        Self {
            colour,
            legend: format!(
                "{}: median {}",
                printable(&label),
                median.unwrap_or_default()
            ),
            over_time: points
                .map(|(time, rtt)| ((time - start).as_seconds_f64(), unit.value(rtt)))
                .collect(),
            distribution: staircase(
                least
                    .into_iter()
                    .chain(steps.map(|(rtt, share)| (unit.value(rtt), share))),
            ),
        }
    }

    fn draw(&self, over_time: &Panel, seconds: f64, distribution: &Panel) -> Result<(), Error> {
        let near = |a: &(f64, f64), b: &(f64, f64)| b.0 - a.0 <= seconds * JOINED;
        for run in self.over_time.chunk_by(near) {
            match run {
                [lonely] => over_time.draw_dot(*lonely, self.colour)?,
                _ => over_time.draw_line(run, self.colour, 2)?,
            }
        }
        distribution.draw_line(&self.distribution, self.colour, 4)
    }
}

/// The line of a function that jumps up at each step and is flat between them.
fn staircase(steps: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    let mut line = Vec::new();
    for (value, share) in steps {
        line.extend([(value, below), (value, share)]);
        below = share;
    }
    line
}

/// A label without characters that XML cannot hold.
fn printable(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
