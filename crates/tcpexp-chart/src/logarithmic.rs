//! The values that a logarithmic axis shows, and the number of those that it does not show.

use crate::{AxisStyle, Error};

/// Values smaller than the value at rank 1 % by more than this factor are below the axis: a few values near
/// zero, such as the rounding errors of a difference, would take most of the axis.
const FAR_BELOW: f64 = 1e3;
/// At most one in this many values is below the axis.
const RANK_DIVISOR: usize = 100;

/// Finite values on a logarithmic axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Logarithmic {
    /// The positive values, unsorted.
    positive: Vec<f64>,
    /// Number of values that are zero or less.
    without: usize,
}

impl Logarithmic {
    /// Collects the values if the axis is logarithmic.
    pub(crate) fn on(style: &AxisStyle, values: impl Iterator<Item = f64>) -> Option<Self> {
        style.log.then(|| {
            let mut all = Self::default();
            for value in values.filter(|value| value.is_finite()) {
                if value > 0.0 {
                    all.positive.push(value);
                } else {
                    all.without += 1;
                }
            }
            all
        })
    }

    /// The lower end of the axis and the largest value; an error without a positive value.
    pub(crate) fn range(&self) -> Result<(f64, f64), Error> {
        let mut sorted = self.positive.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let floor = sorted.get(sorted.len() / RANK_DIVISOR);
        let floor = floor.map_or(0.0, |usual| usual / FAR_BELOW);
        let low = sorted.iter().find(|value| **value >= floor);
        low.copied()
            .zip(sorted.last().copied())
            .ok_or(Error::NoPositive)
    }

    /// The range, extended to the `quartiles`. An interpolated quartile is below all drawn values if the value
    /// below it is zero or negative. Quartiles far below the axis do not extend the range.
    pub(crate) fn range_to(
        &self,
        quartiles: impl Iterator<Item = f64>,
    ) -> Result<(f64, f64), Error> {
        let (low, most) = self.range()?;
        let near = quartiles.filter(|quartile| *quartile >= low / FAR_BELOW);
        Ok((near.fold(low, f64::min), most))
    }

    /// The end of the note below the figure: the number of values that the axis of this name does not show. The
    /// `noun` names one of them. A lower end that the user chose needs no note.
    pub(crate) fn words(&self, noun: &str, axis: &str, style: &AxisStyle) -> String {
        let all = self.positive.len() + self.without;
        // A limit that is not above zero is no end of this axis.
        let chosen = style.low.filter(|low| *low > 0.0);
        let below = match (self.range(), chosen) {
            (Ok((low, _)), None) => self.positive.iter().filter(|value| **value < low).count(),
            _ => 0,
        };
        let count = |number: usize, one: &str, several: &str| match number {
            0 => String::new(),
            1 => format!("; 1 of {all} {noun}s {one}"),
            _ => format!("; {number} of {all} {noun}s {several}"),
        };
        let one = format!("is not above zero: the {axis} axis does not show it");
        let several = format!("are not above zero: the {axis} axis does not show them");
        count(self.without, &one, &several)
            + &count(
                below,
                &format!("is far below the {axis} axis"),
                &format!("are far below the {axis} axis"),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: AxisStyle = AxisStyle {
        low: None,
        high: None,
        log: true,
        name: None,
    };

    fn of(values: impl IntoIterator<Item = f64>) -> Logarithmic {
        Logarithmic::on(&LOG, values.into_iter()).unwrap()
    }

    #[test]
    fn an_axis_starts_at_the_smallest_value_above_zero_and_zeros_are_counted() {
        let zeros = of([0.0, -3.0, 2e-3, 5.0, 4e5, f64::NAN]);
        assert_eq!(zeros.range().unwrap(), (2e-3, 4e5));
        assert_eq!(
            zeros.words("value", "vertical", &LOG),
            "; 2 of 5 values are not above zero: the vertical axis does not show them"
        );
        assert_eq!(of([2.0, 5.0]).words("value", "vertical", &LOG), "");
        assert!(Logarithmic::on(&AxisStyle::default(), [1.0].into_iter()).is_none());
    }

    #[test]
    fn a_few_values_far_below_the_others_are_counted_and_not_shown() {
        let values = (0..200).map(|n| if n == 7 { 1e-12 } else { 40.0 + f64::from(n) });
        let far = of(values.collect::<Vec<_>>());
        assert_eq!(far.range().unwrap(), (40.0, 239.0));
        assert_eq!(
            far.words("value", "horizontal", &LOG),
            "; 1 of 200 values is far below the horizontal axis"
        );
        let chosen = AxisStyle {
            low: Some(50.0),
            ..LOG
        };
        assert_eq!(far.words("value", "horizontal", &chosen), "");
        // A logarithmic axis cannot start at zero.
        let zero = AxisStyle {
            low: Some(0.0),
            ..LOG
        };
        assert_eq!(
            far.words("median", "vertical", &zero),
            "; 1 of 200 medians is far below the vertical axis"
        );
        // Each of a few values counts.
        assert_eq!(of([1e-12, 40.0]).range().unwrap(), (1e-12, 40.0));
    }

    #[test]
    fn values_that_are_not_above_zero_have_no_logarithmic_axis() {
        assert_eq!(
            of([0.0, -1.0]).range().unwrap_err().to_string(),
            "no value is above zero, and a logarithmic axis shows no others"
        );
    }
}
