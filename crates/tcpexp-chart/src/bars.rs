//! Bar charts over the parameters of a sweep, with medians over runs and their intervals.

use std::iter;

use tcpexp_table::Frame;

use crate::axis::AxisSpec;
use crate::clip::Point;
use crate::facet::{Facet, arranged};
use crate::layer::Layer;
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantile::joined;
use crate::runs::Runs;
use crate::scene::Scene;
use crate::slots::{Place, SlotAxis};
use crate::stroke::Stroke;
use crate::theme::Ink;
use crate::without::Without;
use crate::{Error, Levels, Quantity, Statistic, Style, Svg};

/// Part of the note below bars on a logarithmic axis, which start at its lower end.
const NO_ZERO: &str =
    "; the logarithmic axis has no zero: compare the tops of bars, not their lengths";

const WHISKER: Stroke = Stroke::solid(Ink::Black, 2);

/// Draws the median over runs of the column `y` in each of `slots`, side by side for `colours`.
///
/// A statistic first reduces each run to one number. Whiskers are 95 % bootstrap intervals of the
/// median; a single run has none.
pub fn bar_figure(
    frame: &Frame,
    (y, quantity, statistic): (&str, &Quantity, Statistic),
    (slots, colours, facets): (&Levels, &Levels, &Levels),
    style: &Style,
) -> Result<Svg, Error> {
    let facets = Facet::all(frame, facets, [slots, colours]);
    let runs = Runs::of_facets(&facets, y, statistic)?;
    let without = Without::of(frame, y);
    let ends = joined(runs.iter().map(Runs::extremes));
    let undrawn = Runs::undrawn(&runs);
    let no_values = || without.error(y, quantity, undrawn);
    let (least, most) = ends.ok_or_else(no_values)?;
    let shown = quantity.shown(least, most);
    // A bar's length is its value, so the axis starts at zero.
    let reach = |value: f64| 1.05 * shown.value(value);
    let on_log = Logarithmic::on(&style.y, runs.iter().flat_map(Runs::medians));
    let more = on_log
        .as_ref()
        .map(|log| log.words("median", "vertical", &style.y) + NO_ZERO);
    let y_range = match on_log {
        // A bar from its own value to its own value would be invisible.
        Some(log) => {
            let (low, high) = Runs::range_on(&log, &runs)?;
            (shown.value(low) / 2.0, reach(high))
        }
        None => match (reach(least.min(0.0)), reach(most.max(0.0))) {
            // All medians are zero, and an axis needs a length.
            (0.0, 0.0) => (0.0, 1.0),
            range => range,
        },
    };
    let name = statistic.on_axis(quantity, &shown);
    let y = AxisSpec::values(name, y_range, &style.y);
    // A logarithmic axis has no zero, so bars start at its lower end.
    let base = if style.y.log { y.low } else { 0.0 };
    let axis = SlotAxis { slots, colours };
    let plot = |(facet, runs): (&Facet<2>, &Runs)| {
        let mut plot = facet.titled(Plot::new(axis.spec(&style.x), y.clone()));
        let mut whiskers = Vec::new();
        for slot in 0..slots.len() {
            for colour in 0..colours.len() {
                let Some(estimate) = runs.estimate(slot, colour) else {
                    continue;
                };
                let place = axis.place(slot, colour);
                plot.layers
                    .push(bar(place, base, shown.value(estimate.median)));
                if let Some((low, high)) = estimate.interval {
                    whiskers.extend(whisker(place, [low, high].map(|y| shown.value(y)), y.high));
                }
            }
        }
        // A bar drawn after its whisker would cover the lower half.
        plot.layers.push(Layer::Segments(whiskers, WHISKER));
        plot
    };
    let plots = facets.iter().zip(&runs).map(plot);
    Scene {
        keys: axis.keys(),
        rows: arranged(plots.collect(), style.size),
    }
    .draw(&style.noting(
        Runs::note(&runs, style.note.as_deref())
            + &undrawn.words(&shown)
            + &without.words()
            + &more.unwrap_or_default(),
    ))
}

fn bar(place: Place, base: f64, top: f64) -> Layer {
    let (left, right) = place.sides();
    Layer::Area(
        vec![(left, base), (right, base), (right, top), (left, top)],
        Ink::Pale(place.colour),
        Some(Stroke::solid(Ink::Series(place.colour), 2)),
    )
}

/// A vertical line between two heights, with a cap at each end. Without an upper end, it reaches the `top` of the
/// panel, without a cap.
fn whisker(place: Place, [low, high]: [f64; 2], top: f64) -> Vec<(Point, Point)> {
    let cap = |y: f64| {
        let half = place.width / 6.0;
        ((place.middle - half, y), (place.middle + half, y))
    };
    let end = if high.is_finite() { high } else { top };
    let line = ((place.middle, low), (place.middle, end));
    let caps = [low, high].into_iter().filter(|end| end.is_finite());
    iter::once(line).chain(caps.map(cap)).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_table::Series;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 85,
        height_mm: 60,
    };

    /// Five runs for each of two congestion controls.
    fn runs() -> Frame {
        let rows = 0..10_u32;
        Frame::of(vec![
            (
                "run".into(),
                Series::texts(rows.clone().map(|row| Some(format!("r{row}")))),
            ),
            (
                "cc".into(),
                Series::texts(
                    rows.clone()
                        .map(|row| Some(["cubic", "reno"][row as usize % 2])),
                ),
            ),
            (
                "goodput_bps".into(),
                Series::Whole(
                    rows.map(|row| Some(9_000_000 + i64::from(row) * 50_000))
                        .collect(),
                ),
            ),
        ])
    }

    #[test]
    fn a_bar_is_a_median_over_runs_with_its_interval() {
        let frame = runs();
        let (slots, all) = (Levels::of(&frame, &["cc".into()]), Levels::of(&frame, &[]));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Median);
        let drawn = bar_figure(&frame, what, (&slots, &all, &all), &SIZE.into()).unwrap();
        assert_snapshot!(drawn.texts(), @r"cubic | reno | 0 | 2 | 4 | 6 | 8 | congestion control | goodput (Mbit/s) | median over 5 runs");
        // Each interval has three lines.
        let mut one_run = frame.filtered(&[
            true, true, false, false, false, false, false, false, false, false,
        ]);
        one_run.add("unused", Series::Whole(vec![None, None]));
        let (slots, all) = (
            Levels::of(&one_run, &["cc".into()]),
            Levels::of(&one_run, &[]),
        );
        let single = bar_figure(&one_run, what, (&slots, &all, &all), &SIZE.into()).unwrap();
        let lines = |figure: &Svg| figure.as_str().matches("<polyline").count();
        assert!(lines(&drawn) > lines(&single));
    }

    #[test]
    fn the_note_says_that_bars_on_a_logarithmic_axis_have_no_zero() {
        let frame = runs();
        let (slots, all) = (Levels::of(&frame, &["cc".into()]), Levels::of(&frame, &[]));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Median);
        let mut style = Style::from(FigureSize {
            width_mm: 170,
            ..SIZE
        });
        style.y.log = true;
        let texts = bar_figure(&frame, what, (&slots, &all, &all), &style)
            .unwrap()
            .texts();
        assert!(texts.replace(" | ", " ").ends_with(NO_ZERO), "{texts}");
    }

    #[test]
    fn rows_that_are_no_runs_are_called_rows() {
        // Cells of a comparison: each number is already a median over runs.
        let frame = Frame::of(vec![
            ("cc".into(), Series::texts(["reno", "reno"].map(Some))),
            (
                "goodput_bps".into(),
                Series::Whole([7, 9].map(Some).to_vec()),
            ),
        ]);
        let (slots, all) = (Levels::of(&frame, &["cc".into()]), Levels::of(&frame, &[]));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Median);
        let texts = bar_figure(&frame, what, (&slots, &all, &all), &SIZE.into())
            .unwrap()
            .texts();
        assert!(texts.ends_with("| median over 2 rows"), "{texts}");
    }

    #[test]
    fn many_rows_of_a_run_are_one_number() {
        let frame = Frame::of(vec![
            ("run".into(), Series::texts(["a", "a", "a", "b"].map(Some))),
            (
                "rtt_ms".into(),
                Series::Whole([1, 2, 9, 4].map(Some).to_vec()),
            ),
        ]);
        let all = Levels::of(&frame, &[]);
        let of = |statistic: Statistic| {
            let runs = Runs::of(&frame, "rtt_ms", (&all, &all), statistic).unwrap();
            let numbers = runs.numbers[0][0].iter();
            numbers
                .filter_map(|number| number.value())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(Statistic::Median), [2.0, 4.0]);
        assert_eq!(of(Statistic::Mean), [4.0, 4.0]);
        assert_eq!(of(Statistic::Sum), [12.0, 4.0]);
        assert_eq!(of("p100".parse().unwrap()), [9.0, 4.0]);
        assert!("most".parse::<Statistic>().is_err() && "p101".parse::<Statistic>().is_err());
    }
}
