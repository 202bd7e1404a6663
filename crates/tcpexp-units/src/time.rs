//! Points and spans of time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// A point in time on one capture's clock, in nanoseconds since 1970-01-01 UTC on that clock.
///
/// The type does not record which clock. The difference of timestamps from two clocks is a one-way
/// delay plus the clock offset; only the code that estimates the offset may compute it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(i64);

/// A signed span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeDelta(i64);

impl Timestamp {
    /// The earliest representable point.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest representable point.
    pub const MAX: Self = Self(i64::MAX);

    /// Creates the point `nanos` nanoseconds after 1970-01-01 UTC.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since 1970-01-01 UTC.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Date and time in UTC with nine decimals, as RFC 3339 writes them:
    /// `2026-01-01T00:00:12.799459000Z`.
    pub fn rfc3339(self) -> String {
        let (seconds, nanos) = (
            self.0.div_euclid(1_000_000_000),
            self.0.rem_euclid(1_000_000_000),
        );
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
    }
}

/// Returns year, month and day of a day number since 1970-01-01, in the Gregorian calendar.
///
/// Counts years from March, so that the leap day is the last day of a year, in eras of 400 years.
fn civil(days: i64) -> (i64, i64, i64) {
    // Days from 0000-03-01 to 1970-01-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    // Without the leap days before it, each year has 365 days.
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, five months have 153 days: 31, 30, 31, 30, 31.
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl TimeDelta {
    /// The empty span.
    pub const ZERO: Self = Self(0);

    /// Creates a span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Creates a span of `micros` microseconds; saturates after 292 years.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Creates a span of `millis` milliseconds; saturates after 292 years.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Creates a span of `seconds` seconds; saturates after 292 years.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The span in whole nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The span in seconds, for charts and printed text.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in milliseconds, for charts and printed text.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span without its sign.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

// A capture file can hold any 64-bit time, so the arithmetic saturates: an invalid timestamp gives
// an invalid span and never a panic.
impl Sub for Timestamp {
    type Output = TimeDelta;
    fn sub(self, earlier: Self) -> TimeDelta {
        TimeDelta(self.0.saturating_sub(earlier.0))
    }
}

impl Add<TimeDelta> for Timestamp {
    type Output = Self;
    fn add(self, span: TimeDelta) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<TimeDelta> for Timestamp {
    type Output = Self;
    fn sub(self, span: TimeDelta) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for TimeDelta {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for TimeDelta {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for TimeDelta {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for TimeDelta {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for TimeDelta {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// Prints the unit that leaves one to three digits before the decimal point: `20.017 ms`.
impl fmt::Display for TimeDelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_nanos, unit) = match self.0.unsigned_abs() {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1e3, "µs"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let decimals = f.precision().unwrap_or(3);
        write!(f, "{:.decimals$} {unit}", self.0 as f64 / unit_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn earlier_time_plus_difference_is_the_later_time(a in any::<i32>(), b in any::<i32>()) {
            let (a, b) = (Timestamp::from_nanos(a.into()), Timestamp::from_nanos(b.into()));
            prop_assert_eq!(a + (b - a), b);
            prop_assert_eq!(b - (b - a), a);
        }

        #[test]
        fn no_arithmetic_panics(a in any::<i64>(), b in any::<i64>()) {
            let (s, t) = (Timestamp::from_nanos(a), Timestamp::from_nanos(b));
            let d = s - t;
            let _ = (s + d, s - d, -d, d.abs(), d + d, d - (-d));
        }
    }

    #[test]
    fn a_point_is_a_date_and_time_in_utc() {
        let shown = [
            0,
            -1,
            951_782_400_000_000_000,
            1_767_225_612_799_459_000,
            i64::MIN,
            i64::MAX,
        ];
        let shown = shown.map(|nanos| Timestamp::from_nanos(nanos).rfc3339());
        assert_eq!(
            shown,
            [
                "1970-01-01T00:00:00.000000000Z",
                "1969-12-31T23:59:59.999999999Z",
                "2000-02-29T00:00:00.000000000Z",
                "2026-01-01T00:00:12.799459000Z",
                "1677-09-21T00:12:43.145224192Z",
                "2262-04-11T23:47:16.854775807Z",
            ]
        );
    }

    #[test]
    fn a_span_prints_in_a_suitable_unit() {
        let shown: Vec<String> = [0, -999, 1_500, -20_017_000, 3_600_000_000_000]
            .map(|nanos| TimeDelta::from_nanos(nanos).to_string())
            .into();
        assert_eq!(
            shown,
            ["0 ns", "-999 ns", "1.500 µs", "-20.017 ms", "3600.000 s"]
        );
    }
}
