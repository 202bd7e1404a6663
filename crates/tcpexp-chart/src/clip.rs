//! Clipping of lines and areas to a window.

/// A position on the canvas in units: x to the right, y down.
pub(crate) type At = (i32, i32);

/// A point in the coordinates of the data.
pub type Point = (f64, f64);

/// The part of the plane that a panel shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Window {
    pub(crate) fn contains(self, (x, y): Point) -> bool {
        (self.x.0..=self.x.1).contains(&x) && (self.y.0..=self.y.1).contains(&y)
    }

    /// The part of a straight line inside the window (Liang and Barsky, 1984).
    pub(crate) fn segment(self, from: Point, to: Point) -> Option<(Point, Point)> {
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        let (across, up) = (to.0 - from.0, to.1 - from.1);
        for (towards, room) in [
            (-across, from.0 - self.x.0),
            (across, self.x.1 - from.0),
            (-up, from.1 - self.y.0),
            (up, self.y.1 - from.1),
        ] {
            // A line parallel to a side never crosses it and is entirely on one side of it.
            if towards == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if towards < 0.0 {
                enters = enters.max(room / towards);
            } else {
                leaves = leaves.min(room / towards);
            }
        }
        let at = |share: f64| {
            let between = |from: f64, length: f64, (low, high): (f64, f64)| {
                // Rounding may put a crossing just outside the window.
                (from + share * length).clamp(low, high)
            };
            (between(from.0, across, self.x), between(from.1, up, self.y))
        };
        // A line that passes beside a corner leaves one side before it enters the other.
        (enters <= leaves).then(|| {
            // An end inside the window stays exact: `line` joins segments whose ends are equal.
            let start = if enters > 0.0 { at(enters) } else { from };
            let end = if leaves < 1.0 { at(leaves) } else { to };
            (start, end)
        })
    }

    /// The parts of a polyline inside the window.
    pub(crate) fn line(self, points: &[Point]) -> Vec<Vec<Point>> {
        let mut parts: Vec<Vec<Point>> = Vec::new();
        let mut part: Vec<Point> = Vec::new();
        for ends in points.windows(2) {
            let Some((start, end)) = self.segment(ends[0], ends[1]) else {
                continue;
            };
            // The line left the window since the last segment, or this is its first part.
            if part.last() != Some(&start) {
                if part.len() > 1 {
                    parts.push(std::mem::take(&mut part));
                }
                part = vec![start];
            }
            part.push(end);
        }
        if part.len() > 1 {
            parts.push(part);
        }
        parts
    }

    /// The part of an area inside the window (Sutherland and Hodgman, 1974).
    pub(crate) fn area(self, corners: &[Point]) -> Vec<Point> {
        let mut inside = corners.to_vec();
        for side in [
            Side::Left(self.x.0),
            Side::Right(self.x.1),
            Side::Bottom(self.y.0),
            Side::Top(self.y.1),
        ] {
            inside = side.cut(&inside);
        }
        inside
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left(f64),
    Right(f64),
    Bottom(f64),
    Top(f64),
}

impl Side {
    fn cut(self, corners: &[Point]) -> Vec<Point> {
        let mut kept = Vec::with_capacity(corners.len() + 2);
        for (place, &corner) in corners.iter().enumerate() {
            let before = corners[(place + corners.len() - 1) % corners.len()];
            if self.is_inside(before) != self.is_inside(corner) {
                kept.push(self.crossing(before, corner));
            }
            if self.is_inside(corner) {
                kept.push(corner);
            }
        }
        kept
    }

    fn is_inside(self, (x, y): Point) -> bool {
        match self {
            Self::Left(low) => x >= low,
            Self::Right(high) => x <= high,
            Self::Bottom(low) => y >= low,
            Self::Top(high) => y <= high,
        }
    }

    fn crossing(self, from: Point, to: Point) -> Point {
        match self {
            Self::Left(x) | Self::Right(x) => {
                let share = (x - from.0) / (to.0 - from.0);
                (x, from.1 + share * (to.1 - from.1))
            }
            Self::Bottom(y) | Self::Top(y) => {
                let share = (y - from.1) / (to.1 - from.1);
                (from.0 + share * (to.0 - from.0), y)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNIT: Window = Window {
        x: (0.0, 1.0),
        y: (0.0, 1.0),
    };

    #[test]
    fn a_line_that_leaves_and_returns_becomes_two_lines() {
        let zigzag = [(-1.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.8, 2.0), (0.8, 0.5)];
        assert_eq!(
            UNIT.line(&zigzag),
            [
                vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)],
                vec![(0.8, 1.0), (0.8, 0.5)]
            ]
        );
    }

    #[test]
    fn an_area_keeps_the_frame_corner_that_it_covers() {
        let square = [(0.5, 0.5), (2.0, 0.5), (2.0, 2.0), (0.5, 2.0)];
        assert_eq!(
            UNIT.area(&square),
            [(0.5, 1.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0)]
        );
        assert_eq!(UNIT.area(&[(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)]), []);
    }

    proptest! {
        #[test]
        fn clipping_removes_the_outside_and_keeps_the_inside(
            points in prop::collection::vec((-3.0..3.0, -3.0..3.0), 1..20)
        ) {
            let parts = UNIT.line(&points);
            prop_assert!(parts.iter().flatten().all(|&point| UNIT.contains(point)));
            let is_kept = |point: &Point| parts.iter().flatten().any(|kept| kept == point);
            if points.len() > 1 {
                prop_assert!(points.iter().filter(|&&point| UNIT.contains(point)).all(is_kept));
            }
            for (x, y) in UNIT.area(&points) {
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&x) && (-1e-9..=1.0 + 1e-9).contains(&y));
            }
        }
    }
}
