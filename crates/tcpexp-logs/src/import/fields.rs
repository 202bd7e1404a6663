//! Parses numbers, times and addresses.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::SeqNum;

use super::error::Unusable;

/// A field's text, with its name for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    name: &'static str,
    text: &'a str,
}

impl<'a> Field<'a> {
    pub(super) fn new(name: &'static str, text: &'a str) -> Self {
        Self {
            name,
            text: text.trim(),
        }
    }

    /// The field without its unit.
    pub(super) fn without(self, unit: &str) -> Self {
        let text = self.text.strip_suffix(unit).unwrap_or(self.text);
        Self { text, ..self }
    }

    /// The value, or the error of the field.
    fn read<T>(self, value: Option<T>) -> Result<T, Unusable> {
        value.ok_or(Unusable::Unreadable(self.name))
    }

    pub(super) fn number<T: FromStr>(self) -> Result<T, Unusable> {
        self.read(self.text.parse().ok())
    }

    /// Seconds since 1970 or the start of the log's clock.
    pub(super) fn time(self) -> Result<Timestamp, Unusable> {
        self.read(scaled(self.text, 9).map(Timestamp::from_nanos))
    }

    pub(super) fn millis(self) -> Result<TimeDelta, Unusable> {
        self.read(scaled(self.text, 6).map(TimeDelta::from_nanos))
    }

    pub(super) fn micros(self) -> Result<TimeDelta, Unusable> {
        self.read(scaled(self.text, 3).map(TimeDelta::from_nanos))
    }

    /// A sequence number: hexadecimal after `0x`, otherwise decimal.
    pub(super) fn seq(self) -> Result<SeqNum, Unusable> {
        // Trace events and `/proc/net/tcpprobe` print hexadecimal digits, the CSV and web10g
        // decimal digits.
        let number = match self.text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => self.text.parse().ok(),
        };
        self.read(number.map(SeqNum))
    }

    /// A number in hexadecimal digits without a prefix.
    pub(super) fn hexadecimal(self) -> Result<u64, Unusable> {
        self.read(u64::from_str_radix(self.text, 16).ok())
    }

    /// `address:port`, or `[address]:port`.
    pub(super) fn endpoint(self) -> Result<SocketAddr, Unusable> {
        self.read(self.text.parse().ok().map(canonical))
    }

    pub(super) fn address(self) -> Result<IpAddr, Unusable> {
        self.read(self.text.parse().ok())
    }
}

/// A mapped IPv4 address of an IPv6 socket becomes an IPv4 address, as on the wire.
pub(super) fn canonical(endpoint: SocketAddr) -> SocketAddr {
    SocketAddr::new(endpoint.ip().to_canonical(), endpoint.port())
}

/// An unsigned decimal number times `10^digits`; further digits are dropped.
pub(super) fn scaled(text: &str, digits: u32) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    // `parse` alone accepts a sign, so the fraction of `1.-2` would be negative.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    // All bytes are ASCII digits, so the slice does not split a character.
    let kept = &fraction[..fraction.len().min(digits as usize)];
    let missing = digits - u32::try_from(kept.len()).ok()?;
    let fraction = match kept {
        // A whole number, or a number that ends in its point, has no digits to parse.
        "" => 0,
        kept => kept.parse::<i64>().ok()?.checked_mul(10_i64.pow(missing))?,
    };
    let whole: i64 = whole.parse().ok()?;
    // In nanoseconds, 64 bits end in the year 2262: a later time is unreadable, not wrapped.
    whole
        .checked_mul(10_i64.checked_pow(digits)?)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_without_rounding() {
        assert_eq!(
            scaled("1795247211.143604", 9),
            Some(1_795_247_211_143_604_000)
        );
        assert_eq!(
            scaled("1795247211.1436041239", 9),
            Some(1_795_247_211_143_604_123)
        );
        assert_eq!(scaled("48.331", 6), Some(48_331_000));
        assert_eq!(scaled("41", 6), Some(41_000_000));
        assert_eq!(scaled("41.", 6), Some(41_000_000));
    }

    #[test]
    fn other_text_is_not_a_decimal_number() {
        for text in [
            "",
            ".5",
            "-1",
            "1e3",
            "1.-2",
            "1.2.3",
            "99999999999.0",
            "+1",
            "NaN",
        ] {
            assert_eq!(scaled(text, 9), None, "{text}");
        }
    }
}
