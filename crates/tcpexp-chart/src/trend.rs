//! Trends: one number per run against a parameter, such as fairness over round-trip times.

use std::cell::Cell;
use std::collections::BTreeMap;

use tcpexp_metrics::fairness::jain;
use tcpexp_table::Frame;

use crate::axis::{AxisSpec, range};
use crate::clip::Point;
use crate::facet::{Facet, arranged};
use crate::layer::Layer;
use crate::legend::Key;
use crate::line_end::LineEnd;
use crate::quantile::joined;
use crate::quantity::Shown;
use crate::runs::Runs;
use crate::scene::{Plot, Scene};
use crate::stroke::{Marker, Stroke};
use crate::theme::SERIES;
use crate::{Error, Levels, Quantity, Statistic, Style, Svg};

const WIDTH: u32 = 3;
const RADIUS: u32 = 7;

/// The measure that combines the flows of a run into one number. Only several flows can share fairly or
/// unfairly, so a run with one flow has none of the first two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Jain's index: 1 if all values are equal.
    Jain,
    /// The smallest value over the largest.
    Ratio,
    /// A statistic of the values, for columns that already have such a measure.
    Of(Statistic),
}

impl Share {
    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            _ if self.needs_flows() && values.len() < 2 => None,
            Self::Jain => jain(values),
            Self::Ratio => {
                let most = values.iter().copied().fold(0.0, f64::max);
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                // Flows without traffic have rates of zero, and 0 / 0 is no ratio.
                (most > 0.0).then(|| least / most)
            }
            Self::Of(statistic) => statistic.of(values),
        }
    }

    /// True for a measure of several flows.
    const fn needs_flows(self) -> bool {
        matches!(self, Self::Jain | Self::Ratio)
    }
}

/// Draws the median over runs of a number of each run against the parameter of `x`, as a line with
/// markers for each of `colours`.
///
/// Whiskers are 95 % bootstrap intervals of the median. The note counts runs with a single flow, which
/// have no fairness.
pub fn trend_figure(
    frame: &Frame,
    (y, quantity, share): (&str, &Quantity, Share),
    (x, colours, facets): (&Levels, &Levels, &Levels),
    style: &Style,
) -> Result<Svg, Error> {
    let facets = Facet::all(frame, facets, [x, colours]);
    let alone = Cell::new(0);
    let runs = Runs::of_facets(&facets, y, |values| {
        alone.set(alone.get() + usize::from(values.len() == 1));
        share.of(values)
    })?;
    let (least, most) = match joined(runs.iter().map(Runs::extremes)) {
        Some(ends) => ends,
        None if share.needs_flows() && alone.get() > 0 => return Err(Error::SingleFlows),
        None => return Err(Error::Nothing),
    };
    let shown = quantity.shown(least, most);
    let places: Vec<Option<f64>> = (0..x.len()).map(|level| x.number(level)).collect();
    let numbers: Vec<f64> = places.iter().flatten().copied().collect();
    let x_least = numbers
        .iter()
        .copied()
        .reduce(f64::min)
        .ok_or(Error::Nothing)?;
    let x_most = numbers.iter().copied().fold(x_least, f64::max);
    let y_range = match share {
        // Both are at most 1; the margin keeps markers at 1 inside the panel.
        Share::Jain | Share::Ratio if !style.y.log => (0.0, 1.05),
        _ if style.y.log => (shown.value(least), shown.value(most)),
        _ => range(shown.value(least), shown.value(most)),
    };
    let x_axis = AxisSpec::values(
        x.axis_name(),
        around((x_least, x_most), style.x.log),
        &style.x,
    );
    let y_axis = AxisSpec::values(quantity.on_axis(&shown), y_range, &style.y);
    let mut keys: BTreeMap<usize, Key> = BTreeMap::new();
    let mut plot = |(facet, runs): (&Facet<2>, &Runs)| {
        let mut plot = facet.titled(Plot::new(x_axis.clone(), y_axis.clone()));
        for colour in 0..colours.len() {
            let line = Trend::of(runs, &places, colour, &shown);
            let Some(at) = line.points.last().copied() else {
                continue;
            };
            let stroke = Stroke::of_series(colour, WIDTH);
            // Series of the same colour differ in their markers.
            let marker = Marker::of_series(colour + colour / SERIES);
            plot.layers.extend(line.layers(stroke, marker));
            let (name, ink) = (colours.label(colour), stroke.ink);
            if colours.len() > 1 && style.labels {
                plot.ends.push(LineEnd { at, name, ink });
            } else if colours.len() > 1 {
                keys.insert(colour, Key::marker(name, Some(stroke), marker, ink));
            }
        }
        plot
    };
    let plots = facets.iter().zip(&runs).map(&mut plot).collect();
    Scene {
        keys: keys.into_values().collect(),
        rows: arranged(plots, style.size),
    }
    .draw(&style.noting(note(&runs, share, alone.get(), style)))
}

/// The note below the figure, with the number of runs that have a single flow.
fn note(runs: &[Runs], share: Share, alone: usize, style: &Style) -> String {
    let note = Runs::note(runs, style.note.as_deref());
    match alone {
        alone if alone == 0 || !share.needs_flows() => note,
        1 => format!("{note}; without 1 run of a single flow"),
        _ => format!("{note}; without {alone} runs of a single flow"),
    }
}

/// A line with intervals.
struct Trend {
    points: Vec<Point>,
    intervals: Vec<(Point, Point)>,
}

impl Trend {
    fn of(runs: &Runs, places: &[Option<f64>], colour: usize, shown: &Shown) -> Self {
        let mut line = Self {
            points: Vec::new(),
            intervals: Vec::new(),
        };
        for (level, place) in places.iter().enumerate() {
            let (Some(x), Some(estimate)) = (*place, runs.estimate(level, colour)) else {
                continue;
            };
            line.points.push((x, shown.value(estimate.median)));
            if let Some((low, high)) = estimate.interval {
                let ends = ((x, shown.value(low)), (x, shown.value(high)));
                line.intervals.push(ends);
            }
        }
        // Levels of several columns are in order of the first column, but x is the last one.
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        line
    }

    fn layers(self, stroke: Stroke, marker: Marker) -> [Layer; 3] {
        [
            Layer::Segments(self.intervals, Stroke::solid(stroke.ink, 2)),
            Layer::Line(self.points.clone(), stroke),
            Layer::Points(self.points, marker, stroke.ink, RADIUS),
        ]
    }
}

/// The range with a margin, so that no marker is on the frame.
fn around((least, most): (f64, f64), log: bool) -> (f64, f64) {
    if log && least > 0.0 {
        return (least / 1.15, most * 1.15);
    }
    let air = if most > least {
        (most - least) * 0.05
    } else {
        1.0
    };
    (least - air, most + air)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_table::Series;

    use super::*;
    use crate::FigureSize;

    /// Two flows in each of three runs at each of four delays.
    fn flows() -> Frame {
        let rows = 0..24_usize;
        let whole =
            |of: fn(usize) -> i64| Series::Whole(rows.clone().map(|row| Some(of(row))).collect());
        Frame::of(vec![
            (
                "run".into(),
                Series::texts(rows.clone().map(|row| Some(format!("r{}", row / 2)))),
            ),
            ("delay_ms".into(), whole(|row| [8, 16, 40, 81][row / 6])),
            (
                "goodput_bps".into(),
                whole(|row| {
                    if row % 2 == 0 {
                        5_000_000
                    } else {
                        5_000_000 >> (row / 6)
                    }
                }),
            ),
        ])
    }

    fn figure(share: Share, style: &Style) -> Svg {
        let frame = flows();
        let (x, all) = (
            Levels::of(&frame, &["delay_ms".into()]),
            Levels::of(&frame, &[]),
        );
        let name = Quantity::plain("Jain's index");
        let what = ("goodput_bps", &name, share);
        trend_figure(&frame, what, (&x, &all, &all), style).unwrap()
    }

    #[test]
    fn fairness_is_computed_per_run() {
        let size = FigureSize {
            width_mm: 85,
            height_mm: 60,
        };
        let mut style = Style::from(size);
        assert_snapshot!(figure(Share::Jain, &style).texts(), @r"20 | 40 | 60 | 80 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | delay (ms) | Jain&apos;s index | median over 3 runs");
        style.x.log = true;
        assert_snapshot!(figure(Share::Ratio, &style).texts(), @r"10 | 20 | 50 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | delay (ms) | Jain&apos;s index | median over 3 runs");
    }

    #[test]
    fn the_ratio_is_smallest_over_largest() {
        assert_eq!(Share::Ratio.of(&[4.0, 1.0, 2.0]), Some(0.25));
        assert_eq!(Share::Ratio.of(&[0.0, 0.0]), None);
        assert_eq!(Share::Jain.of(&[1.0, 1.0]), Some(1.0));
    }

    #[test]
    fn a_single_flow_has_no_fairness() {
        assert_eq!(Share::Jain.of(&[3.0]), None);
        assert_eq!(Share::Ratio.of(&[3.0]), None);
        assert_eq!(Share::Of(Statistic::Median).of(&[3.0]), Some(3.0));
        let draw = |runs: [i64; 4]| {
            let frame = Frame::of(vec![
                ("run".into(), Series::Whole(runs.map(Some).into())),
                ("delay_ms".into(), Series::Whole(vec![Some(10); 4])),
                (
                    "flow_id".into(),
                    Series::Whole([0, 1, 0, 0].map(Some).into()),
                ),
                (
                    "goodput_bps".into(),
                    Series::Whole([3, 1, 9, 9].map(Some).into()),
                ),
            ]);
            let (x, all) = (
                Levels::of(&frame, &["delay_ms".into()]),
                Levels::of(&frame, &[]),
            );
            let name = Quantity::plain("Jain's index");
            let what = ("goodput_bps", &name, Share::Jain);
            let size = FigureSize {
                width_mm: 85,
                height_mm: 60,
            };
            trend_figure(&frame, what, (&x, &all, &all), &size.into())
        };
        let two_alone = draw([1, 1, 2, 3]).unwrap().texts();
        assert!(
            two_alone.ends_with("one run each; without 2 runs of a single flow"),
            "{two_alone}"
        );
        let error = draw([1, 2, 3, 4]).unwrap_err().to_string();
        assert_eq!(error, "each run has a single flow, which has no fairness");
    }
}
