//! Dates and times as RFC 3339 writes them.

use crate::Timestamp;

impl Timestamp {
    /// Date and time in UTC with nine decimals, as RFC 3339 writes them:
    /// `2026-01-01T00:00:12.799459000Z`.
    pub fn rfc3339(self) -> String {
        let mut text = String::new();
        self.push_rfc3339(&mut text);
        text
    }

    /// Appends [`rfc3339`](Self::rfc3339) to `text`, without formatting macros: they took a fifth of
    /// the instructions of `tcpexp rtt -o rtt.csv`.
    pub fn push_rfc3339(self, text: &mut String) {
        let nanos = self.as_nanos();
        let (seconds, nanos) = (
            nanos.div_euclid(1_000_000_000),
            nanos.rem_euclid(1_000_000_000),
        );
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        // The years of a `Timestamp` have four digits.
        let mut written = *b"0000-00-00T00:00:00.000000000Z";
        put(&mut written[0..4], year);
        put(&mut written[5..7], month);
        put(&mut written[8..10], day);
        put(&mut written[11..13], second / 3600);
        put(&mut written[14..16], second / 60 % 60);
        put(&mut written[17..19], second % 60);
        put(&mut written[20..29], nanos);
        text.extend(written.map(char::from));
    }

    /// Reads a date and time of RFC 3339: `2026-01-31T10:00:00.5Z` or `2026-01-31 11:00:00.5+01:00`.
    ///
    /// `None` for other texts, among them a date without a zone, for fractions of a nanosecond, and
    /// beyond the years 1677 to 2262.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        parsed(text)
    }
}

/// Writes the last digits of a number that is not negative, with zeros before it.
fn put(digits: &mut [u8], number: i64) {
    let mut rest = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
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

/// A date and time of RFC 3339: `2026-01-31T10:00:00.5Z` or `2026-01-31 11:00:00.5+01:00`.
fn parsed(text: &str) -> Option<Timestamp> {
    const DAY: i64 = 86_400;
    let (day, time) = text.split_at_checked(10)?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let mut parts = day.split('-').map(|part| field(part, part.len()));
    let (year, month, day_of_month) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset_seconds) = zone(time)?;
    let (clock, decimals) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':').map(|part| field(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // Second 60 is a leap second.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_1970(year, month, day_of_month)?;
    let seconds = days * DAY + hour * 3_600 + minute * 60 + second - offset_seconds;
    let nanos = nanos_of(decimals)?;
    let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    i64::try_from(nanos).ok().map(Timestamp::from_nanos)
}

/// The decimals of a second in nanoseconds. Refuses fractions of a nanosecond.
fn nanos_of(decimals: &str) -> Option<i64> {
    let decimals = match decimals.trim_end_matches('0') {
        "" if !decimals.is_empty() => "0",
        trimmed => trimmed,
    };
    (decimals.len() <= 9).then_some(())?;
    field(&format!("{decimals:0<9}"), 9).filter(|_| !decimals.is_empty())
}

/// Splits the zone from a time of day: `Z` or `+01:00`, in seconds east of UTC.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let (clock, offset) = time.split_at_checked(time.len().checked_sub(6)?)?;
    let sign = match offset.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (field(hours, 2)?, field(minutes, 2)?);
    (hours <= 23 && minutes <= 59).then_some((clock, sign * (hours * 3_600 + minutes * 60)))
}

/// A number of exactly `digits` digits.
fn field(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month).ok()?.checked_sub(1)?;
    let length = *lengths.get(before)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    let last = year - 1;
    let leap_days = last / 4 - last / 100 + last / 400;
    // 719,162 days lie between year 1 and 1970.
    let days = 365 * last + leap_days - 719_162;
    Some(days + lengths[..before].iter().sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_written_with_nine_decimals() {
        let written = |nanos| Timestamp::from_nanos(nanos).rfc3339();
        assert_eq!(written(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(written(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(
            written(1_487_710_511_677_001_000),
            "2017-02-21T20:55:11.677001000Z"
        );
        assert_eq!(written(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(written(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }

    #[test]
    fn a_date_has_a_zone_and_at_most_nine_decimals() {
        let read = |text| Timestamp::from_rfc3339(text).map(Timestamp::as_nanos);
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("1970-01-01 01:00:00.000000001+01:00"), Some(1));
        assert_eq!(
            read("2017-02-21T20:55:11.677001Z"),
            Some(1_487_710_511_677_001_000)
        );
        assert_eq!(read("1970-01-01T00:00:00.100000000000Z"), Some(100_000_000));
        for text in [
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.0000000001Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.-1Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1000-01-01T00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(nanos in any::<i64>()) {
            let at = Timestamp::from_nanos(nanos);
            prop_assert_eq!(Timestamp::from_rfc3339(&at.rfc3339()), Some(at));
        }
    }
}
