//! Relative rate of two clocks.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::TimeDelta;

/// Rate error of one clock against another in parts per trillion; a positive skew runs fast.
///
/// Host crystals differ by some 10 ppm, and one minute of capture measures the difference to better
/// than one part in a billion. Parts per trillion keep that precision in an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skew(i64);

impl Skew {
    /// Both clocks run at the same rate.
    pub const NONE: Self = Self(0);

    /// A skew of `ppt` parts per trillion.
    pub const fn from_ppt(ppt: i64) -> Self {
        Self(ppt)
    }

    /// Parts per trillion.
    pub const fn as_ppt(self) -> i64 {
        self.0
    }

    /// Parts per million, for printed text.
    pub fn as_ppm_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the excess time that a clock with this skew shows after it has advanced by `span`.
    ///
    /// Exact to half a nanosecond; saturates.
    pub fn gained(self, span: TimeDelta) -> TimeDelta {
        // `span` is measured on the fast clock itself: of (1 + s) seconds shown, s are excess.
        const TRILLION: i128 = 1_000_000_000_000;
        let product = i128::from(span.as_nanos()) * i128::from(self.0);
        let whole = TRILLION + i128::from(self.0);
        if whole <= 0 {
            return TimeDelta::ZERO;
        }
        let rounded = (product + product.signum() * whole / 2) / whole;
        TimeDelta::from_nanos(i64::try_from(rounded).unwrap_or(if rounded < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }
}

/// Prints parts per million: `+12.345 ppm`.
impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.3} ppm", self.as_ppm_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_gains_its_skew_times_the_true_span() {
        let fast = Skew::from_ppt(200_000_000);
        let shown = TimeDelta::from_nanos(1_000_200_000);
        assert_eq!(fast.gained(shown), TimeDelta::from_micros(200));
        assert_eq!(fast.gained(-shown), TimeDelta::from_micros(-200));
        assert_eq!(fast.to_string(), "+200.000 ppm");
    }

    #[test]
    fn a_stopped_clock_gains_nothing() {
        assert_eq!(
            Skew::from_ppt(-1_000_000_000_000).gained(TimeDelta::from_seconds(1)),
            TimeDelta::ZERO
        );
    }
}
