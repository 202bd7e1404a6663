//! Line styles and markers.

use crate::clip::At;
use crate::theme::{Ink, SERIES};

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Colour.
    pub ink: Ink,
    /// Width in units of the canvas.
    pub width: u32,
    /// Dashes.
    pub dash: Dash,
}

/// Alternating lengths of dashes and gaps, in units of the canvas; empty for a solid line.
pub type Dash = &'static [i32];

/// Dashes that distinguish series without colours.
const DASHES: [Dash; 7] = [
    &[],
    &[26, 14],
    &[8, 12],
    &[26, 10, 6, 10],
    &[40, 12],
    &[14, 10],
    &[26, 8, 6, 8, 6, 8],
];

impl Stroke {
    /// A solid line.
    pub const fn solid(ink: Ink, width: u32) -> Self {
        Self {
            ink,
            width,
            dash: &[],
        }
    }

    /// The line of a series, with its colour and dashes.
    pub const fn of_series(number: usize, width: u32) -> Self {
        Self {
            ink: Ink::Series(number),
            width,
            // Series of the same colour differ in their dashes.
            dash: DASHES[(number + number / SERIES) % DASHES.len()],
        }
    }
}

/// Shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A filled circle.
    Circle,
    /// A filled square.
    Square,
    /// A filled triangle that points up.
    Triangle,
    /// A filled square on its corner.
    Diamond,
    /// A filled triangle that points down.
    Down,
    /// An upright cross.
    Plus,
    /// A diagonal cross.
    Cross,
}

impl Marker {
    const ALL: [Self; 7] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::Down,
        Self::Plus,
        Self::Cross,
    ];

    /// The marker of a series.
    pub const fn of_series(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }

    /// The corners of a filled marker around `at`; empty for circles and markers made of lines.
    pub(crate) fn corners(self, (x, y): At, radius: i32) -> Vec<At> {
        // The size is larger than the radius, so that areas look equal to a circle's.
        let wide = radius * 5 / 4;
        match self {
            Self::Square => vec![
                (x - radius, y - radius),
                (x + radius, y - radius),
                (x + radius, y + radius),
                (x - radius, y + radius),
            ],
            Self::Triangle => vec![
                (x, y - wide),
                (x + wide, y + radius),
                (x - wide, y + radius),
            ],
            Self::Down => vec![
                (x, y + wide),
                (x + wide, y - radius),
                (x - wide, y - radius),
            ],
            Self::Diamond => vec![(x, y - wide), (x + wide, y), (x, y + wide), (x - wide, y)],
            Self::Circle | Self::Plus | Self::Cross => Vec::new(),
        }
    }

    /// The lines of a marker made of lines.
    pub(crate) fn lines(self, (x, y): At, radius: i32) -> Vec<[At; 2]> {
        match self {
            Self::Plus => vec![
                [(x - radius, y), (x + radius, y)],
                [(x, y - radius), (x, y + radius)],
            ],
            Self::Cross => vec![
                [(x - radius, y - radius), (x + radius, y + radius)],
                [(x - radius, y + radius), (x + radius, y - radius)],
            ],
            _ => Vec::new(),
        }
    }
}

/// Splits `path` into its dashes.
pub(crate) fn dashed(path: &[At], dash: Dash) -> Vec<Vec<At>> {
    // Plotters' SVG backend has no dashed strokes, so each dash becomes a path.
    if dash.is_empty() {
        return vec![path.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece: Vec<At> = path.first().copied().into_iter().collect();
    let (mut turn, mut left) = (0, f64::from(dash[0]));
    for ends in path.windows(2) {
        let [from, to] = [ends[0], ends[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let at = along(from, to, gone / length);
            if turn % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            turn = (turn + 1) % dash.len();
            left = f64::from(dash[turn]);
        }
        // A stepped line may have segments shorter than a dash, so a dash continues around corners.
        left -= length - gone;
        if turn % 2 == 0 {
            piece.push(ends[1]);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "between two points of an i32 each"
)]
fn along(from: (f64, f64), to: (f64, f64), share: f64) -> At {
    let between = |a: f64, b: f64| (a + (b - a) * share).round() as i32;
    (between(from.0, to.0), between(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn length(path: &[At]) -> f64 {
        let ends = path.windows(2);
        ends.map(|ends| {
            let (across, up) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            f64::from(across).hypot(f64::from(up))
        })
        .sum()
    }

    #[test]
    fn a_dashed_line_follows_corners() {
        let pieces = dashed(&[(0, 0), (30, 0), (30, 30)], &[20, 5]);
        assert_eq!(
            pieces,
            [
                vec![(0, 0), (20, 0)],
                vec![(25, 0), (30, 0), (30, 15)],
                vec![(30, 20), (30, 30)]
            ]
        );
    }

    proptest! {
        #[test]
        fn dashes_and_gaps_cover_the_path(
            path in prop::collection::vec((0..500, 0..500), 2..9),
            number in 1_usize..7,
        ) {
            let dash = DASHES[number];
            let whole = length(&path);
            let drawn: f64 = dashed(&path, dash).iter().map(|piece| length(piece)).sum();
            let turn: i32 = dash.iter().sum();
            let ink: i32 = dash.iter().step_by(2).sum();
            let expected = whole * f64::from(ink) / f64::from(turn);
            prop_assert!((drawn - expected).abs() <= f64::from(turn) + 0.05 * whole, "{drawn} of {whole}");
        }
    }
}
