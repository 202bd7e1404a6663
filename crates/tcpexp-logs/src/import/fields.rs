//! Parses numbers, times and addresses.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use tcpexp_units::{TimeDelta, Timestamp, truncated};
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
        self.read(truncated(self.text, 9).map(Timestamp::from_nanos))
    }

    pub(super) fn millis(self) -> Result<TimeDelta, Unusable> {
        self.read(truncated(self.text, 6).map(TimeDelta::from_nanos))
    }

    pub(super) fn micros(self) -> Result<TimeDelta, Unusable> {
        self.read(truncated(self.text, 3).map(TimeDelta::from_nanos))
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
