//! Jain's fairness index.

use crate::repetition::median;

/// A window counts as fair from this index on: two flows then differ by less than a factor of two.
const FAIR: f64 = 0.9;

/// Jain's fairness index of `rates`: the square of their sum over their number times the sum of
/// their squares (Jain, Chiu, Hawe 1984; RFC 5166, section 2.3.1).
///
/// From 1/n, where one flow has all, to 1, where all have the same. It knows nothing of what flows
/// wanted: one with little to send makes it low. `None` if no flow got anything.
pub fn jain(rates: &[f64]) -> Option<f64> {
    // Scaled first: squares of tiny or huge rates leave the range of a float.
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

/// Jain's index of how much of what it is entitled to each flow got: pairs of a rate and the share
/// it is held against, both in one unit (RFC 5166, section 2.3.2).
///
/// `None` if no flow got anything, or one is entitled to nothing.
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

/// Jain's index in each of many windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JainWindows {
    /// The lowest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The share of windows with an index of 0.9 and more.
    pub fair_share: f64,
}

/// Jain's index of `windows`, each with the rates of all flows. Those in which no flow got anything
/// have none and are not counted; `None` if there is no other.
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
    fn the_index_of_few_rates_is_that_of_the_formula() {
        // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9))
        assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain(&[7.0]), Some(1.0));
        assert_eq!(jain(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // Nine tenths is where one of two flows has twice as much as the other.
        assert_eq!(jain(&[1.0, 2.0]), Some(0.9));
    }

    #[test]
    fn nothing_for_anyone_is_neither_fair_nor_unfair() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn flows_that_get_what_they_are_entitled_to_are_treated_fairly() {
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
        fn the_index_lies_between_one_nth_and_one(rates in rates()) {
            if let Some(index) = jain(&rates) {
                let least = 1.0 / rates.len() as f64;
                prop_assert!(index >= least * (1.0 - 1e-12) && index <= 1.0 + 1e-12, "{index}");
            }
        }

        #[test]
        fn the_unit_does_not_matter(rates in rates(), exponent in -100_i32..100) {
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * 2_f64.powi(exponent)).collect();
            prop_assert_eq!(jain(&scaled), jain(&rates));
        }

        #[test]
        fn the_order_does_not_matter(mut rates in rates()) {
            let index = jain(&rates);
            rates.reverse();
            let reversed = jain(&rates);
            let close = index.zip(reversed).is_none_or(|(a, b)| (a - b).abs() < 1e-12);
            prop_assert!(close && index.is_some() == reversed.is_some());
        }

        #[test]
        fn equal_shares_are_fair(rate in 1.0..1e10_f64, flows in 1_usize..50) {
            let index = jain(&vec![rate; flows]).unwrap();
            prop_assert!((index - 1.0).abs() < 1e-12);
        }

        #[test]
        fn taking_from_the_rich_makes_it_fairer(
            low in 1.0..1e6_f64, gap in 1.0..1e6_f64, part in 0.01..0.49_f64, other in 0.0..1e6_f64,
        ) {
            let high = low + gap;
            let before = jain(&[low, high, other]).unwrap();
            let after = jain(&[low + gap * part, high - gap * part, other]).unwrap();
            prop_assert!(after >= before - 1e-12);
        }
    }
}
