//! The largest rate compared with the smallest.

/// The largest of `rates` divided by the smallest; 1 if all are equal.
///
/// `None` without rates, or if a rate is zero: the ratio is then unbounded, and [`epsilon`] is 1.
pub fn max_min_ratio(rates: &[f64]) -> Option<f64> {
    let (least, most) = min_and_max(rates)?;
    (least > 0.0).then(|| most / least)
}

/// The smallest epsilon for which `rates` are epsilon-fair: 1 - smallest / largest (RFC 5166,
/// section 2.3.1).
///
/// Ranges from 0 (all equal) to 1 (a rate is zero). `None` if all rates are zero.
pub fn epsilon(rates: &[f64]) -> Option<f64> {
    let (least, most) = min_and_max(rates)?;
    (most > 0.0).then(|| 1.0 - least / most)
}

fn min_and_max(rates: &[f64]) -> Option<(f64, f64)> {
    let least = rates.iter().copied().reduce(f64::min)?;
    let most = rates.iter().copied().reduce(f64::max)?;
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_extremes_count() {
        assert_eq!(max_min_ratio(&[2.0, 8.0, 4.0]), Some(4.0));
        assert_eq!(epsilon(&[2.0, 8.0, 4.0]), Some(0.75));
    }

    #[test]
    fn a_starved_flow_has_an_epsilon_and_no_ratio() {
        assert_eq!(max_min_ratio(&[0.0, 8.0]), None);
        assert_eq!(epsilon(&[0.0, 8.0]), Some(1.0));
        assert_eq!(epsilon(&[0.0, 0.0]), None);
        assert_eq!(epsilon(&[]), None);
    }

    proptest! {
        #[test]
        fn ratio_and_epsilon_agree(rates in prop::collection::vec(1.0..1e9_f64, 1..10)) {
            let (ratio, epsilon) = (max_min_ratio(&rates).unwrap(), epsilon(&rates).unwrap());
            prop_assert!(ratio >= 1.0 && (0.0..1.0).contains(&epsilon));
            prop_assert!((ratio * (1.0 - epsilon) - 1.0).abs() < 1e-9);
        }
    }
}
