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

    /// Creates the span that is nearest to `seconds` seconds; saturates after 292 years.
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    pub fn from_seconds_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
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
// an invalid span and never a panic. Sound timestamps never overflow, so the check is a branch: two
// instructions, where `i64::saturating_add` takes five. Each packet takes dozens of sums and
// differences.

/// The sum of two numbers; saturates.
#[inline]
fn sum(one: i64, other: i64) -> i64 {
    match one.checked_add(other) {
        Some(sum) => sum,
        None => limit(other > 0),
    }
}

/// The first number less the second; saturates.
#[inline]
fn difference(one: i64, other: i64) -> i64 {
    match one.checked_sub(other) {
        Some(difference) => difference,
        None => limit(other < 0),
    }
}

/// The result of an overflow. As a call it stays behind the branch; inlined, the compiler would compute
/// it for each sum.
#[cold]
#[inline(never)]
fn limit(is_above: bool) -> i64 {
    if is_above { i64::MAX } else { i64::MIN }
}

impl Sub for Timestamp {
    type Output = TimeDelta;
    #[inline]
    fn sub(self, earlier: Self) -> TimeDelta {
        TimeDelta(difference(self.0, earlier.0))
    }
}

impl Timestamp {
    /// Time since `earlier`, such as from a packet to its answer.
    ///
    /// `None` if `earlier` is the later one: the clock was set back in between, and shows no time.
    #[inline]
    #[must_use]
    pub fn checked_since(self, earlier: Self) -> Option<TimeDelta> {
        (earlier <= self).then(|| self - earlier)
    }
}

impl Add<TimeDelta> for Timestamp {
    type Output = Self;
    #[inline]
    fn add(self, span: TimeDelta) -> Self {
        Self(sum(self.0, span.0))
    }
}

impl Sub<TimeDelta> for Timestamp {
    type Output = Self;
    #[inline]
    fn sub(self, span: TimeDelta) -> Self {
        Self(difference(self.0, span.0))
    }
}

impl Add for TimeDelta {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(sum(self.0, other.0))
    }
}

impl AddAssign for TimeDelta {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for TimeDelta {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(difference(self.0, other.0))
    }
}

impl Neg for TimeDelta {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(difference(0, self.0))
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
        fn time_since_a_later_time_is_unknown(a in any::<i64>(), b in any::<i64>()) {
            let (a, b) = (Timestamp::from_nanos(a), Timestamp::from_nanos(b));
            prop_assert_eq!(a.checked_since(b), Some(a - b).filter(|span| *span >= TimeDelta::ZERO));
        }

        #[test]
        fn arithmetic_never_panics(a in any::<i64>(), b in any::<i64>()) {
            let (s, t) = (Timestamp::from_nanos(a), Timestamp::from_nanos(b));
            let d = s - t;
            let _ = (s + d, s - d, -d, d.abs(), d + d, d - (-d));
        }

        #[test]
        fn arithmetic_saturates(a in any::<i64>(), b in any::<i64>()) {
            let (s, t) = (Timestamp::from_nanos(a), Timestamp::from_nanos(b));
            let (c, d) = (TimeDelta::from_nanos(a), TimeDelta::from_nanos(b));
            prop_assert_eq!((s - t).as_nanos(), a.saturating_sub(b));
            prop_assert_eq!((s + d).as_nanos(), a.saturating_add(b));
            prop_assert_eq!((s - d).as_nanos(), a.saturating_sub(b));
            prop_assert_eq!((c + d).as_nanos(), a.saturating_add(b));
            prop_assert_eq!((c - d).as_nanos(), a.saturating_sub(b));
            prop_assert_eq!((-c).as_nanos(), a.saturating_neg());
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
