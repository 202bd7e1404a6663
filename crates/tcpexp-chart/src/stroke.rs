//! Line styles and markers.

use crate::clip::At;
use crate::theme::{Ink, Theme};

/// Radius of an isolated sample.
pub(crate) const DOT: u32 = 4;

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Colour.
    pub ink: Ink,
    /// Width in units of the canvas.
    pub width: u32,
    /// Dashes.
    pub dash: Dash,
    /// True if the line has its dashes only in themes without colours.
    pub is_solid_in_colour: bool,
}

/// Alternating lengths of dashes and gaps, in units of the canvas; empty for a solid line.
pub type Dash = &'static [i32];

/// Dashes that distinguish series without colours: a sample of the legend shows each once as a whole.
///
/// There are more dashes than colours, and their numbers have no common divisor, so that series of the same
/// colour, or of neighbouring greys, differ in their dashes.
const DASHES: [Dash; 13] = [
    &[],
    &[24, 10],
    &[5, 8],
    &[24, 9, 5, 9],
    &[44, 12],
    &[12, 8],
    &[24, 6, 5, 6, 5, 6],
    &[12, 20],
    &[30, 7, 12, 7],
    &[5, 18],
    &[12, 7, 5, 7],
    &[36, 7, 5, 7],
    &[18, 6, 11, 6, 5, 6],
];

impl Stroke {
    /// A solid line.
    pub const fn solid(ink: Ink, width: u32) -> Self {
        Self::dashed(ink, width, &[])
    }

    /// A line with these dashes.
    pub const fn dashed(ink: Ink, width: u32, dash: Dash) -> Self {
        Self {
            ink,
            width,
            dash,
            is_solid_in_colour: false,
        }
    }

    /// The line of a series, with its colour and dashes.
    pub const fn of_series(number: usize, width: u32) -> Self {
        Self::dashed(Ink::Series(number), width, DASHES[number % DASHES.len()])
    }

    /// A line of many points: solid in its colour, and with the dashes of its series in themes without
    /// colours.
    ///
    /// Dashes hide points, so such a line has them only where nothing else distinguishes it.
    pub const fn over_time(ink: Ink, width: u32) -> Self {
        let Ink::Series(number) = ink else {
            return Self::solid(ink, width);
        };
        Self {
            is_solid_in_colour: true,
            ..Self::of_series(number, width)
        }
    }

    /// The dashes in a theme.
    pub(crate) fn dash_in(self, theme: Theme) -> Dash {
        if self.is_solid_in_colour && theme != Theme::Grey {
            return &[];
        }
        self.dash
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

/// Splits `path` into its dashes. The round ends of a line of this width are part of a dash.
pub(crate) fn dashed(path: &[At], dash: Dash, width: u32) -> Vec<Vec<At>> {
    // Plotters' SVG backend has no dashed strokes, so each dash becomes a path.
    if dash.is_empty() {
        return vec![path.to_vec()];
    }
    let dash = between_ends(dash, width);
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

/// Shortens dashes by the round ends of a line, and lengthens the gaps by as much.
fn between_ends(dash: Dash, width: u32) -> Vec<i32> {
    let ends = i32::try_from(width).unwrap_or(i32::MAX);
    let pairs = dash.chunks_exact(2).flat_map(|pair| {
        // Viewers draw nothing for a dash of no length.
        let shorter = (pair[0] - ends).max(1);
        [shorter, pair[1] + pair[0] - shorter]
    });
    pairs.collect()
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
    use crate::legend::SAMPLE_LENGTH;

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
        let pieces = dashed(&[(0, 0), (30, 0), (30, 30)], &[22, 3], 2);
        assert_eq!(
            pieces,
            [
                vec![(0, 0), (20, 0)],
                vec![(25, 0), (30, 0), (30, 15)],
                vec![(30, 20), (30, 30)]
            ]
        );
    }

    /// For each unit of a sample in the legend, whether it is inked.
    fn sample(number: usize) -> Vec<bool> {
        const WIDTH: u32 = 4;
        let end = i32::try_from(WIDTH / 2).unwrap();
        let path = [(0, 0), (SAMPLE_LENGTH, 0)];
        let pieces = dashed(&path, Stroke::of_series(number, WIDTH).dash, WIDTH);
        let is_inked = |x: i32| {
            let of =
                |piece: &Vec<At>| (piece[0].0 - end..piece.last().unwrap().0 + end).contains(&x);
            pieces.iter().any(of)
        };
        (0..SAMPLE_LENGTH).map(is_inked).collect()
    }

    #[test]
    fn samples_of_any_two_series_differ() {
        // Units that only one of two samples inks; 12 is a fifth of a sample, longer than a gap.
        const LEAST: usize = 12;
        for (one, dash) in DASHES.iter().enumerate() {
            let turn: i32 = dash.iter().sum();
            assert!(turn < SAMPLE_LENGTH, "{turn}");
            for other in 0..one {
                let pairs = sample(one).into_iter().zip(sample(other));
                let unlike = pairs.filter(|(a, b)| a != b).count();
                assert!(unlike >= LEAST, "{one} and {other}: {unlike}");
            }
        }
    }

    #[test]
    fn lines_over_time_have_dashes_only_without_colours() {
        let line = Stroke::over_time(Ink::Series(1), 2);
        assert_eq!(line.dash_in(Theme::Grey), DASHES[1]);
        for theme in [Theme::Paper, Theme::Dark] {
            assert!(line.dash_in(theme).is_empty());
        }
        assert!(
            Stroke::over_time(Ink::Other(0), 2)
                .dash_in(Theme::Grey)
                .is_empty()
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
            let drawn: f64 = dashed(&path, dash, 1).iter().map(|piece| length(piece)).sum();
            let turn: i32 = dash.iter().sum();
            let ink: i32 = dash.iter().step_by(2).map(|long| long - 1).sum();
            let expected = whole * f64::from(ink) / f64::from(turn);
            prop_assert!((drawn - expected).abs() <= f64::from(turn) + 0.05 * whole, "{drawn} of {whole}");
        }
    }
}
