//! Layers: the contents of a panel.

use std::collections::HashSet;

use crate::Error;
use crate::canvas::{Canvas, TEXT_HEIGHT};
use crate::clip::At;
use crate::clip::{Point, Window};
use crate::panel::{Frame, Panel};
use crate::stroke::{DOT, Marker, Stroke};
use crate::theme::Ink;

/// Minimum width of a shade: a fifth of a millimetre.
const MIN_SHADE: i32 = 2;
/// The whole panel, in fractions of its axes.
const ALL: Window = Window {
    x: (0.0, 1.0),
    y: (0.0, 1.0),
};

/// One element of a panel, in the units of its axes and clipped to the panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Points joined by a line; a dot if several points are nearer to one another than a dot.
    Line(Vec<Point>, Stroke),
    /// Separate straight lines.
    Segments(Vec<(Point, Point)>, Stroke),
    /// Markers with a radius in canvas units.
    Points(Vec<Point>, Marker, Ink, u32),
    /// A polygon, optionally with an outline.
    Area(Vec<Point>, Ink, Option<Stroke>),
    /// The full height between two positions, at least wide enough to be visible.
    Shade((f64, f64), Ink),
    /// A horizontal line across the panel.
    Level(f64, Stroke),
    /// Marks above the panel.
    Marks(Vec<f64>, Ink),
    /// A number on a unit square of this ink, if it fits.
    Text(Point, String, Ink),
}

impl Layer {
    /// True if the layer is drawn below the grid.
    pub(crate) const fn is_background(&self) -> bool {
        matches!(self, Self::Shade(..))
    }

    pub(crate) fn draw(&self, canvas: &Canvas<'_>, panel: &Panel) -> Result<(), Error> {
        match self {
            Self::Line(points, stroke) => draw_line(canvas, panel, points, *stroke),
            Self::Segments(segments, stroke) => draw_segments(canvas, panel, segments, *stroke),
            Self::Points(points, marker, ink, radius) => {
                let mut drawn = HashSet::new();
                let inside = points
                    .iter()
                    .map(|&point| panel.fraction(point))
                    .filter(|&point| ALL.contains(point))
                    .map(|point| panel.place(point));
                // Markers at the same position are drawn once.
                inside
                    .filter(|at| drawn.insert(*at))
                    .try_for_each(|at| canvas.marker(at, *marker, *ink, *radius))
            }
            Self::Area(corners, ink, outline) => draw_area(canvas, panel, corners, *ink, *outline),
            Self::Shade(span, ink) => draw_shade(canvas, panel, *span, *ink),
            Self::Level(y, stroke) => {
                let ends = [(panel.x.low, *y), (panel.x.high, *y)];
                draw_line(canvas, panel, &ends, *stroke)
            }
            Self::Marks(xs, ink) => panel.draw_marks(canvas, xs, *ink),
            Self::Text(at, text, ink) => {
                let places = [*at, (at.0 + 1.0, at.1 + 1.0)];
                let [(x, y), (right, up)] = places.map(|at| panel.place(panel.fraction(at)));
                let fits = canvas.text_width(text) < right - x - 4 && TEXT_HEIGHT < y - up;
                if fits {
                    canvas.text_on(*ink, text, (x, y))
                } else {
                    Ok(())
                }
            }
        }
    }
}

fn draw_line(
    canvas: &Canvas<'_>,
    panel: &Panel,
    points: &[Point],
    stroke: Stroke,
) -> Result<(), Error> {
    let place = |&point| {
        let (x, y) = panel.fraction(point);
        (beyond(x), y)
    };
    let fractions: Vec<Point> = points.iter().map(place).collect();
    // A vertical logarithmic axis has no place for zero, so the line has a gap there.
    for part in fractions.split(|(x, y)| !(x.is_finite() && y.is_finite())) {
        if part.iter().all(|&point| ALL.contains(point)) {
            let path = path(panel, part);
            if part.len() > 1 && is_within_a_dot(&path) {
                // Samples within less than a dot draw a line that is hardly visible, or none.
                canvas.marker(path[0], Marker::Circle, stroke.ink, DOT)?;
            } else {
                draw_path(canvas, &path, stroke)?;
            }
        } else {
            // A short piece at the edge is the end of a longer line, so it is no dot.
            for inside in ALL.line(part) {
                draw_path(canvas, &path(panel, &inside), stroke)?;
            }
        }
    }
    Ok(())
}

fn path(panel: &Panel, fractions: &[Point]) -> Vec<At> {
    thinned(fractions.iter().map(|&point| panel.place(point)))
}

fn draw_path(canvas: &Canvas<'_>, path: &[At], stroke: Stroke) -> Result<(), Error> {
    if path.is_empty() {
        return Ok(());
    }
    canvas.line(path, stroke)
}

/// True if a dot at the first point reaches as far as the path.
fn is_within_a_dot(path: &[At]) -> bool {
    let is_near = |a: i32, b: i32| a.abs_diff(b) <= DOT;
    let Some(&first) = path.first() else {
        return false;
    };
    path.iter()
        .all(|at| is_near(at.0, first.0) && is_near(at.1, first.1))
}

/// Position of a point, at most one panel below or left of the panel: a mark that reaches zero on a
/// logarithmic axis is cut at the panel's edge.
fn clipped(panel: &Panel, point: Point) -> Point {
    let (x, y) = panel.fraction(point);
    (beyond(x), beyond(y))
}

fn beyond(fraction: f64) -> f64 {
    if fraction == f64::NEG_INFINITY {
        -1.0
    } else {
        fraction
    }
}

fn draw_segments(
    canvas: &Canvas<'_>,
    panel: &Panel,
    segments: &[(Point, Point)],
    stroke: Stroke,
) -> Result<(), Error> {
    let mut drawn = HashSet::new();
    for &(from, to) in segments {
        let [from, to] = [from, to].map(|point| clipped(panel, point));
        if let Some((from, to)) = ALL.segment(from, to) {
            let path = [panel.place(from), panel.place(to)];
            if drawn.insert(path) {
                canvas.line(&path, stroke)?;
            }
        }
    }
    Ok(())
}

fn draw_area(
    canvas: &Canvas<'_>,
    panel: &Panel,
    corners: &[Point],
    ink: Ink,
    outline: Option<Stroke>,
) -> Result<(), Error> {
    let place = |&point| clipped(panel, point);
    let fractions: Vec<Point> = corners.iter().map(place).collect();
    let is_placed = |(x, y): &Point| x.is_finite() && y.is_finite();
    if !fractions.iter().all(is_placed) {
        // A polygon has no gap.
        return Ok(());
    }
    let inside: Vec<At> = ALL
        .area(&fractions)
        .into_iter()
        .map(|point| panel.place(point))
        .collect();
    if inside.is_empty() {
        return Ok(());
    }
    canvas.polygon(inside.clone(), ink)?;
    canvas.hatch(&inside, ink)?;
    let Some(stroke) = outline else { return Ok(()) };
    let closed: Vec<Point> = fractions.iter().chain(fractions.first()).copied().collect();
    // Clipped as a line, the outline does not run along the frame that cuts the area.
    for part in ALL.line(&closed) {
        let path: Vec<At> = part.into_iter().map(|point| panel.place(point)).collect();
        canvas.line(&path, stroke)?;
    }
    Ok(())
}

fn draw_shade(
    canvas: &Canvas<'_>,
    panel: &Panel,
    (start, end): (f64, f64),
    ink: Ink,
) -> Result<(), Error> {
    let (start, end) = (start.max(panel.x.low), end.min(panel.x.high));
    if start > end {
        return Ok(());
    }
    let across = |x: f64| panel.place(panel.fraction((x, panel.y.low))).0;
    let Frame { top, bottom, .. } = panel.frame;
    let (left, right) = (across(start), across(end));
    canvas.area((left, top), (right.max(left + MIN_SHADE), bottom), ink)
}

/// Removes points that do not change the picture.
///
/// Of consecutive points with the same horizontal position, the first, the lowest, the highest and
/// the last remain, in order.
fn thinned(path: impl IntoIterator<Item = At>) -> Vec<At> {
    let mut kept: Vec<At> = Vec::new();
    let mut column: Vec<At> = Vec::new();
    let mut finish = |column: &mut Vec<At>| {
        let [Some(first), Some(last)] = [column.first(), column.last()].map(Option::<&At>::copied)
        else {
            return;
        };
        let lowest = column.iter().enumerate().min_by_key(|(_, at)| at.1);
        let highest = column.iter().enumerate().max_by_key(|(_, at)| at.1);
        let mut extremes: Vec<(usize, At)> = [lowest, highest]
            .into_iter()
            .flatten()
            .map(|(place, at)| (place, *at))
            .collect();
        extremes.sort_unstable();
        let points = [first]
            .into_iter()
            .chain(extremes.into_iter().map(|(_, at)| at))
            .chain([last]);
        for at in points {
            if kept.last() != Some(&at) {
                kept.push(at);
            }
        }
        column.clear();
    };
    for at in path {
        if column.last().is_some_and(|last| last.0 != at.0) {
            finish(&mut column);
        }
        column.push(at);
    }
    finish(&mut column);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::axis::AxisSpec;
    use crate::plot::Plot;
    use crate::row::Row;
    use crate::scene::Scene;
    use crate::style::AxisStyle;
    use crate::{FigureSize, Style};

    /// Number of dots in a panel with a line through these points, over 0 to 60 and 0 to 60.
    fn dots(points: &[Point]) -> usize {
        let axis = || AxisSpec::values("value", (0.0, 60.0), &AxisStyle::default());
        let mut plot = Plot::new(axis(), axis());
        let stroke = Stroke::over_time(Ink::Series(0), 2);
        plot.layers.push(Layer::Line(points.to_vec(), stroke));
        let scene = Scene {
            rows: vec![Row::from(plot)],
            ..Scene::default()
        };
        let size = FigureSize {
            width_mm: 85,
            height_mm: 60,
        };
        let svg = scene.draw(&Style::from(size)).unwrap();
        svg.as_str().matches("<circle").count()
    }

    #[test]
    fn a_line_shorter_than_a_dot_is_a_dot() {
        let burst = |height: f64| [(5.0, 40.0), (5.001, 40.0 + height)];
        assert_eq!(dots(&burst(0.0)), 1);
        assert_eq!(dots(&burst(0.1)), 1);
        // A step within a burst is a vertical line.
        assert_eq!(dots(&burst(10.0)), 0);
        // A marker shows a point alone.
        assert_eq!(dots(&[(5.0, 40.0)]), 0);
        // The end of a longer line that crosses a corner of the panel.
        assert_eq!(dots(&[(-1.0, 0.01), (0.01, -1.0)]), 0);
    }

    #[test]
    fn thinning_reduces_a_column_of_points_to_four() {
        let path = [(0, 5), (1, 3), (1, 9), (1, 4), (1, 1), (1, 2), (2, 2)];
        assert_eq!(
            thinned(path),
            [(0, 5), (1, 3), (1, 9), (1, 1), (1, 2), (2, 2)]
        );
        assert_eq!(thinned([(1, 1), (1, 1)]), [(1, 1)]);
        assert_eq!(thinned([]), []);
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_ends_and_extremes_of_each_column(
            mut path in prop::collection::vec((0..20_i32, -1000..1000_i32), 1..500)
        ) {
            path.sort_by_key(|at| at.0);
            let kept = thinned(path.iter().copied());
            prop_assert!(kept.len() <= 4 * 20);
            prop_assert_eq!((kept.first(), kept.last()), (path.first(), path.last()));
            for column in 0..20 {
                let of = |path: &[At]| -> Vec<i32> {
                    path.iter().filter(|at| at.0 == column).map(|at| at.1).collect()
                };
                let (all, some) = (of(&path), of(&kept));
                prop_assert_eq!(all.iter().min(), some.iter().min());
                prop_assert_eq!(all.iter().max(), some.iter().max());
            }
        }
    }
}
