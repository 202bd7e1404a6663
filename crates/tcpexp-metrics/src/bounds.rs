//! Numbers known only within bounds, such as the duration of a transfer that the capture's end cut off.

use crate::quantile::quantile;

/// Smallest and largest possible value of a number; equal if it is known.
///
/// Infinite bounds stand for an event that did not happen: a known number may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest possible value.
    pub least: f64,
    /// Largest possible value.
    pub most: f64,
}

impl Bounds {
    /// A known number.
    pub const fn known(value: f64) -> Self {
        Self {
            least: value,
            most: value,
        }
    }

    /// A number without an upper bound.
    pub const fn at_least(least: f64) -> Self {
        Self {
            least,
            most: f64::INFINITY,
        }
    }

    /// The number; `None` unless it is known.
    pub fn value(self) -> Option<f64> {
        // Bounds are results of the same operations, so known numbers have equal bits.
        self.least
            .total_cmp(&self.most)
            .is_eq()
            .then_some(self.least)
    }

    /// True if the number is known.
    pub fn is_known(self) -> bool {
        self.value().is_some()
    }

    /// Applies a non-decreasing function to both bounds.
    pub(crate) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            least: of(self.least),
            most: of(self.most),
        }
    }
}

/// Quantiles of `values` at each of `shares`; `None` without values.
///
/// A quantile never falls if a value rises, so its bounds are the quantiles of the values' bounds: it is
/// known if it is the same for all possible values.
pub fn bounded_percentiles<const N: usize>(
    values: &[Bounds],
    shares: [f64; N],
) -> Option<[Bounds; N]> {
    let sorted = |bound: fn(&Bounds) -> f64| {
        let mut numbers: Vec<f64> = values.iter().map(bound).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        numbers
    };
    let (least, most) = (sorted(|value| value.least), sorted(|value| value.most));
    let mut found = [Bounds::known(0.0); N];
    for (place, share) in found.iter_mut().zip(shares) {
        *place = Bounds {
            least: quantile(&least, share)?,
            most: quantile(&most, share)?,
        };
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quantile_is_known_if_no_possible_value_changes_it() {
        let median = |values: &[Bounds]| bounded_percentiles(values, [0.5]).unwrap()[0];
        let (short, long) = (Bounds::known(1.0), Bounds::known(9.0));
        // At least 5: above the median of 1 and 2 and itself, wherever it ends.
        let cut = Bounds::at_least(5.0);
        assert_eq!(median(&[short, Bounds::known(2.0), cut]).value(), Some(2.0));
        // The cut one may end before 9 or after it.
        assert_eq!(
            median(&[short, long, cut]),
            Bounds {
                least: 5.0,
                most: 9.0
            }
        );
        assert_eq!(median(&[short, cut, cut]), cut);
        assert_eq!(bounded_percentiles(&[], [0.5]), None);
    }

    proptest! {
        #[test]
        fn the_quantile_of_possible_values_lies_within_its_bounds(
            drawn in prop::collection::vec((0.0..100.0_f64, any::<bool>(), 0.0..100.0_f64), 1..20),
            share in 0.0..=1.0_f64,
        ) {
            let bounds = drawn.iter().map(|(least, is_cut, _)| {
                if *is_cut { Bounds::at_least(*least) } else { Bounds::known(*least) }
            });
            let bounds: Vec<Bounds> = bounds.collect();
            let mut possible: Vec<f64> = drawn
                .iter()
                .map(|(least, is_cut, more)| if *is_cut { least + more } else { *least })
                .collect();
            possible.sort_unstable_by(f64::total_cmp);
            let value = quantile(&possible, share).unwrap();
            let [found] = bounded_percentiles(&bounds, [share]).unwrap();
            prop_assert!(found.least <= value + 1e-9 && value <= found.most + 1e-9, "{found:?} {value}");
        }
    }
}
