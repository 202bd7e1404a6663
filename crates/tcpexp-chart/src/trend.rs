//! Trends: one number per run against a parameter, such as fairness over round-trip times.

use std::collections::BTreeMap;

use tcpexp_table::Frame;

use crate::axis::{AxisSpec, range};
use crate::clip::Point;
use crate::facet::{Facet, arranged};
use crate::layer::Layer;
use crate::legend::Key;
use crate::line_end::LineEnd;
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantile::joined;
use crate::quantity::Shown;
use crate::runs::Runs;
use crate::scene::Scene;
use crate::stroke::{Marker, Stroke};
use crate::theme::SERIES;
use crate::without::Without;
use crate::{AxisStyle, Error, Levels, Quantity, Statistic, Style, Svg};

const WIDTH: u32 = 3;
const RADIUS: u32 = 7;

/// Starts of the names of columns from 0 to 1, whose axis always shows both ends.
const PARTS: [&str; 2] = ["jain", "epsilon"];

/// Draws the median over runs of a number of each run against the parameter of `x`, as a line with
/// markers for each of `colours`.
///
/// Whiskers are 95 % bootstrap intervals of the median. The note reports the number of runs without a
/// value, such as the fairness of a single sender.
pub fn trend_figure(
    frame: &Frame,
    (y, quantity, statistic): (&str, &Quantity, Statistic),
    (x, colours, facets): (&Levels, &Levels, &Levels),
    style: &Style,
) -> Result<Svg, Error> {
    let facets = Facet::all(frame, facets, [x, colours]);
    let runs = Runs::of_facets(&facets, y, statistic)?;
    let without = Without::of(frame, y);
    let ends = joined(runs.iter().map(Runs::extremes));
    let undrawn = Runs::undrawn(&runs);
    let no_values = || without.error(y, quantity, undrawn);
    let (least, most) = ends.ok_or_else(no_values)?;
    let shown = quantity.shown(least, most);
    let places: Vec<Option<f64>> = (0..x.len()).map(|level| x.number(level)).collect();
    let numbers: Vec<f64> = places.iter().flatten().copied().collect();
    let x_least = numbers
        .iter()
        .copied()
        .reduce(f64::min)
        .ok_or(Error::Nothing)?;
    let x_most = numbers.iter().copied().fold(x_least, f64::max);
    let is_part = PARTS.iter().any(|part| y.starts_with(part));
    let on_log = Logarithmic::on(&style.y, runs.iter().flat_map(Runs::medians));
    let places_on_log = Logarithmic::on(&style.x, numbers.iter().copied());
    let (x_least, x_most) = match &places_on_log {
        Some(log) => log.range()?,
        None => (x_least, x_most),
    };
    let words = |log: &Option<Logarithmic>, [noun, axis]: [&str; 2], style: &AxisStyle| {
        let words = log.as_ref().map(|log| log.words(noun, axis, style));
        words.unwrap_or_default()
    };
    let more = undrawn.words(&shown)
        + &without.words()
        + &words(&places_on_log, ["value", "horizontal"], &style.x)
        + &words(&on_log, ["median", "vertical"], &style.y);
    let y_range = if let Some(log) = &on_log {
        shown.ends(Runs::range_on(log, &runs)?)
    } else if is_part {
        // The margin keeps markers at 1 inside the panel.
        (0.0, 1.05)
    } else {
        range(shown.value(least), shown.value(most))
    };
    let x_axis = AxisSpec::values(
        x.axis_name(),
        around((x_least, x_most), style.x.log),
        &style.x,
    );
    let name = statistic.on_axis(quantity, &shown);
    let y_axis = AxisSpec::values(name, y_range, &style.y);
    let mut keys: BTreeMap<usize, Key> = BTreeMap::new();
    let mut plot = |(facet, runs): (&Facet<2>, &Runs)| {
        let mut plot = facet.titled(Plot::new(x_axis.clone(), y_axis.clone()));
        for colour in 0..colours.len() {
            let line = Trend::of(runs, &places, colour, (&shown, y_axis.high));
            let Some(at) = line.points().last() else {
                continue;
            };
            let stroke = Stroke::of_series(colour, WIDTH);
            // Series of the same colour differ in their markers.
            let marker = Marker::of_series(colour + colour / SERIES);
            plot.layers.extend(line.layers(stroke, marker));
            let (name, ink) = (colours.label(colour), stroke.ink);
            // Without columns there is one line and nothing to name. The legend leaves it out.
            if style.labels && !name.is_empty() {
                plot.ends.push(LineEnd { at, name, stroke });
            } else {
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
    .draw(&style.noting(Runs::note(&runs, style.note.as_deref()) + &more))
}

/// A line with intervals.
#[derive(Default)]
struct Trend {
    /// The parts between medians that are not known: a line across one would show it as known.
    parts: Vec<Vec<Point>>,
    intervals: Vec<(Point, Point)>,
}

impl Trend {
    /// An interval without an upper end reaches the `top` of the panel.
    fn of(runs: &Runs, places: &[Option<f64>], colour: usize, (shown, top): (&Shown, f64)) -> Self {
        let median = |(level, place): (usize, &Option<f64>)| {
            Some(((*place)?, runs.median(level, colour)?.known()))
        };
        let mut medians: Vec<_> = places.iter().enumerate().filter_map(median).collect();
        // Levels of several columns are in order of the first column, but x is the last one.
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut line = Self::default();
        for part in medians.split(|(_, estimate)| estimate.is_none()) {
            let mut points = Vec::new();
            for (x, estimate) in part {
                let Some(estimate) = estimate else { continue };
                points.push((*x, shown.value(estimate.median)));
                if let Some((low, high)) = estimate.interval {
                    let high = shown.value(high);
                    let high = if high.is_finite() { high } else { top };
                    line.intervals.push(((*x, shown.value(low)), (*x, high)));
                }
            }
            line.parts
                .extend(Some(points).filter(|points| !points.is_empty()));
        }
        line
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        self.parts.iter().flatten().copied()
    }

    fn layers(self, stroke: Stroke, marker: Marker) -> Vec<Layer> {
        let points = self.points().collect();
        let mut layers = vec![Layer::Segments(
            self.intervals,
            Stroke::solid(stroke.ink, 2),
        )];
        layers.extend(self.parts.into_iter().map(|part| Layer::Line(part, stroke)));
        layers.push(Layer::Points(points, marker, stroke.ink, RADIUS));
        layers
    }
}

/// The range with a margin, so that no marker is on the frame.
fn around((least, most): (f64, f64), log: bool) -> (f64, f64) {
    if log {
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

    #[test]
    fn the_vertical_axis_names_the_statistic() {
        let whole = |cells: [i64; 2]| Series::Whole(cells.map(Some).into());
        let frame = Frame::of(vec![
            ("delay_ms".into(), whole([20, 40])),
            ("goodput_bps".into(), whole([7_000_000, 8_000_000])),
        ]);
        let [x, all] =
            [vec!["delay_ms".to_owned()], vec![]].map(|names| Levels::of(&frame, &names));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Max);
        let texts = trend_figure(&frame, what, (&x, &all, &all), &Style::default())
            .unwrap()
            .texts();
        assert!(texts.contains("| largest goodput (Mbit/s) |"), "{texts}");
    }

    #[test]
    fn a_run_is_one_number_and_fairness_has_a_fixed_axis() {
        let of_senders = |column: &str, values: [Option<f64>; 4], senders: [i64; 4]| {
            let frame = Frame::of(vec![
                ("run".into(), Series::Whole([1, 2, 3, 4].map(Some).into())),
                ("senders".into(), Series::Whole(senders.map(Some).into())),
                (
                    "delay_ms".into(),
                    Series::Whole([20, 20, 40, 80].map(Some).into()),
                ),
                (column.into(), Series::Real(values.into())),
            ]);
            let (x, all) = (
                Levels::of(&frame, &["delay_ms".into()]),
                Levels::of(&frame, &[]),
            );
            let name = Quantity::of_column(column);
            let what = (column, &name, Statistic::Median);
            let size = FigureSize {
                width_mm: 85,
                height_mm: 60,
            };
            trend_figure(&frame, what, (&x, &all, &all), &size.into())
        };
        let draw = |column: &str, values| of_senders(column, values, [2; 4]);
        let values = [Some(0.9), Some(0.8), Some(0.95), None];
        assert_snapshot!(draw("jain", values).unwrap().texts(), @r"20 | 30 | 40 | 50 | 60 | 70 | 80 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | delay (ms) | Jain&apos;s index | median over 1 to 2 runs; without 1 run that has no value");
        assert_snapshot!(draw("max_min_ratio", values).unwrap().texts(), @r"20 | 30 | 40 | 50 | 60 | 70 | 80 | 0.80 | 0.85 | 0.90 | 0.95 | delay (ms) | largest / smallest goodput | median over 1 to 2 runs; without 1 run that has no value");
        let error = draw("jain", [None; 4]).unwrap_err().to_string();
        assert_eq!(error, "no run has a value of jain");
        let texts = of_senders("jain", values, [2, 2, 2, 1]).unwrap().texts();
        assert!(
            texts.ends_with("; without 1 run of a single sender"),
            "{texts}"
        );
        let error = of_senders("jain", [None; 4], [1; 4])
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "no run has a value of jain: each has a single sender, which shares with no other"
        );
        let error = of_senders("goodput_bps", [None; 4], [1; 4])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "no run has a value of goodput_bps");
    }
}
