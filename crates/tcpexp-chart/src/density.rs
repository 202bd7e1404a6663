//! Kernel density estimates.

use crate::quantile::Sorted;

/// Number of points of a drawn density.
const POINTS: usize = 96;
/// Number of bins that a large set of values is counted into before smoothing; a bin is a tenth of
/// the distance of two points, the least bandwidth.
const BINS: usize = 1024;
/// Distance in bandwidths beyond which a value is ignored: the Gaussian is below 0.04 % of its
/// peak.
const REACH: f64 = 4.0;

/// The density of values between the smallest and the largest, as a fraction of its peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// Values from the smallest to the largest, each with its density.
    pub points: Vec<(f64, f64)>,
}

impl Density {
    /// Estimates the density with a Gaussian kernel; `None` without values.
    ///
    /// The bandwidth follows Silverman's rule of thumb (Density Estimation for Statistics and Data
    /// Analysis, 1986, equation 3.31), but is at least the distance of two points of the drawn density:
    /// a narrower peak could be between them.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = Sorted::of(values);
        let (least, most) = (*sorted.values().first()?, *sorted.values().last()?);
        let step = (most - least) / (POINTS - 1) as f64;
        let bandwidth = bandwidth(&sorted)?.max(step);
        if bandwidth <= 0.0 {
            // All values are equal: the density has its full width.
            return Some(Self {
                points: vec![(least, 1.0), (most, 1.0)],
            });
        }
        let bins = counted(sorted.values(), (least, most));
        let points = (0..POINTS).map(|place| {
            let at = (least + step * place as f64).min(most);
            (at, smoothed(&bins, at, bandwidth))
        });
        let points: Vec<(f64, f64)> = points.collect();
        let peak = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let shares = points.into_iter().map(|(at, height)| (at, height / peak));
        Some(Self {
            points: shares.collect(),
        })
    }

    /// Estimates the density of the logarithms of the values above zero, for a logarithmic axis; `None`
    /// without such values.
    ///
    /// An area on the axis is then a share of the values, as on a linear axis: the density per unit of the
    /// values would show a log-normal distribution as skewed.
    pub fn of_logarithms(values: &[f64]) -> Option<Self> {
        let finite = |value: &f64| *value > 0.0 && value.is_finite();
        let positive = || values.iter().copied().filter(finite);
        let logarithms: Vec<f64> = positive().map(f64::ln).collect();
        let points = Self::of(&logarithms)?.points.into_iter();
        // Rounding may put the exponential of an end just outside the values, and so outside the axis.
        let (least, most) = (
            positive().fold(f64::MAX, f64::min),
            positive().fold(0.0, f64::max),
        );
        Some(Self {
            points: points
                .map(|(at, share)| (at.exp().clamp(least, most), share))
                .collect(),
        })
    }
}

fn bandwidth(sorted: &Sorted) -> Option<f64> {
    let values = sorted.values();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // The divisor is 1 for a single value, whose sum of squares is zero.
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let between = (sorted.quantile(0.75)? - sorted.quantile(0.25)?) / 1.34;
    // More than half of the values may be equal, which makes the interquartile range zero.
    let spread = if between > 0.0 {
        deviation.min(between)
    } else {
        deviation
    };
    Some(0.9 * spread * count.powf(-0.2))
}

/// The centres of bins with values, and the number of values in each.
fn counted(sorted: &[f64], (least, most): (f64, f64)) -> Vec<(f64, f64)> {
    let width = (most - least) / BINS as f64;
    let mut bins: Vec<(f64, f64)> = Vec::new();
    for value in sorted {
        // The largest value is at the upper end of the last bin.
        let bin = ((value - least) / width).floor().min((BINS - 1) as f64);
        let middle = least + (bin + 0.5) * width;
        match bins.last_mut() {
            // Values ascend, so a value is in the last bin or begins a new one.
            Some((known, count)) if (*known - middle).abs() < width / 2.0 => *count += 1.0,
            _ => bins.push((middle, 1.0)),
        }
    }
    bins
}

fn smoothed(bins: &[(f64, f64)], at: f64, bandwidth: f64) -> f64 {
    let near = bins
        .iter()
        .map(|(middle, count)| ((middle - at) / bandwidth, count))
        .filter(|(distance, _)| distance.abs() <= REACH);
    // The constant factor of the Gaussian is left out, as the density is scaled to its peak.
    near.map(|(distance, count)| count * (-distance * distance / 2.0).exp())
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_density_peaks_where_most_values_are() {
        let values: Vec<f64> = (0..1000)
            .map(|n| f64::from(n % 10) * f64::from(n % 7))
            .collect();
        let density = Density::of(&values).unwrap();
        let peak = density
            .points
            .iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        assert!(peak.0 < 10.0, "{peak:?}");
        assert_eq!(
            Density::of(&[5.0, 5.0]).unwrap().points,
            [(5.0, 1.0), (5.0, 1.0)]
        );
        assert_eq!(Density::of(&[]), None);
    }

    #[test]
    fn a_distribution_that_is_symmetric_in_its_logarithms_has_a_symmetric_density() {
        // Powers of ten from 0.01 to 100, most of them near 1.
        let values: Vec<f64> = (-50_i32..=50)
            .flat_map(|step| {
                vec![10_f64.powf(f64::from(step) / 25.0); 51 - step.unsigned_abs() as usize]
            })
            .chain([0.0, -1.0])
            .collect();
        let density = Density::of_logarithms(&values).unwrap();
        let [(first, _), .., (last, _)] = density.points[..] else {
            panic!("{density:?}");
        };
        assert!((first - 0.01).abs() < 1e-9 && (last - 100.0).abs() < 1e-6);
        for (low, high) in density.points.iter().zip(density.points.iter().rev()) {
            assert!((low.1 - high.1).abs() < 0.02, "{low:?} {high:?}");
        }
        let peak = density.points.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        assert!((0.8..1.25).contains(&peak.unwrap().0), "{peak:?}");
        assert_eq!(Density::of_logarithms(&[0.0, -1.0]), None);
    }

    #[test]
    fn narrow_peaks_of_a_wide_range_have_their_shares() {
        // 1 % of the values are far from the others, which vary by far less than a point of the density.
        let values: Vec<f64> = (0..10_000)
            .map(|n| if n % 100 == 0 { 1000.0 } else { 40.5 } + f64::from(n % 7) * 1e-3)
            .collect();
        let density = Density::of(&values).unwrap();
        let [first, .., last] = &density.points[..] else {
            panic!("{density:?}");
        };
        assert!((0.9..=1.0).contains(&first.1), "{first:?}");
        assert!((0.005..0.02).contains(&last.1), "{last:?}");
        assert!(density.points.iter().all(|point| point.1.is_finite()));
    }

    proptest! {
        #[test]
        fn a_density_spans_the_values_and_peaks_at_one(
            values in prop::collection::vec(-1e3..1e3, 2..300)
        ) {
            let density = Density::of(&values).unwrap();
            let sorted = Sorted::of(&values);
            let (first, last) = (density.points[0], density.points[density.points.len() - 1]);
            prop_assert!((first.0 - sorted.values()[0]).abs() < 1e-9);
            prop_assert!((last.0 - sorted.values()[values.len() - 1]).abs() < 1e-6);
            prop_assert!(first.0 >= sorted.values()[0] && last.0 <= sorted.values()[values.len() - 1]);
            prop_assert!(density.points.iter().all(|point| (0.0..=1.0).contains(&point.1)));
            prop_assert!(density.points.iter().any(|point| point.1 > 1.0 - 1e-9));
        }

        #[test]
        fn a_density_of_logarithms_ends_within_the_values(
            values in prop::collection::vec(1e-9..1e9, 1..20)
        ) {
            let density = Density::of_logarithms(&values).unwrap();
            let sorted = Sorted::of(&values);
            let ends = sorted.values()[0]..=sorted.values()[values.len() - 1];
            prop_assert!(density.points.iter().all(|point| ends.contains(&point.0)));
        }
    }
}
