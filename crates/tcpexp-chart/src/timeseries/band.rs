//! The band of the lines of a panel that have no colour of their own.

use std::collections::BTreeSet;

use tcpexp_units::Timestamp;

use super::{LineKind, TimeAxis, TimeLine};
use crate::clip::Point;
use crate::layer::Layer;
use crate::quantile::Sorted;
use crate::quantity::Shown;
use crate::stroke::Stroke;
use crate::theme::Ink;

/// Colour of the band.
pub(super) const COLOUR: Ink = Ink::Other(1);
/// Width of the band's outline, in units of the canvas.
const OUTLINE: u32 = 2;
/// Number of steps of the band over the time axis: at column width a step is about half a millimetre.
const STEPS: usize = 120;
/// Maximum number of bins that are the steps of the band: at column width a bin is then a line wide.
const MAX_BINS: usize = 1_000;
/// Ends of the band, as shares of the values in a step.
const QUANTILES: [f64; 2] = [0.05, 0.95];

/// Areas between two quantiles of the values of the lines, one per span of time that has values.
pub(super) fn areas(others: &[TimeLine], axis: &TimeAxis, shown: &Shown) -> Vec<Layer> {
    let edges = &edges_of_steps(others, axis);
    let last = edges.len() - 2;
    let place_of = |at: f64| {
        let before = edges.partition_point(|edge| *edge <= at);
        before.saturating_sub(1)
    };
    let mut steps: Vec<Vec<f64>> = vec![Vec::new(); last + 1];
    for line in others {
        let samples = matches!(line.kind, LineKind::Samples(_));
        let is_bins = matches!(line.kind, LineKind::Bins(_));
        // The last point of bins ends the last bin, and has no value of its own.
        let points = &line.points[..line.points.len().saturating_sub(usize::from(is_bins))];
        for (place, (time, value)) in points.iter().enumerate() {
            let at = axis.at(*time);
            // Values that are no samples hold until the next.
            let next = line.points.get(place + 1).filter(|_| !samples);
            let until = next.map_or(at, |(next, _)| axis.at(*next));
            if until < edges[0] || at > edges[last + 1] {
                continue;
            }
            // A sample at the last edge is in the last step.
            let (from, end) = (place_of(at).min(last), place_of(until));
            for step in &mut steps[from..end.max(from + 1)] {
                step.push(shown.value(*value));
            }
        }
    }
    let ends = steps.iter().enumerate().filter_map(|(place, values)| {
        let sorted = Sorted::of(values);
        let [low, high] = QUANTILES.map(|share| sorted.quantile(share));
        Some((place, (low?, high?)))
    });
    let ends: Vec<(usize, (f64, f64))> = ends.collect();
    // Where one line has a value, the band has no height.
    let outline = Stroke::solid(COLOUR, OUTLINE);
    let areas = ends.chunk_by(|a, b| a.0 + 1 == b.0).map(|part| {
        let side = |of: fn(&(f64, f64)) -> f64| {
            part.iter().flat_map(move |(place, ends)| {
                [*place, place + 1].map(|edge| (edges[edge], of(ends)))
            })
        };
        let above: Vec<Point> = side(|ends| ends.1).collect();
        let below = side(|ends| ends.0);
        let corners = below.chain(above.into_iter().rev());
        Layer::Area(corners.collect(), COLOUR, Some(outline))
    });
    areas.collect()
}

/// Edges of the steps of the band, at least two: the bin edges if there are bins (a step across bins
/// would mix their values), otherwise equal parts of the axis.
fn edges_of_steps(others: &[TimeLine], axis: &TimeAxis) -> Vec<f64> {
    if others
        .iter()
        .all(|line| matches!(line.kind, LineKind::Bins(_)))
    {
        let points = others.iter().flat_map(|line| &line.points);
        let times: BTreeSet<Timestamp> = points.map(|(time, _)| *time).collect();
        // Bins without a width are all at one time, which is one edge of no step.
        if (2..=MAX_BINS).contains(&times.len()) {
            return times.iter().map(|time| axis.at(*time)).collect();
        }
    }
    let width = axis.seconds / STEPS as f64;
    (0..=STEPS).map(|step| step as f64 * width).collect()
}
