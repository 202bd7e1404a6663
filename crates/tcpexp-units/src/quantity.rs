//! Quantities in plans: rates, sizes, shares and buffers, all stored as whole numbers.

use std::fmt;
use std::str::FromStr;

use crate::TimeDelta;
use crate::decimal::{Kind, QuantityError, text_serde};

/// A rate in bits per second. The user of the rate defines which bytes count (headers, framing).
///
/// Written `800kbit`, `1.5mbit`, `1gbit`; in bytes `48kB/s`. Units are decimal. `tc` reads
/// `mbps` as megabytes per second, against common usage, so this type rejects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

/// A number of bytes. Written `1514B`, `64kB` (decimal) or `64KiB` (binary).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

/// A fraction of a whole, in billionths: a probability or a loss ratio. Written `1%`, `0.001%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// Capacity of a queue, in the unit of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// Packets of any size: `90p`.
    Packets(u64),
    /// Bytes: `64kB`, `64KiB`.
    Bytes(ByteCount),
    /// The bytes that the bottleneck sends in this time: `100ms`.
    Time(TimeDelta),
    /// Thousandths of the bandwidth-delay product: `1bdp`, `0.5bdp`.
    Bdp {
        /// 1000 is one product of the bottleneck rate and the base round-trip time of the path.
        thousandths: u64,
    },
}

pub(crate) const BIT_RATE: Kind = Kind {
    what: "rate",
    expected: "bits per second such as \"800kbit\", \"1.5mbit\" or \"1gbit\"",
    units: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("mbit/s", 1_000_000),
        ("gbit/s", 1_000_000_000),
        ("tbit/s", 1_000_000_000_000),
    ],
};

/// Byte rates with their size in bits per second. Letter case separates bytes from bits here.
pub(crate) const BYTE_RATE: Kind = Kind {
    units: &[
        ("B/s", 8),
        ("kB/s", 8_000),
        ("KB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
    ..BIT_RATE
};

pub(crate) const BYTE_COUNT: Kind = Kind {
    what: "size",
    expected: "bytes such as \"1514B\", \"64kB\" or \"64KiB\"",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};

pub(crate) const SHARE: Kind = Kind {
    what: "share",
    expected: "a percentage from \"0%\" to \"100%\", such as \"0.5%\"",
    units: &[("%", 10_000_000)],
};

pub(crate) const SPAN: Kind = Kind {
    what: "time",
    expected: "a time such as \"500us\", \"20ms\", \"1.5s\" or \"2min\"",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};

pub(crate) const BUFFER: Kind = Kind {
    what: "buffer",
    expected: "packets \"90p\", bytes \"64kB\" or \"64KiB\", time \"100ms\", or a multiple of the BDP (rate times \
               base RTT of the path) \"0.5bdp\"",
    units: &[("p", 1_000)],
};

pub(crate) const BDP: Kind = Kind {
    units: &[("bdp", 1_000)],
    ..BUFFER
};

impl BitRate {
    /// Creates a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the bytes transferred in `time`, rounded up; zero for a negative time.
    pub fn bytes_in(self, time: TimeDelta) -> ByteCount {
        let nanos = u128::try_from(time.as_nanos()).unwrap_or(0);
        let bytes = (u128::from(self.0) * nanos).div_ceil(8_000_000_000);
        ByteCount(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns the transfer time of `bytes`, rounded down to nanoseconds; `None` at rate zero.
    pub fn time_of(self, bytes: ByteCount) -> Option<TimeDelta> {
        let bits = u128::from(bytes.0) * 8_000_000_000;
        let nanos = bits.checked_div(u128::from(self.0))?;
        Some(TimeDelta::from_nanos(
            i64::try_from(nanos).unwrap_or(i64::MAX),
        ))
    }
}

impl ByteCount {
    /// Creates a size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The size in bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Returns the mean rate of these bytes over `time`, rounded down; `None` unless the time is positive.
    pub fn rate_over(self, time: TimeDelta) -> Option<BitRate> {
        let nanos = u128::try_from(time.as_nanos()).ok()?;
        // The product exceeds 64 bits from 2.3 GB on.
        let bps = (u128::from(self.0) * 8_000_000_000).checked_div(nanos)?;
        Some(BitRate(u64::try_from(bps).ok()?))
    }
}

impl Share {
    /// A share of zero.
    pub const NONE: Self = Self(0);
    /// All of the whole.
    pub const ALL: Self = Self(1_000_000_000);

    /// Creates a share of `ppb` billionths; `None` above the whole.
    pub fn from_ppb(ppb: u32) -> Option<Self> {
        (ppb <= Self::ALL.0).then_some(Self(ppb))
    }

    /// The share in billionths.
    pub const fn as_ppb(self) -> u32 {
        self.0
    }

    /// The share as a number from 0 to 1, for text and comparison.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e9
    }

    /// A ratio from 0 to 1 in percent, rounded to billionths of the whole, as shares are: without
    /// it, 0.007 would be 0.7000000000000001 %.
    pub fn percent_of(ratio: f64) -> f64 {
        (ratio * 1e9).round() / 1e7
    }

    /// The complement: one minus this share.
    #[must_use]
    pub const fn rest(self) -> Self {
        Self(Self::ALL.0 - self.0)
    }
}

impl TimeDelta {
    /// The shortest exact text that parses back to this span: `20ms`, `1.5s`, `-500us`.
    ///
    /// `Display` rounds for readers instead.
    pub fn to_exact_text(self) -> String {
        let sign = if self.as_nanos() < 0 { "-" } else { "" };
        match self.as_nanos().unsigned_abs() {
            0 => "0s".to_owned(),
            nanos => format!("{sign}{}", SPAN.print(nanos)),
        }
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bytes = BYTE_RATE.parse(text);
        let bps = bytes.or_else(|_| BIT_RATE.parse(&text.to_ascii_lowercase()));
        bps.map(Self).map_err(|_| BIT_RATE.error(text))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BIT_RATE.print(self.0))
    }
}

impl FromStr for ByteCount {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTE_COUNT.parse(text).map(Self)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BYTE_COUNT.print(self.0))
    }
}

impl FromStr for Share {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let ppb = SHARE.parse(text)?;
        let share = u32::try_from(ppb).ok().and_then(Self::from_ppb);
        share.ok_or_else(|| SHARE.error(text))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SHARE.print(self.0.into()))
    }
}

impl FromStr for TimeDelta {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (sign, span) = match text.trim().strip_prefix('-') {
            Some(span) => (-1, span),
            None => (1, text),
        };
        let nanos = SPAN.parse(span).map_err(|_| SPAN.error(text))?;
        let nanos = i64::try_from(nanos).map_err(|_| SPAN.error(text))?;
        Ok(Self::from_nanos(sign * nanos))
    }
}

impl FromStr for Buffer {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if let Ok(thousandths) = BUFFER.parse(text)
            && thousandths.is_multiple_of(1_000)
        {
            return Ok(Self::Packets(thousandths / 1_000));
        }
        let bytes = || ByteCount::from_str(text).map(Self::Bytes).ok();
        let time = || {
            SPAN.parse(text)
                .ok()
                .and_then(|nanos| i64::try_from(nanos).ok())
        };
        let time = || time().map(|nanos| Self::Time(TimeDelta::from_nanos(nanos)));
        let bdp = || BDP.parse(text).map(|thousandths| Self::Bdp { thousandths });
        bytes().or_else(time).map_or_else(bdp, Ok)
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Time(time) => f.write_str(&time.to_exact_text()),
            Self::Bdp { thousandths } => {
                let decimals = format!("{:03}", thousandths % 1_000);
                match decimals.trim_end_matches('0') {
                    "" => write!(f, "{}bdp", thousandths / 1_000),
                    decimals => write!(f, "{}.{decimals}bdp", thousandths / 1_000),
                }
            }
        }
    }
}

text_serde!(BitRate);
text_serde!(ByteCount);
text_serde!(Share);
text_serde!(Buffer);

impl serde::Serialize for TimeDelta {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_exact_text())
    }
}

impl<'de> serde::Deserialize<'de> for TimeDelta {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crate::decimal::from_text(from, "time")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed<T: FromStr<Err = QuantityError>>(text: &str) -> Result<T, String> {
        text.parse()
            .map_err(|error: QuantityError| error.to_string())
    }

    #[test]
    fn rates_are_read_exactly_and_printed_shortest() {
        for (text, bps, shown) in [
            ("10mbit", 10_000_000, "10mbit"),
            ("1.5Mbit/s", 1_500_000, "1.5mbit"),
            ("800kbit", 800_000, "800kbit"),
            ("0.8mbit", 800_000, "800kbit"),
            ("1 gbit", 1_000_000_000, "1gbit"),
            ("48KB/s", 384_000, "384kbit"),
            ("12345678bit", 12_345_678, "12.345678mbit"),
            ("0bit", 0, "0bit"),
        ] {
            assert_eq!(parsed(text), Ok(BitRate::from_bps(bps)), "{text}");
            assert_eq!(BitRate::from_bps(bps).to_string(), shown);
        }
    }

    #[test]
    fn error_for_an_invalid_rate_names_the_expected_form() {
        for wrong in [
            "",
            "10",
            "mbit",
            "-1mbit",
            "10mbps",
            "1.2.3kbit",
            "1.kbit",
            ".5kbit",
            "1.5bit",
            "1e3bit",
            "10MB",
            "99999999999tbit",
        ] {
            assert!(parsed::<BitRate>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            parsed::<BitRate>("10Mbps").unwrap_err(),
            "\"10Mbps\" is not a rate: expected bits per second such as \"800kbit\", \"1.5mbit\" or \
             \"1gbit\""
        );
    }

    #[test]
    fn percentages_have_the_digits_of_the_plan() {
        for tenths in 0..=1_000 {
            let share: Share = parsed(&format!("{}.{}%", tenths / 10, tenths % 10)).unwrap();
            let percent = Share::percent_of(share.as_f64());
            assert_eq!(percent.to_string(), (f64::from(tenths) / 10.0).to_string());
        }
    }

    #[test]
    fn shares_are_percentages_up_to_100() {
        assert_eq!(parsed("1%"), Ok(Share(10_000_000)));
        assert_eq!(parsed("0.0000001%"), Ok(Share(1)));
        assert_eq!(parsed("100%"), Ok(Share::ALL));
        assert_eq!(Share(10_000_000).to_string(), "1%");
        assert_eq!(Share(5_000).to_string(), "0.0005%");
        for wrong in ["101%", "0.01", "1", "-1%", "0.00000001%"] {
            assert!(parsed::<Share>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn error_for_too_many_decimals_names_the_smallest_step() {
        assert_eq!(
            parsed::<Share>("1.23456789%").unwrap_err(),
            "\"1.23456789%\" is not a share: expected a multiple of 0.0000001%"
        );
        let error = parsed::<BitRate>("1.5bit").unwrap_err();
        assert!(error.ends_with("expected a multiple of 1bit"), "{error}");
        let error = parsed::<TimeDelta>("0.5ns").unwrap_err();
        assert!(error.ends_with("expected a multiple of 1ns"), "{error}");
        let error = parsed::<Buffer>("0.0005bdp").unwrap_err();
        assert!(
            error.ends_with("expected a multiple of 0.001bdp"),
            "{error}"
        );
    }

    #[test]
    fn a_buffer_keeps_its_unit() {
        let kib = Buffer::Bytes(ByteCount::new(65_536));
        for (text, buffer, shown) in [
            ("90p", Buffer::Packets(90), "90p"),
            ("64kB", Buffer::Bytes(ByteCount::new(64_000)), "64kB"),
            ("64KiB", kib, "65.536kB"),
            ("100ms", Buffer::Time(TimeDelta::from_millis(100)), "100ms"),
            ("1bdp", Buffer::Bdp { thousandths: 1_000 }, "1bdp"),
            ("0.25bdp", Buffer::Bdp { thousandths: 250 }, "0.25bdp"),
        ] {
            assert_eq!(parsed(text), Ok(buffer), "{text}");
            assert_eq!(buffer.to_string(), shown);
        }
        for wrong in ["90", "1.5p", "0.0001bdp", "-5p", "90 packets please"] {
            assert!(parsed::<Buffer>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_read_back_exactly() {
        for (text, nanos, shown) in [
            ("20ms", 20_000_000, "20ms"),
            ("1.5s", 1_500_000_000, "1.5s"),
            ("500us", 500_000, "500us"),
            ("-2ms", -2_000_000, "-2ms"),
            ("2min", 120_000_000_000, "120s"),
            ("0ms", 0, "0s"),
        ] {
            assert_eq!(parsed(text), Ok(TimeDelta::from_nanos(nanos)), "{text}");
            assert_eq!(TimeDelta::from_nanos(nanos).to_exact_text(), shown);
        }
        assert!(parsed::<TimeDelta>("20").is_err());
        assert!(parsed::<TimeDelta>("0.5ns").is_err());
    }

    #[test]
    fn rate_and_time_yield_bytes_and_bytes_yield_the_time() {
        let rate = BitRate::from_bps(10_000_000);
        let bdp = rate.bytes_in(TimeDelta::from_millis(40));
        assert_eq!(bdp, ByteCount::new(50_000));
        assert_eq!(rate.time_of(bdp), Some(TimeDelta::from_millis(40)));
        assert_eq!(BitRate::default().time_of(bdp), None);
        assert_eq!(bdp.rate_over(TimeDelta::from_millis(40)), Some(rate));
    }

    #[test]
    fn a_rate_needs_a_positive_time() {
        for nanos in [0, -1] {
            let bytes = ByteCount::new(1);
            assert_eq!(bytes.rate_over(TimeDelta::from_nanos(nanos)), None);
        }
    }

    proptest! {
        #[test]
        fn printed_values_read_back(value in any::<u64>(), nanos in any::<i64>()) {
            let rate = BitRate::from_bps(value);
            prop_assert_eq!(parsed(&rate.to_string()), Ok(rate));
            let size = ByteCount::new(value);
            prop_assert_eq!(parsed(&size.to_string()), Ok(size));
            let time = TimeDelta::from_nanos(nanos.max(-i64::MAX));
            prop_assert_eq!(parsed(&time.to_exact_text()), Ok(time));
            let share = Share(u32::try_from(value % 1_000_000_001).unwrap_or(0));
            prop_assert_eq!(parsed(&share.to_string()), Ok(share));
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,12}") {
            let _ = (parsed::<BitRate>(&text), parsed::<Buffer>(&text));
            let _ = (parsed::<Share>(&text), parsed::<TimeDelta>(&text));
        }
    }
}
