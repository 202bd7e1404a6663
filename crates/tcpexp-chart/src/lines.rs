//! Lines over time and over values.

use crate::clip::Point;
use crate::layer::Layer;
use crate::stroke::{DOT, Marker, Stroke};

/// Maximum gap between joined samples, as a fraction of the time axis.
const JOINED: f64 = 0.02;
/// Least number of samples whose line shows a course; shorter pieces look like dashes.
const LEAST_PIECE: usize = 5;

/// How a line joins samples that are close in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Straight lines.
    Straight,
    /// Steps: a value holds until the next.
    Steps,
    /// Steps without gaps, for adjacent bins and for values that hold until they change; NaN ends the
    /// value before it.
    Held,
    /// No line.
    Never,
}

/// The samples over `seconds`, joined where they are close in time; isolated samples are dots.
///
/// If most samples would be in short pieces of lines, all samples are dots.
pub fn over_time(points: &[Point], seconds: f64, join: Join, stroke: Stroke) -> Vec<Layer> {
    let apart = match join {
        // No distance between ordered samples is below zero, so each sample is alone.
        Join::Never => 0.0,
        Join::Straight | Join::Steps => seconds * JOINED,
        Join::Held => f64::INFINITY,
    };
    let is_joined = |a: &Point, b: &Point| !a.1.is_nan() && b.0 - a.0 < apart;
    if join == Join::Straight {
        let pieces = points.chunk_by(is_joined).map(<[Point]>::len);
        let in_pieces: usize = pieces.filter(|length| *length >= LEAST_PIECE).sum();
        if 2 * in_pieces < points.len() {
            return over_time(points, seconds, Join::Never, stroke);
        }
    }
    let mut lonely = Vec::new();
    let mut lines = Vec::new();
    for run in points.chunk_by(is_joined) {
        match run {
            [(_, value)] if value.is_nan() => {}
            [point] => lonely.push(*point),
            _ if join != Join::Straight => lines.push(Layer::Line(steps(run), stroke)),
            _ => lines.push(Layer::Line(run.to_vec(), stroke)),
        }
    }
    if !lonely.is_empty() {
        lines.push(Layer::Points(lonely, Marker::Circle, stroke.ink, DOT));
    }
    lines
}

/// The corners of a line that holds each value until the next; NaN ends the line.
pub fn steps(points: &[Point]) -> Vec<Point> {
    let mut line: Vec<Point> = Vec::with_capacity(2 * points.len());
    for &(x, y) in points {
        let before = line.last().map(|(_, before)| *before);
        line.extend(before.map(|before| (x, before)));
        if before != Some(y) && !y.is_nan() {
            line.push((x, y));
        }
    }
    line
}

/// The line of a function that jumps at each step and is constant between steps.
pub fn staircase(steps: impl IntoIterator<Item = Point>) -> Vec<Point> {
    let mut below = 0.0;
    let mut line = Vec::new();
    for (value, share) in steps {
        line.extend([(value, below), (value, share)]);
        below = share;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Ink;

    #[test]
    fn distant_points_are_not_joined() {
        let points = [(0.0, 1.0), (0.1, 2.0), (5.0, 3.0)];
        let stroke = Stroke::solid(Ink::Black, 1);
        let [Layer::Line(line, _), Layer::Points(lonely, ..)] =
            &over_time(&points, 10.0, Join::Steps, stroke)[..]
        else {
            panic!("a line and a dot");
        };
        assert_eq!(line, &[(0.0, 1.0), (0.1, 1.0), (0.1, 2.0)]);
        assert_eq!(lonely, &[(5.0, 3.0)]);
        let dots = over_time(&points, 10.0, Join::Never, stroke);
        assert!(matches!(&dots[..], [Layer::Points(all, ..)] if all.len() == 3));
    }

    #[test]
    fn a_value_holds_until_it_changes_or_is_unknown() {
        let unknown = f64::NAN;
        let points = [
            (0.0, 1.0),
            (5.0, 2.0),
            (6.0, unknown),
            (8.0, 3.0),
            (9.0, unknown),
        ];
        let lines = over_time(&points, 10.0, Join::Held, Stroke::solid(Ink::Black, 1));
        let [Layer::Line(first, _), Layer::Line(second, _)] = &lines[..] else {
            panic!("two lines: {lines:?}");
        };
        assert_eq!(first, &[(0.0, 1.0), (5.0, 1.0), (5.0, 2.0), (6.0, 2.0)]);
        assert_eq!(second, &[(8.0, 3.0), (9.0, 3.0)]);
    }

    #[test]
    fn samples_that_are_mostly_apart_are_all_dots() {
        let pairs = (0..20).flat_map(|n| [0.0, 0.1].map(|after| (f64::from(n) + after, 1.0)));
        let dots = |points: &[Point]| {
            let layers = over_time(points, 20.0, Join::Straight, Stroke::solid(Ink::Black, 1));
            matches!(&layers[..], [Layer::Points(all, ..)] if all.len() == points.len())
        };
        assert!(dots(&pairs.collect::<Vec<_>>()));
        let dense = (0..200).map(|n| (f64::from(n) / 10.0, 1.0));
        assert!(!dots(&dense.collect::<Vec<_>>()));
    }

    #[test]
    fn a_distribution_is_a_staircase() {
        let line = staircase([(1.0, 0.5), (3.0, 1.0)]);
        assert_eq!(line, [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)]);
    }
}
