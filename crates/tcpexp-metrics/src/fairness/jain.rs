//! Jain's fairness index.

use crate::quantile::median;

/// A window counts as fair from this index on. For two flows, 0.9 is a rate ratio of exactly two
/// (see the test of the formula).
const FAIR: f64 = 0.9;

/// Jain's fairness index of `rates`: the square of their sum over their number times the sum of
/// their squares (Jain, Chiu, Hawe 1984; RFC 5166, section 2.3.1).
///
/// Ranges from 1/n (one flow takes everything) to 1 (all rates are equal). The index ignores demand:
/// a flow with little to send lowers it. `None` if all rates are zero.
pub fn jain(rates: &[f64]) -> Option<f64> {
    // Scale first: squares of tiny or huge rates would leave the range of a float.
    let largest = rates.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for rate in rates {
        let share = rate / largest;
        sum += share;
        squares += share * share;
    }
    Some(sum * sum / (rates.len() as f64 * squares))
}

/// Jain's index of rates relative to entitlements: each pair is a flow's rate and the rate that it is
/// entitled to, in one unit (RFC 5166, section 2.3.2).
///
/// `None` if all rates are zero or an entitlement is zero.
pub fn weighted_jain(rates: &[(f64, f64)]) -> Option<f64> {
    if rates.iter().any(|(_, entitled)| *entitled <= 0.0) {
        return None;
    }
    let shares: Vec<f64> = rates
        .iter()
        .map(|(rate, entitled)| rate / entitled)
        .collect();
    jain(&shares)
}

/// The distribution of Jain's index over time windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JainWindows {
    /// Smallest index of all windows.
    pub min: f64,
    /// Median index.
    pub median: f64,
    /// Share of the windows with an index of at least 0.9, from 0 to 1.
    pub fair_share: f64,
}

/// Jain's index of each window, summarised. A window holds the rates of all flows.
///
/// Windows without traffic have no index and do not count. `None` if no window has traffic.
pub fn jain_windows(windows: &[Vec<f64>]) -> Option<JainWindows> {
    let indices: Vec<f64> = windows.iter().filter_map(|rates| jain(rates)).collect();
    let fair = indices.iter().filter(|index| **index >= FAIR).count();
    Some(JainWindows {
        min: indices.iter().copied().reduce(f64::min)?,
        median: median(&indices)?,
        fair_share: fair as f64 / indices.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn index_of_small_examples_follows_the_formula() {
        // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9))
        assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain(&[7.0]), Some(1.0));
        assert_eq!(jain(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // Two flows whose rates differ by a factor of two.
        assert_eq!(jain(&[1.0, 2.0]), Some(0.9));
    }

    #[test]
    fn all_zero_rates_have_no_index() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn flows_that_get_their_entitlement_have_an_index_of_one() {
        assert_eq!(weighted_jain(&[(1.0, 2.0), (4.0, 8.0)]), Some(1.0));
        // Shares of 1 and 1/2: (3/2)^2 / (2 * 5/4).
        assert_eq!(weighted_jain(&[(2.0, 2.0), (4.0, 8.0)]), Some(0.9));
        assert_eq!(weighted_jain(&[(2.0, 2.0), (4.0, 0.0)]), None);
    }

    #[test]
    fn windows_without_traffic_have_no_index() {
        let windows = [
            vec![1.0, 1.0],
            vec![0.0, 0.0],
            vec![1.0, 0.0],
            vec![1.0, 2.0],
        ];
        let expected = JainWindows {
            min: 0.5,
            median: 0.9,
            fair_share: 2.0 / 3.0,
        };
        assert_eq!(jain_windows(&windows), Some(expected));
        assert_eq!(jain_windows(&[vec![0.0]]), None);
    }

    fn rates() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.0..1e10_f64, 1..20)
    }

    proptest! {
        #[test]
        fn index_lies_between_one_nth_and_one(rates in rates()) {
            if let Some(index) = jain(&rates) {
                let least = 1.0 / rates.len() as f64;
                prop_assert!(index >= least * (1.0 - 1e-12) && index <= 1.0 + 1e-12, "{index}");
            }
        }

        #[test]
        fn index_does_not_depend_on_the_unit(rates in rates(), exponent in -100_i32..100) {
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * 2_f64.powi(exponent)).collect();
            prop_assert_eq!(jain(&scaled), jain(&rates));
        }

        #[test]
        fn index_does_not_depend_on_the_order(
            (rates, shuffled) in rates().prop_flat_map(|rates| (Just(rates.clone()), Just(rates).prop_shuffle())),
        ) {
            let (index, of_shuffled) = (jain(&rates), jain(&shuffled));
            let close = index.zip(of_shuffled).is_none_or(|(a, b)| (a - b).abs() < 1e-12);
            prop_assert!(close && index.is_some() == of_shuffled.is_some());
        }

        #[test]
        fn equal_rates_have_an_index_of_one(rate in 1.0..1e10_f64, flows in 1_usize..50) {
            let index = jain(&vec![rate; flows]).unwrap();
            prop_assert!((index - 1.0).abs() < 1e-12);
        }

        #[test]
        fn transfer_from_a_larger_to_a_smaller_rate_raises_the_index(
            low in 1.0..1e6_f64, gap in 1.0..1e6_f64, part in 0.01..0.49_f64, other in 0.0..1e6_f64,
        ) {
            let high = low + gap;
            let before = jain(&[low, high, other]).unwrap();
            let after = jain(&[low + gap * part, high - gap * part, other]).unwrap();
            prop_assert!(after >= before - 1e-12);
        }
    }
}
