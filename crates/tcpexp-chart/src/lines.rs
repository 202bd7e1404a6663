//! Lines over time and over values.

use crate::clip::Point;
use crate::layer::Layer;
use crate::stroke::{Marker, Stroke};

/// Maximum gap between joined samples, as a fraction of the time axis.
const JOINED: f64 = 0.02;
/// Radius of an isolated sample.
pub(crate) const DOT: u32 = 4;

/// How a line joins samples that are close in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Straight lines.
    Straight,
    /// Steps: a value holds until the next.
    Steps,
    /// Steps without gaps, for adjacent bins.
    Bins,
    /// No line.
    Never,
}

/// The samples over `seconds`, joined where they are close in time; isolated samples are dots.
pub fn over_time(points: &[Point], seconds: f64, join: Join, stroke: Stroke) -> Vec<Layer> {
    let apart = match join {
        // No distance between ordered samples is below zero, so each sample is alone.
        Join::Never => 0.0,
        Join::Straight | Join::Steps => seconds * JOINED,
        Join::Bins => f64::INFINITY,
    };
    let mut lonely = Vec::new();
    let mut lines = Vec::new();
    for run in points.chunk_by(|a, b| b.0 - a.0 < apart) {
        match run {
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

/// The corners of a line that holds each value until the next.
pub fn steps(points: &[Point]) -> Vec<Point> {
    let mut line: Vec<Point> = Vec::with_capacity(2 * points.len());
    for &(x, y) in points {
        let before = line.last().map(|(_, before)| *before);
        line.extend(before.map(|before| (x, before)));
        if before != Some(y) {
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
    fn a_distribution_is_a_staircase() {
        let line = staircase([(1.0, 0.5), (3.0, 1.0)]);
        assert_eq!(line, [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)]);
    }
}
