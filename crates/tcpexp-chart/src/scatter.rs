//! Scatter plots of two quantities, in groups.

use std::collections::BTreeMap;

use tcpexp_table::{Frame, Series};

use crate::axis::{AxisSpec, range};
use crate::clip::Point;
use crate::ellipse::Scatter;
use crate::facet::{Facet, arranged};
use crate::layer::Layer;
use crate::left_out::LeftOut;
use crate::legend::Key;
use crate::logarithmic::Logarithmic;
use crate::numbers::numbers;
use crate::plot::Plot;
use crate::scene::Scene;
use crate::stroke::{Marker, Stroke};
use crate::theme::{Ink, SERIES};
use crate::{AxisStyle, Error, Levels, Quantity, Style, Svg};

const POINT: u32 = 4;
const MIDDLE: u32 = 9;

/// Draws the column `y` against the column `x`, one point per row, coloured by `groups`.
///
/// Each group also has a larger marker at its mean and, unless its points are on one line, the ellipse of one
/// standard deviation around it.
pub fn scatter_figure(
    frame: &Frame,
    (x, x_quantity): (&str, &Quantity),
    (y, y_quantity): (&str, &Quantity),
    (groups, facets): (&Levels, &Levels),
    style: &Style,
) -> Result<Svg, Error> {
    let facets = Facet::all(frame, facets, [groups]);
    let clouds: Result<Vec<Clouds>, Error> = facets
        .iter()
        .map(|facet| clouds(&facet.rows, (x, y), &facet.groups[0]))
        .collect();
    let of_facets = clouds?;
    // Ellipses extend past their points.
    let outlines = of_facets.iter().flatten();
    let outlines = outlines.filter_map(|cloud| Scatter::of(cloud)?.ellipse());
    let outlines: Vec<Point> = outlines.flatten().collect();
    let ends_of = |part: fn(&Point) -> f64| {
        let points: Vec<f64> = of_facets.iter().flatten().flatten().map(part).collect();
        let around: Vec<f64> = outlines.iter().map(part).collect();
        ends_with(&points, &around).ok_or(Error::Nothing)
    };
    let mut more = String::new();
    let left_out = [LeftOut::of(frame, x)?, LeftOut::of(frame, y)?];
    let mut axis_ends = |part: fn(&Point) -> f64, axis: &str, style: &AxisStyle| {
        let values = of_facets.iter().flatten().flatten().map(part);
        match Logarithmic::on(style, values) {
            // A logarithmic axis cannot show where an ellipse reaches zero.
            Some(log) => {
                more += &log.words("value", axis, style);
                log.range()
            }
            None => ends_of(part),
        }
    };
    let x_ends = axis_ends(|point| point.0, "horizontal", &style.x)?;
    let y_ends = axis_ends(|point| point.1, "vertical", &style.y)?;
    let x_shown = x_quantity.shown(x_ends.0, x_ends.1);
    let y_shown = y_quantity.shown(y_ends.0, y_ends.1);
    let words = [left_out[0].words(&x_shown), left_out[1].words(&y_shown)];
    more = words.concat() + &more;
    let ends = |(least, most): (f64, f64), log: bool| {
        if log {
            // On a logarithmic axis equal margins are equal factors.
            (least / 1.1, most * 1.1)
        } else {
            range(least, most)
        }
    };
    let x_range = ends(
        (x_shown.value(x_ends.0), x_shown.value(x_ends.1)),
        style.x.log,
    );
    let y_range = ends(
        (y_shown.value(y_ends.0), y_shown.value(y_ends.1)),
        style.y.log,
    );
    let x_axis = AxisSpec::values(x_quantity.on_axis(&x_shown), x_range, &style.x);
    let y_axis = AxisSpec::values(y_quantity.on_axis(&y_shown), y_range, &style.y);
    let mut keys: BTreeMap<usize, Key> = BTreeMap::new();
    let mut plot = |(facet, clouds): (&Facet<1>, &Clouds)| {
        let mut plot = facet.titled(Plot::new(x_axis.clone(), y_axis.clone()));
        let (mut ellipses, mut middles) = (Vec::new(), Vec::new());
        for (group, cloud) in clouds.iter().enumerate() {
            let cloud: Vec<Point> = cloud
                .iter()
                .map(|(x, y)| (x_shown.value(*x), y_shown.value(*y)))
                .collect();
            let Some(scatter) = Scatter::of(&cloud) else {
                continue;
            };
            let ink = Ink::Series(group);
            // Series of the same colour differ in their markers.
            let marker = Marker::of_series(group + group / SERIES);
            plot.layers
                .push(Layer::Points(cloud, marker, Ink::Soft(group), POINT));
            if let Some(mut outline) = scatter.ellipse() {
                outline.extend(outline.first().copied());
                ellipses.push(Layer::Line(outline, Stroke::of_series(group, 4)));
            }
            middles.push(Layer::Points(vec![scatter.middle], marker, ink, MIDDLE));
            keys.insert(group, Key::marker(groups.label(group), None, marker, ink));
        }
        // Points of later groups would cover the ellipses and means of earlier ones.
        plot.layers.extend(ellipses);
        plot.layers.extend(middles);
        plot
    };
    let plots = facets.iter().zip(&of_facets).map(&mut plot).collect();
    Scene {
        keys: keys.into_values().collect(),
        rows: arranged(plots, style.size),
    }
    .draw(&style.noting_also(&more))
}

/// The least and the greatest value of points and of the ellipses around them.
fn ends_with(points: &[f64], around: &[f64]) -> Option<(f64, f64)> {
    let least = points.iter().copied().reduce(f64::min)?;
    let most = points.iter().copied().fold(least, f64::max);
    // Where no point is negative, the axis shows no negative values.
    let floor = if least < 0.0 { f64::MIN } else { 0.0 };
    let around = around.iter().map(|value| value.max(floor));
    Some((
        around.clone().fold(least, f64::min),
        around.fold(most, f64::max),
    ))
}

/// The points of each group.
type Clouds = Vec<Vec<Point>>;

fn clouds(frame: &Frame, (x, y): (&str, &str), groups: &Levels) -> Result<Clouds, Error> {
    let (xs, ys) = (numbers(frame, x)?, numbers(frame, y)?);
    let mut clouds: Clouds = vec![Vec::new(); groups.len()];
    // A bound of a measure may be infinite, and has no place on an axis.
    let finite = |column: &Series, row| column.number(row).filter(|number| number.is_finite());
    for row in 0..frame.rows() {
        if let (Some(x), Some(y)) = (finite(xs, row), finite(ys, row)) {
            clouds[groups.of_row(row)].push((x, y));
        }
    }
    Ok(clouds)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::FigureSize;

    #[test]
    fn a_linear_axis_has_room_for_ellipses() {
        let ends = |least| ends_with(&[least, 9.0], &[-2.0, 11.0]);
        assert_eq!(ends(5.0), Some((0.0, 11.0)));
        assert_eq!(ends(-1.0), Some((-2.0, 11.0)));
        assert_eq!(ends_with(&[], &[]), None);
    }

    #[test]
    fn an_infinite_bound_is_no_point() {
        let column = |values: [f64; 2]| Series::Real(values.map(Some).to_vec());
        let frame = Frame::of(vec![
            ("x".into(), column([1.0, f64::INFINITY])),
            ("y".into(), column([2.0, 3.0])),
        ]);
        let clouds = clouds(&frame, ("x", "y"), &Levels::of(&frame, &[])).unwrap();
        assert_eq!(clouds, [[(1.0, 2.0)]]);
    }

    #[test]
    fn a_group_has_points_a_centre_and_an_ellipse() {
        let frame = Frame::of(vec![
            (
                "cc".into(),
                Series::texts(["cdg", "cdg", "cdg", "reno", "reno", "reno"].map(Some)),
            ),
            (
                "rtt_median_ns".into(),
                Series::Whole(
                    [42, 44, 43, 90, 110, 90]
                        .map(|ms| Some(ms * 1_000_000))
                        .to_vec(),
                ),
            ),
            (
                "goodput_bps".into(),
                Series::Whole(
                    [8, 9, 9, 9, 10, 9]
                        .map(|mbit| Some(mbit * 1_000_000))
                        .to_vec(),
                ),
            ),
        ]);
        let groups = Levels::of(&frame, &["cc".into()]);
        let [x, y] = ["rtt_median_ns", "goodput_bps"].map(Quantity::of_column);
        let size = FigureSize {
            width_mm: 85,
            height_mm: 60,
        };
        let style = Style::from(size);
        let drawn = scatter_figure(
            &frame,
            ("rtt_median_ns", &x),
            ("goodput_bps", &y),
            (&groups, &Levels::of(&frame, &[])),
            &style,
        );
        let drawn = drawn.unwrap();
        assert_snapshot!(drawn.texts(), @r"cdg | reno | 0 | 20 | 40 | 60 | 80 | 100 | 8.0 | 8.5 | 9.0 | 9.5 | 10.0 | median RTT (ms) | goodput (Mbit/s)");
        // The markers are three points, their mean, and one in the legend.
        assert_eq!(drawn.as_str().matches("<circle").count(), 5);
    }
}
