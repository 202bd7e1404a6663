//! Mean and spread of points in the plane.

use crate::clip::Point;

/// Number of corners of a drawn ellipse.
const CORNERS: u32 = 180;

/// The least share of the variance that the other coordinate does not explain, `1 − ρ²`. Points on a line, such
/// as any two, have an ellipse without an area: a line, which looks like a trend.
const MIN_UNEXPLAINED: f64 = 1e-6;

/// The mean and the covariance of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// The mean.
    pub middle: Point,
    variance: (f64, f64),
    covariance: f64,
}

impl Scatter {
    /// Computes mean and covariance; `None` without points. The sample covariance of a single point
    /// is zero.
    pub fn of(points: &[Point]) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let count = points.len() as f64;
        let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
        let middle = (sum(&|point| point.0) / count, sum(&|point| point.1) / count);
        let around = |of: &dyn Fn(&Point) -> f64| sum(of) / (count - 1.0).max(1.0);
        Some(Self {
            middle,
            variance: (
                around(&|point| (point.0 - middle.0).powi(2)),
                around(&|point| (point.1 - middle.1).powi(2)),
            ),
            covariance: around(&|point| (point.0 - middle.0) * (point.1 - middle.1)),
        })
    }

    /// The ellipse of the points at a Mahalanobis distance of one from the mean; `None` if all points are on
    /// one line.
    pub fn ellipse(&self) -> Option<Vec<Point>> {
        let product = self.variance.0 * self.variance.1;
        // Also false without a variance, which is 0 / 0.
        let has_area = 1.0 - self.covariance.powi(2) / product > MIN_UNEXPLAINED;
        if !has_area {
            return None;
        }
        let [major, minor] = self.axes();
        let corner = |corner: u32| {
            let angle = f64::from(corner) * std::f64::consts::TAU / f64::from(CORNERS);
            let (sin, cos) = angle.sin_cos();
            (
                self.middle.0 + cos * major.0 + sin * minor.0,
                self.middle.1 + cos * major.1 + sin * minor.1,
            )
        };
        Some((0..CORNERS).map(corner).collect())
    }

    /// Eigenvectors of the covariance, with the square roots of their eigenvalues as lengths.
    fn axes(&self) -> [Point; 2] {
        let (a, b, c) = (self.variance.0, self.covariance, self.variance.1);
        // The matrix [[a, b], [b, c]] has its major axis at tan 2φ = 2b / (a - c), and the
        // eigenvalues (a + c) / 2 ± √(((a - c) / 2)² + b²).
        let angle = 0.5 * (2.0 * b).atan2(a - c);
        let (sin, cos) = angle.sin_cos();
        let middle = f64::midpoint(a, c);
        let half = ((a - c) / 2.0).hypot(b);
        // For points on a line, the smaller eigenvalue is zero, or negative because of rounding.
        let [long, short] = [middle + half, middle - half].map(|value| value.max(0.0).sqrt());
        [(long * cos, long * sin), (-short * sin, short * cos)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn points_on_one_line_have_a_mean_and_no_ellipse() {
        for points in [
            &[(0.0, 0.0), (2.0, 4.0), (4.0, 8.0)][..],
            &[(0.0, 3.0), (5.0, 3.0), (4.0, 3.0)],
            &[(0.0, 0.0), (2.0, 4.0)],
            &[(1.0, 1.0)],
        ] {
            let scatter = Scatter::of(points).unwrap();
            assert_eq!(scatter.ellipse(), None, "{points:?}");
        }
        let middle = Scatter::of(&[(0.0, 0.0), (2.0, 4.0)]).unwrap().middle;
        assert_eq!(middle, (1.0, 2.0));
        assert_eq!(Scatter::of(&[]), None);
    }

    proptest! {
        #[test]
        fn each_vertex_is_one_standard_deviation_away(
            points in prop::collection::vec((-100.0..100.0, -100.0..100.0), 4..50)
        ) {
            let scatter = Scatter::of(&points).unwrap();
            let (a, b, c) = (scatter.variance.0, scatter.covariance, scatter.variance.1);
            let determinant = a * c - b * b;
            prop_assume!(determinant > 1e-3 * a * c);
            for (x, y) in scatter.ellipse().unwrap() {
                let (x, y) = (x - scatter.middle.0, y - scatter.middle.1);
                // The Mahalanobis distance.
                let distance = (c * x * x - 2.0 * b * x * y + a * y * y) / determinant;
                prop_assert!((distance - 1.0).abs() < 1e-6, "{}", distance);
            }
        }
    }
}
