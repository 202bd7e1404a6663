//! What an axis shows: a range, ticks at round values, and a unit.

use tcpexp_units::TimeDelta;

/// One axis: values from `low` to `high` and the ticks between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis with at most `most_ticks` ticks, at multiples of 1, 2 or 5 times a power of ten.
    pub(crate) fn new(name: impl Into<String>, (low, high): (f64, f64), most_ticks: u32) -> Self {
        let (step, decimals) = nice_step((high - low) / f64::from(most_ticks));
        let first = (low / step).ceil();
        // A step is at least a `most_ticks`-th of the range, so no more of them fit.
        let ticks = (0..=most_ticks)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|&value| value <= high + step * 1e-6)
            // The sum turns a negative zero into a zero.
            .map(|value| (value, with_minus(&format!("{:.decimals$}", value + 0.0))))
            .collect();
        Self {
            name: name.into(),
            low,
            high,
            ticks,
        }
    }

    /// Where `value` is, as a fraction of the axis.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// The smallest round step that is not below `least`, and the decimals its multiples need.
fn nice_step(least: f64) -> (f64, usize) {
    // Times are nanoseconds in an i64, so in any unit a step is between these.
    let (smallest, largest) = (-12, 20);
    for exponent in smallest..largest {
        let power = 10_f64.powi(exponent);
        for step in [power, 2.0 * power, 5.0 * power] {
            if step >= least * 0.999_999 {
                return (step, usize::try_from(-exponent).unwrap_or(0));
            }
        }
    }
    (10_f64.powi(largest), 0)
}

/// The range an axis of times shows for values between `least` and `most`.
///
/// From zero, so that heights compare, unless the values differ by so little that zero would hide
/// how; with some air at the ends that are not zero.
pub(crate) fn range(least: f64, most: f64) -> (f64, f64) {
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

/// The unit of the delays in one chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Micros,
    Millis,
    Seconds,
}

impl Unit {
    /// Milliseconds, unless all values are below one or above ten seconds; as in the tables.
    pub(crate) fn of(least: TimeDelta, most: TimeDelta) -> Self {
        if least > TimeDelta::from_seconds(10) {
            Self::Seconds
        } else if most.max(least.abs()) < TimeDelta::from_millis(1) {
            Self::Micros
        } else {
            Self::Millis
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::Seconds => "s",
        }
    }

    pub(crate) fn value(self, span: TimeDelta) -> f64 {
        let nanos = match self {
            Self::Micros => 1e3,
            Self::Millis => 1e6,
            Self::Seconds => 1e9,
        };
        span.as_nanos() as f64 / nanos
    }

    /// With three significant digits: `83.2 ms`.
    pub(crate) fn show(self, span: TimeDelta) -> String {
        let value = self.value(span);
        let decimals = match value.abs() {
            0.0..0.9995 => 3,
            0.9995..9.995 => 2,
            9.995..99.95 => 1,
            _ => 0,
        };
        with_minus(&format!("{value:.decimals$} {}", self.name()))
    }
}

/// The sign as it is printed, not the hyphen that stands for it on keyboards.
fn with_minus(number: &str) -> String {
    number.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(low: f64, high: f64, most_ticks: u32) -> String {
        let axis = Axis::new("", (low, high), most_ticks);
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
    fn values_of_one_size_have_an_axis() {
        assert_eq!(range(40.0, 40.0), (0.0, 42.0));
        assert_eq!(range(-40.0, -40.0), (-42.0, 0.0));
        assert_eq!(range(0.0, 0.0), (0.0, 1.0));
    }

    #[test]
    fn a_median_has_three_significant_digits() {
        let shown = [83_207, 127_000, 47_380, 4_999, -92]
            .map(|micros| Unit::Millis.show(TimeDelta::from_micros(micros)));
        assert_eq!(
            shown,
            ["83.2 ms", "127 ms", "47.4 ms", "5.00 ms", "−0.092 ms"]
        );
    }

    proptest! {
        #[test]
        fn any_range_has_ticks_inside(low in any::<i64>(), high in any::<i64>(), most_ticks in 1_u32..20) {
            let (low, high) = range(low.min(high) as f64 / 1e6, low.max(high) as f64 / 1e6);
            prop_assert!(low < high);
            let axis = Axis::new("", (low, high), most_ticks);
            prop_assert!(axis.ticks.len() <= most_ticks as usize + 1);
            for (value, label) in axis.ticks {
                prop_assert!((-1e-6..=1.0 + 1e-6).contains(&((value - low) / (high - low))), "{label}");
            }
        }
    }
}
