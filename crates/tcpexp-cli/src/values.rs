//! Parses times, rates and clocks on the command line.

use std::path::PathBuf;

use tcpexp::Clocks;
use tcpexp_measure::throughput::Origin;
use tcpexp_units::{BitRate, TimeDelta, Timestamp, exact};

/// What `--one-clock` states about the clocks of two captures.
pub(crate) const fn clocks(one_clock: bool) -> Clocks {
    if one_clock {
        Clocks::One
    } else {
        Clocks::Separate
    }
}

/// The shortest time on the command line: with bins of this width, a second has a million bins.
const SHORTEST: TimeDelta = TimeDelta::from_micros(1);

/// Parses a time with its unit: `250ms`, `1.5s`, `2min`.
pub(crate) fn parse_time(text: &str) -> Result<TimeDelta, String> {
    match parse_time_or_zero(text)? {
        TimeDelta::ZERO => Err("expected a time greater than 0".into()),
        span if span < SHORTEST => Err("expected a time of at least 1us".into()),
        span => Ok(span),
    }
}

/// As [`parse_time`], but accepts zero in any unit.
pub(crate) fn parse_time_or_zero(text: &str) -> Result<TimeDelta, String> {
    // The form of times in plans.
    let span: Option<TimeDelta> = text.parse().ok();
    span.filter(|span| *span >= TimeDelta::ZERO)
        .ok_or_else(|| "expected a time with its unit, such as 250ms, 30s or 2min".to_owned())
}

/// Parses the path of a directory to write.
pub(crate) fn parse_directory(text: &str) -> Result<PathBuf, String> {
    if text == "-" {
        return Err(
            "standard output is no directory; write ./- for a directory of this name".to_owned(),
        );
    }
    Ok(text.into())
}

/// Parses a rate with its unit into bits per second: `800kbit`, `2.5Gbit/s`.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    // The form of rates in plans. In lower case, it has no rates in bytes.
    match text.to_ascii_lowercase().parse().map(BitRate::as_bps) {
        Ok(0) => Err("expected a rate greater than 0".into()),
        Ok(bps) => Ok(bps),
        Err(_) => Err("expected a rate with its unit, such as 800kbit, 10Mbit or 2.5Gbit/s".into()),
    }
}

/// Parses the start of the bins: `first` (packet), or seconds since 1970 with up to nine decimals.
pub(crate) fn parse_origin(text: &str) -> Result<Origin, String> {
    if text == "first" {
        return Ok(Origin::FirstPacket);
    }
    let nanos = exact(text, 1_000_000_000).and_then(|nanos| i64::try_from(nanos).ok());
    let at = nanos.map(|nanos| Origin::At(Timestamp::from_nanos(nanos)));
    at.ok_or_else(|| "expected first, or seconds since 1970, such as 1767225609.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_a_number_and_a_unit() {
        assert_eq!(parse_time("250ms"), Ok(TimeDelta::from_millis(250)));
        assert_eq!(parse_time("2min"), Ok(TimeDelta::from_seconds(120)));
        assert_eq!(parse_time("30 s"), Ok(TimeDelta::from_seconds(30)));
        for wrong in [
            "",
            "5",
            "ms",
            "-5s",
            "5 parsecs",
            "0s",
            "0.0s",
            "999ns",
            "1.s",
            "99999999999999999999s",
        ] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_may_have_decimals() {
        assert_eq!(parse_time("1.5s"), Ok(TimeDelta::from_millis(1_500)));
        assert_eq!(parse_time("0.1s"), Ok(TimeDelta::from_millis(100)));
        assert_eq!(parse_time("2.5us"), Ok(TimeDelta::from_nanos(2_500)));
        assert_eq!(parse_time_or_zero("0.0s"), Ok(TimeDelta::ZERO));
    }

    #[test]
    fn a_rate_needs_a_number_and_a_unit() {
        assert_eq!(parse_rate("800kbit"), Ok(800_000));
        assert_eq!(parse_rate("2.5 Gbit/s"), Ok(2_500_000_000));
        assert_eq!(parse_rate("0.0350mbit"), Ok(35_000));
        assert_eq!(parse_rate("1bit"), Ok(1));
        for wrong in [
            "",
            "10",
            "Mbit",
            "-1Mbit",
            "10MB",
            "0kbit",
            "1.5bit",
            "1.kbit",
            ".5kbit",
            "1.2.3kbit",
            "1e3bit",
            "99999999999Tbit",
        ] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_the_first_packet_or_a_time_with_nanoseconds() {
        assert_eq!(parse_origin("first"), Ok(Origin::FirstPacket));
        let at = |nanos| Ok(Origin::At(Timestamp::from_nanos(nanos)));
        assert_eq!(parse_origin("0"), at(0));
        assert_eq!(
            parse_origin("1767225609.000000001"),
            at(1_767_225_609_000_000_001)
        );
        for wrong in [
            "",
            "last",
            "-1",
            "1.0000000001",
            "99999999999",
            "2026-01-01",
        ] {
            assert!(parse_origin(wrong).is_err(), "{wrong}");
        }
    }
}
