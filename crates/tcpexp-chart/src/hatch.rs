//! Hatches: lines across filled shapes, which distinguish series of similar colours.

use crate::clip::At;
use crate::theme::{SERIES, Theme};

/// Lines in these directions, and the distance between two of them in units of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hatch {
    directions: &'static [Direction],
    spacing: i32,
}

/// A direction, as the factors of x and y in the equation of its lines: `a * x + b * y = c`.
type Direction = (i32, i32);

const ACROSS: Direction = (0, 1);
const UP: Direction = (1, 0);
const RISING: Direction = (1, 1);
const FALLING: Direction = (1, -1);

/// Distances: 1.4 and 0.7 mm on paper.
const WIDE: i32 = 14;
const DENSE: i32 = 7;

/// The first series has no hatch. No series has horizontal lines only, because these would look
/// like medians in boxes.
const HATCHES: [Hatch; 13] = [
    Hatch::new(&[], WIDE),
    Hatch::new(&[RISING], WIDE),
    Hatch::new(&[FALLING], WIDE),
    Hatch::new(&[UP], WIDE),
    Hatch::new(&[RISING, FALLING], WIDE),
    Hatch::new(&[ACROSS, UP], WIDE),
    Hatch::new(&[RISING], DENSE),
    Hatch::new(&[FALLING], DENSE),
    Hatch::new(&[UP], DENSE),
    Hatch::new(&[RISING, FALLING], DENSE),
    Hatch::new(&[ACROSS, UP], DENSE),
    Hatch::new(&[RISING, UP], WIDE),
    Hatch::new(&[FALLING, UP], WIDE),
];

impl Hatch {
    const fn new(directions: &'static [Direction], spacing: i32) -> Self {
        Self {
            directions,
            spacing,
        }
    }

    /// The hatch of a series. Greys are too close to each other, so each has its own hatch; colours are
    /// hatched where their hues repeat.
    const fn of(number: usize, theme: Theme) -> Self {
        let place = match theme {
            Theme::Grey => number,
            Theme::Paper | Theme::Dark => number / SERIES,
        };
        HATCHES[place % HATCHES.len()]
    }
}

/// The hatch of a series across a polygon.
pub(crate) fn hatched(corners: &[At], number: usize, theme: Theme) -> Vec<[At; 2]> {
    let hatch = Hatch::of(number, theme);
    let lines = hatch
        .directions
        .iter()
        .flat_map(|direction| parallels(corners, *direction, hatch.spacing));
    lines.collect()
}

/// The parts inside a polygon of parallel lines at this distance. The lines of two shapes continue one
/// another.
fn parallels(corners: &[At], (a, b): Direction, spacing: i32) -> Vec<[At; 2]> {
    // Diagonals whose `c` differs by 1 are 1/√2 apart, and √2 is about 7/5.
    let step = if a * b == 0 { spacing } else { spacing * 7 / 5 };
    let level = |(x, y): At| a * x + b * y;
    let levels = corners.iter().map(|corner| level(*corner));
    let (Some(least), Some(most)) = (levels.clone().min(), levels.max()) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for number in least.div_euclid(step) + 1..=(most - 1).div_euclid(step) {
        let c = number * step;
        let edges = corners.iter().zip(corners.iter().cycle().skip(1));
        let mut crossings: Vec<At> = edges
            .filter_map(|(from, to)| crossing((*from, level(*from)), (*to, level(*to)), c))
            .collect();
        // Along the line: each second part between crossings is inside.
        crossings.sort_unstable_by_key(|(x, y)| a * y - b * x);
        lines.extend(crossings.chunks_exact(2).map(|ends| [ends[0], ends[1]]));
    }
    lines
}

/// Where an edge crosses level `c`. An edge has its lower end and not its upper one, so that a line through
/// a corner crosses one of the two edges that meet there.
fn crossing((from, low): (At, i32), (to, high): (At, i32), c: i32) -> Option<At> {
    if (low < c) == (high < c) {
        return None;
    }
    let share = f64::from(c - low) / f64::from(high - low);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "between two points of an i32 each"
    )]
    let between =
        |from: i32, to: i32| (f64::from(from) + share * f64::from(to - from)).round() as i32;
    Some((between(from.0, to.0), between(from.1, to.1)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SQUARE: [At; 4] = [(10, 10), (50, 10), (50, 50), (10, 50)];

    #[test]
    fn lines_across_a_shape_end_at_its_edges() {
        assert_eq!(
            parallels(&SQUARE, ACROSS, 14),
            [
                [(50, 14), (10, 14)],
                [(50, 28), (10, 28)],
                [(50, 42), (10, 42)]
            ]
        );
        for [from, to] in parallels(&SQUARE, RISING, 10) {
            assert_eq!(from.0 + from.1, to.0 + to.1);
            for (x, y) in [from, to] {
                assert!((10..=50).contains(&x) && (10..=50).contains(&y));
                assert!([x, y].iter().any(|edge| [10, 50].contains(edge)), "{x} {y}");
            }
        }
    }

    #[test]
    fn a_dent_is_not_hatched() {
        let dented = [(0, 0), (20, 0), (20, 30), (10, 8), (0, 30)];
        assert_eq!(
            parallels(&dented, ACROSS, 20),
            [[(20, 20), (15, 20)], [(5, 20), (0, 20)]]
        );
    }

    #[test]
    fn twelve_series_differ_in_hatch_or_in_hue() {
        let pattern = |number, theme| {
            let lines: BTreeSet<_> = hatched(&SQUARE, number, theme).into_iter().collect();
            lines.into_iter().collect::<Vec<_>>()
        };
        let greys: BTreeSet<_> = (0..12).map(|number| pattern(number, Theme::Grey)).collect();
        assert_eq!(greys.len(), 12);
        for theme in [Theme::Paper, Theme::Dark] {
            let both: BTreeSet<_> = (0..12)
                .map(|number| (number % SERIES, pattern(number, theme)))
                .collect();
            assert_eq!(both.len(), 12);
        }
    }
}
