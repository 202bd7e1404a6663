//! Exact conversion of a file's timestamps to nanoseconds.

use std::fmt;

use tcpexp_units::{TimeDelta, Timestamp};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Resolution of an interface's timestamps, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// 10 to the power of minus this value.
    PowerOfTen(u8),
    /// 2 to the power of minus this value.
    PowerOfTwo(u8),
}

impl Resolution {
    /// Decodes the `if_tsresol` option; the top bit selects the base.
    pub(crate) fn from_option(value: u8) -> Self {
        match value & 0x80 {
            0 => Self::PowerOfTen(value),
            _ => Self::PowerOfTwo(value & 0x7f),
        }
    }

    /// One unit, rounded up to whole nanoseconds: successive times that a file can hold are at most this far
    /// apart.
    pub fn unit(self) -> TimeDelta {
        let per_second = match self {
            Self::PowerOfTen(power) => 10_i64.checked_pow(power.into()),
            Self::PowerOfTwo(power) => 2_i64.checked_pow(power.into()),
        };
        // A unit that does not fit is far below a nanosecond.
        let nanos = per_second.map_or(1, |units| (NANOS_PER_SECOND - 1) / units + 1);
        TimeDelta::from_nanos(nanos)
    }
}

/// Prints the name of the unit if it has one, else the power: `microseconds`, `2^-20 s`.
impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerOfTen(0) | Self::PowerOfTwo(0) => f.write_str("seconds"),
            Self::PowerOfTen(3) => f.write_str("milliseconds"),
            Self::PowerOfTen(6) => f.write_str("microseconds"),
            Self::PowerOfTen(9) => f.write_str("nanoseconds"),
            Self::PowerOfTen(power) => write!(f, "10^-{power} s"),
            Self::PowerOfTwo(power) => write!(f, "2^-{power} s"),
        }
    }
}

/// Converts the timestamps of one interface to nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    resolution: Resolution,
    scale: Scale,
    offset_nanos: i128,
}

/// One unit in nanoseconds. Fractions of a nanosecond are rounded down, which keeps the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Multiply(i128),
    Divide(i128),
    Shift(u8),
    /// Units so small that 2^64 of them are below one nanosecond.
    Nothing,
}

impl Clock {
    /// pcapng's default without `if_tsresol`.
    pub(crate) const MICROSECONDS: Self = Self {
        resolution: Resolution::PowerOfTen(6),
        scale: Scale::Multiply(1_000),
        offset_nanos: 0,
    };

    /// Creates a clock with units of `resolution`, counted from `offset_seconds` after 1970.
    pub(crate) fn new(resolution: Resolution, offset_seconds: i64) -> Self {
        let scale = match resolution {
            Resolution::PowerOfTen(power @ 0..=9) => {
                Scale::Multiply(10_i128.pow(9 - u32::from(power)))
            }
            // 2^64 is below 10^20.
            Resolution::PowerOfTen(power @ 10..=28) => {
                Scale::Divide(10_i128.pow(u32::from(power) - 9))
            }
            // 2^64 times 10^9 is below 2^94.
            Resolution::PowerOfTwo(power @ 0..=93) => Scale::Shift(power),
            Resolution::PowerOfTen(_) | Resolution::PowerOfTwo(_) => Scale::Nothing,
        };
        Self {
            resolution,
            scale,
            offset_nanos: i128::from(offset_seconds) * i128::from(NANOS_PER_SECOND),
        }
    }

    pub(crate) fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Returns the time of `units`; `None` if it is before 1677 or after 2262, outside the range of
    /// `i64` nanoseconds.
    #[inline]
    pub(crate) fn at(&self, units: u64) -> Option<Timestamp> {
        let units = i128::from(units);
        let nanos = match self.scale {
            Scale::Multiply(factor) => units * factor,
            Scale::Divide(divisor) => units / divisor,
            Scale::Shift(power) => (units * i128::from(NANOS_PER_SECOND)) >> power,
            Scale::Nothing => 0,
        };
        i64::try_from(nanos + self.offset_nanos)
            .ok()
            .map(Timestamp::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the option a power of two.
    const TWO: u8 = 0x80;

    fn nanos(option: u8, offset_seconds: i64, units: u64) -> Option<i64> {
        Clock::new(Resolution::from_option(option), offset_seconds)
            .at(units)
            .map(Timestamp::as_nanos)
    }

    #[test]
    fn units_convert_to_nanoseconds_exactly() {
        assert_eq!(
            nanos(6, 0, 1_700_000_000_123_456),
            Some(1_700_000_000_123_456_000)
        );
        assert_eq!(
            nanos(9, 0, 1_700_000_000_123_456_789),
            Some(1_700_000_000_123_456_789)
        );
        assert_eq!(nanos(0, 0, 3), Some(3_000_000_000));
        assert_eq!(nanos(12, 0, 1_234_567), Some(1_234));
        assert_eq!(nanos(20 + TWO, 0, 1 << 20), Some(1_000_000_000));
        assert_eq!(nanos(20 + TWO, 0, 1), Some(953)); // 953.67 ns
        assert_eq!(
            nanos(32 + TWO, 0, (7 << 32) + (1 << 31)),
            Some(7_500_000_000)
        );
        assert_eq!(nanos(63 + TWO, 0, u64::MAX), Some(1_999_999_999));
    }

    #[test]
    fn the_offset_is_signed_seconds() {
        assert_eq!(nanos(6, -3_600, 3_600_000_001), Some(1_000));
        assert_eq!(nanos(6, -1, 0), Some(-1_000_000_000));
        assert_eq!(nanos(6, 1_700_000_000, 5), Some(1_700_000_000_000_005_000));
    }

    #[test]
    fn a_time_out_of_range_is_unknown() {
        assert_eq!(nanos(6, 0, u64::MAX), None);
        assert_eq!(nanos(9, i64::MAX, u64::MAX), None);
        assert_eq!(nanos(6, i64::MIN, 0), None);
    }

    #[test]
    fn arbitrary_resolutions_never_panic() {
        for option in 0..=u8::MAX {
            for units in [0, 1, u64::MAX] {
                for offset in [i64::MIN, 0, i64::MAX] {
                    let _ = nanos(option, offset, units);
                }
            }
        }
    }

    #[test]
    fn the_unit_of_a_resolution_is_rounded_up_to_nanoseconds() {
        let unit = |option| Resolution::from_option(option).unit().as_nanos();
        assert_eq!(
            [0, 3, 6, 9, 10, 19, 127].map(unit),
            [1_000_000_000, 1_000_000, 1_000, 1, 1, 1, 1]
        );
        let powers_of_two = [
            TWO,
            10 + TWO,
            16 + TWO,
            20 + TWO,
            30 + TWO,
            63 + TWO,
            127 + TWO,
        ];
        assert_eq!(
            powers_of_two.map(unit),
            [1_000_000_000, 976_563, 15_259, 954, 1, 1, 1]
        );
    }

    #[test]
    fn a_resolution_prints_its_name() {
        let shown = [6, 9, 7, 20 + TWO].map(|option| Resolution::from_option(option).to_string());
        assert_eq!(shown, ["microseconds", "nanoseconds", "10^-7 s", "2^-20 s"]);
    }
}
