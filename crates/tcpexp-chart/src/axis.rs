//! Axes: a range of values or a list of slots, with labelled ticks.

use crate::style::AxisStyle;

/// One axis: values from `low` to `high` and the ticks between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) ticks: Vec<(f64, String)>,
    pub(crate) scale: Scale,
    /// Rows of names, each name for a group of adjacent slots.
    pub(crate) bands: Vec<BandRow>,
    /// Name and unit of each row of bands.
    pub(crate) band_names: Vec<String>,
}

/// Number of slots of each band, and its name: in full, shortened, and at its shortest.
pub type BandRow = Vec<(usize, [String; 3])>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Logarithmic.
    Log,
    /// Slots centred on whole numbers from 0.
    Slots,
}

/// An axis whose number of ticks is not yet known.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisSpec {
    /// Name beside the axis.
    pub name: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    scale: Scale,
    slots: Vec<String>,
    bands: Vec<BandRow>,
    band_names: Vec<String>,
}

impl AxisSpec {
    /// An axis for values in `range`, unless `style` sets limits.
    ///
    /// On a logarithmic axis, a lower end that is not positive becomes a thousandth of the upper
    /// end.
    pub fn values(name: impl Into<String>, range: (f64, f64), style: &AxisStyle) -> Self {
        let (mut low, mut high) = range;
        if style.log {
            high = if high > 0.0 { high } else { 1.0 };
            low = if low > 0.0 { low } else { high / 1e3 };
        }
        // A limit of zero or below has no logarithm, so the range of the data stays.
        if let Some(given) = style.low.filter(|low| !style.log || *low > 0.0) {
            low = given;
        }
        if let Some(given) = style.high.filter(|high| !style.log || *high > 0.0) {
            high = given;
        }
        if high <= low {
            // `style` sets one limit, and all data is beyond it.
            high = low + low.abs().max(1.0);
        }
        Self {
            name: style.name.clone().unwrap_or_else(|| name.into()),
            low,
            high,
            scale: if style.log { Scale::Log } else { Scale::Linear },
            slots: Vec::new(),
            bands: Vec::new(),
            band_names: Vec::new(),
        }
    }

    /// An axis with one slot per name, and rows of bands that group adjacent slots, inner rows
    /// first.
    pub fn slots(
        name: impl Into<String>,
        slots: Vec<String>,
        bands: Vec<BandRow>,
        style: &AxisStyle,
    ) -> Self {
        Self {
            name: style.name.clone().unwrap_or_else(|| name.into()),
            low: -0.5,
            high: slots.len() as f64 - 0.5,
            scale: Scale::Slots,
            slots,
            bands,
            band_names: Vec::new(),
        }
    }

    /// The axis with these names and units of the rows of bands, which follow its name if the bands have no
    /// room for them.
    #[must_use]
    pub fn in_bands_of(self, band_names: Vec<String>) -> Self {
        Self { band_names, ..self }
    }

    /// The names of the slots.
    pub(crate) fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.slots.iter_mut()
    }

    /// Number of slots; 0 for an axis of values.
    pub(crate) fn slot_count(&self) -> i32 {
        i32::try_from(self.slots.len()).unwrap_or(i32::MAX)
    }

    /// The axis with at most `most_ticks` ticks; an axis of slots has one tick per slot.
    pub(crate) fn axis(&self, most_ticks: u32) -> Axis {
        let ticks = match self.scale {
            Scale::Linear => linear_ticks((self.low, self.high), most_ticks),
            Scale::Log => log_ticks((self.low, self.high), most_ticks),
            Scale::Slots => (0..).map(f64::from).zip(self.slots.clone()).collect(),
        };
        Axis {
            name: self.name.clone(),
            low: self.low,
            high: self.high,
            ticks,
            scale: self.scale,
            bands: self.bands.clone(),
            band_names: self.band_names.clone(),
        }
    }
}

impl Axis {
    /// Position of `value`, as a fraction of the axis. Zero and numbers below it are infinitely far
    /// below a logarithmic axis.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log if value <= 0.0 => f64::NEG_INFINITY,
            Scale::Linear | Scale::Slots => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks((low, high): (f64, f64), most_ticks: u32) -> Vec<(f64, String)> {
    let (step, decimals) = nice_step((high - low) / f64::from(most_ticks));
    let first = (low / step).ceil();
    // A step is at least 1/`most_ticks` of the range, so no further ticks fit.
    (0..=most_ticks)
        .map(|index| (first + f64::from(index)) * step)
        // Rounding may put the last multiple just above the end of the axis.
        .take_while(|&value| value <= high + step * 1e-6)
        // Adding 0.0 turns a negative zero into zero.
        .map(|value| (value, with_minus(&format!("{:.decimals$}", value + 0.0))))
        .collect()
}

/// Ticks at 1, 2 and 5 times the powers of ten, at 1 and 3 times, or at the powers: the densest
/// choice that fits.
fn log_ticks((low, high): (f64, f64), most_ticks: u32) -> Vec<(f64, String)> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float has few powers of ten"
    )]
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let at = |factors: &[i32], every: usize| -> Vec<(f64, String)> {
        let values = powers.clone().step_by(every).flat_map(|power| {
            factors.iter().map(move |&factor| {
                let value = f64::from(factor) * 10_f64.powi(power);
                let decimals = usize::try_from(-power).unwrap_or(0);
                (value, format!("{value:.decimals$}"))
            })
        });
        values
            // A computed power of ten may be a rounding error outside the axis.
            .filter(|(value, _)| (low * 0.999_999..=high * 1.000_001).contains(value))
            .collect()
    };
    let fits = |ticks: &Vec<(f64, String)>| ticks.len() <= most_ticks as usize + 1;
    let dense = [&[1, 2, 5][..], &[1, 3], &[1]].map(|factors| at(factors, 1));
    let sparse = (2..40).map(|every| at(&[1], every));
    let mut all = dense.into_iter().chain(sparse);
    let chosen = all.find(fits).unwrap_or_default();
    // An axis from 40 to 48 has no such tick, and a scale is readable only from two ticks on.
    if chosen.len() > 1 {
        chosen
    } else {
        linear_ticks((low, high), most_ticks)
    }
}

/// The smallest round step of at least `least`, and the number of decimals of its multiples.
fn nice_step(least: f64) -> (f64, usize) {
    // Times are nanoseconds in an i64, so in any unit a step is within these powers of ten.
    let (smallest, largest) = (-12, 20);
    for exponent in smallest..largest {
        let power = 10_f64.powi(exponent);
        for step in [power, 2.0 * power, 5.0 * power] {
            // The division by the number of ticks may put `least` just above a round step.
            if step >= least * 0.999_999 {
                return (step, usize::try_from(-exponent).unwrap_or(0));
            }
        }
    }
    (10_f64.powi(largest), 0)
}

/// The range of a linear axis for values between `least` and `most`.
///
/// The range starts at zero, so that heights compare, unless the values differ too little to be
/// visible from zero. Ends other than zero have a margin of 5 %.
pub fn range(least: f64, most: f64) -> (f64, f64) {
    // Values within 0.1 % of each other count as equal, and their axis starts at zero too.
    let from_zero = least >= 0.0 && (most - least < most * 1e-3 || most - least > most * 0.3);
    let low = if from_zero { 0.0 } else { least };
    let high = if most < 0.0 && most - least < -least * 1e-3 {
        0.0
    } else {
        most
    };
    let air = if high > low { (high - low) * 0.05 } else { 1.0 };
    let low = if low == 0.0 { 0.0 } else { low - air };
    let high = if high == 0.0 && low < 0.0 {
        0.0
    } else {
        high + air
    };
    (low, high)
}

/// Replaces the hyphen by the minus sign.
pub(crate) fn with_minus(number: &str) -> String {
    number.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(low: f64, high: f64, most_ticks: u32) -> String {
        let style = AxisStyle::default();
        let axis = AxisSpec::values("", (low, high), &style).axis(most_ticks);
        axis.ticks
            .into_iter()
            .map(|(_, label)| label)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn ticks_are_at_round_values() {
        insta::assert_snapshot!(labels(0.0, 30.5, 8), @r"0 5 10 15 20 25 30");
        insta::assert_snapshot!(labels(0.0, 1.0, 5), @r"0.0 0.2 0.4 0.6 0.8 1.0");
        insta::assert_snapshot!(labels(195.8, 204.4, 5), @r"196 198 200 202 204");
        insta::assert_snapshot!(labels(-12.5, 10.4, 5), @r"−10 −5 0 5 10");
        insta::assert_snapshot!(labels(0.0, 0.000_7, 4), @r"0.0000 0.0002 0.0004 0.0006");
        insta::assert_snapshot!(labels(0.0, 36_000.0, 8), @r"0 5000 10000 15000 20000 25000 30000 35000");
    }

    #[test]
    fn a_time_axis_starts_at_zero_unless_that_hides_the_differences() {
        assert_eq!(range(40.0, 120.0), (0.0, 126.0));
        assert_eq!(range(200.0, 204.0), (199.8, 204.2));
        assert_eq!(range(-10.0, 10.0), (-11.0, 11.0));
    }

    #[test]
    fn equal_values_have_an_axis() {
        assert_eq!(range(40.0, 40.0), (0.0, 42.0));
        assert_eq!(range(-40.0, -40.0), (-42.0, 0.0));
        assert_eq!(range(0.0, 0.0), (0.0, 1.0));
    }

    #[test]
    fn a_logarithmic_axis_has_round_ticks_too() {
        let labels = |low, high, most_ticks| {
            let style = AxisStyle {
                log: true,
                ..AxisStyle::default()
            };
            let axis = AxisSpec::values("", (low, high), &style).axis(most_ticks);
            let labels = axis.ticks.into_iter().map(|(_, label)| label);
            labels.collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(labels(1.0, 250.0, 8), @"1 2 5 10 20 50 100 200");
        insta::assert_snapshot!(labels(0.01, 100.0, 5), @r"0.01 0.1 1 10 100");
        insta::assert_snapshot!(labels(1e-9, 1e9, 5), @r"0.000000001 0.00001 0.1 1000 10000000");
        insta::assert_snapshot!(labels(40.0, 48.0, 5), @"40 42 44 46 48");
        insta::assert_snapshot!(labels(-1.0, 100.0, 5), @r"0.1 1 10 100");
    }

    proptest! {
        #[test]
        fn any_range_has_ticks_inside(low in any::<i64>(), high in any::<i64>(), most_ticks in 1_u32..20) {
            let (low, high) = range(low.min(high) as f64 / 1e6, low.max(high) as f64 / 1e6);
            prop_assert!(low < high);
            let axis = AxisSpec::values("", (low, high), &AxisStyle::default()).axis(most_ticks);
            prop_assert!(axis.ticks.len() <= most_ticks as usize + 1);
            for (value, label) in axis.ticks {
                prop_assert!((-1e-6..=1.0 + 1e-6).contains(&((value - low) / (high - low))), "{label}");
            }
        }
    }
}
