//! Selection of a capture's packets by a filter and by time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tcpexp_capture::Record;
use tcpexp_flow::FlowShard;
use tcpexp_units::{TimeDelta, Timestamp, exact};
use tcpexp_wire::{Filter, LinkType, Skipped, Tunnels};
use thiserror::Error;

#[cfg(feature = "tables")]
use crate::PairSurvey;

/// A moment at which a selected range begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// This time on the capture's clock; on the source's clock if there are two captures.
    At(Timestamp),
    /// This long after the capture's first record.
    AfterStart(TimeDelta),
    /// This long before the capture's last record.
    BeforeEnd(TimeDelta),
}

/// A text that is no [`Moment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "expected a time after the start with its unit, such as 10s; a time before the end, such as -5s; a \
     date, such as 2026-01-31T10:00:00.5Z; or seconds since 1970, 100000000 or more"
)]
pub struct NoMoment;

/// The packets that a measurement uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketSelection {
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) from: Option<Moment>,
    pub(crate) to: Option<Moment>,
}

/// How a measurement reads its captures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) tunnels: Tunnels,
    pub(crate) selection: PacketSelection,
    /// The flows whose results are passed on; `None` for all.
    pub(crate) shard: Option<FlowShard>,
    /// What the first passes over two captures learn; `None` to make these passes.
    #[cfg(feature = "tables")]
    pub(crate) survey: Option<Arc<PairSurvey>>,
}

/// Times of the selected records on one capture's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first selected time.
    pub(crate) from: Timestamp,
    /// The first time after the selected ones.
    pub(crate) to: Timestamp,
}

/// The selection of one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected<'a> {
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) range: Option<Range>,
}

impl PacketSelection {
    /// Uses only the packets that this filter selects. Default: all packets.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Uses only the packets at and after this moment. Default: from the first packet.
    #[must_use]
    pub fn from(mut self, from: Moment) -> Self {
        self.from = Some(from);
        self
    }

    /// Uses only the packets before this moment. Default: to the last packet.
    #[must_use]
    pub fn to(mut self, to: Moment) -> Self {
        self.to = Some(to);
        self
    }

    pub(crate) fn has_range(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

impl Selected<'_> {
    /// Returns the reason for skipping the record if it is not selected.
    ///
    /// A record without a time stays: it is counted under its own reason.
    pub(crate) fn admits(&self, record: &Record<'_>) -> Result<(), Skipped> {
        if let (Some(range), Ok(at)) = (self.range, record.at)
            && !(range.from..range.to).contains(&at)
        {
            return Err(Skipped::OutsideRange);
        }
        let is_filtered = self.filter.is_some_and(|filter| {
            let link = LinkType(record.link_type);
            !filter.matches(link, record.captured, record.wire_bytes)
        });
        if is_filtered {
            return Err(Skipped::Filtered);
        }
        Ok(())
    }
}

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        moment(text).ok_or(NoMoment)
    }
}

impl fmt::Display for Moment {
    /// Writes a text that gives this moment when parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(at) => f.write_str(&at.rfc3339()),
            Self::AfterStart(time) => write!(f, "{}ns", time.as_nanos()),
            Self::BeforeEnd(time) => write!(f, "-{}ns", time.as_nanos()),
        }
    }
}

fn moment(text: &str) -> Option<Moment> {
    const NANOS: u64 = 1_000_000_000;
    // March 1973, before any capture of packets. A smaller number is meant as a time after the start
    // and lacks its unit.
    const EARLIEST: i64 = 100_000_000_000_000_000;
    const UNITS: [(&str, u64); 7] = [
        // Longer units precede the `s` and `m` in which they end.
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("min", 60 * NANOS),
        ("h", 3_600 * NANOS),
        ("s", NANOS),
        ("", NANOS),
    ];
    if let Some(at) = Timestamp::from_rfc3339(text) {
        return Some(Moment::At(at));
    }
    let (number, is_before_end) = match text.strip_prefix('-') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let (unit, number) = UNITS.iter().find_map(|(unit, nanos)| {
        let number = number.strip_suffix(unit)?.trim_end();
        Some(((*unit, *nanos), number))
    })?;
    let nanos = i64::try_from(exact(number, unit.1)?).ok()?;
    match (unit.0, is_before_end) {
        ("", false) if nanos < EARLIEST => None,
        ("", false) => Some(Moment::At(Timestamp::from_nanos(nanos))),
        ("", true) => None,
        (_, false) => Some(Moment::AfterStart(TimeDelta::from_nanos(nanos))),
        (_, true) => Some(Moment::BeforeEnd(TimeDelta::from_nanos(nanos))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_times_since_1970_or_relative() {
        let at = |nanos| Ok(Moment::At(Timestamp::from_nanos(nanos)));
        let after = |nanos| Ok(Moment::AfterStart(TimeDelta::from_nanos(nanos)));
        let before = |nanos| Ok(Moment::BeforeEnd(TimeDelta::from_nanos(nanos)));
        assert_eq!("10s".parse(), after(10_000_000_000));
        assert_eq!("0s".parse(), after(0));
        assert_eq!("1.5 ms".parse(), after(1_500_000));
        assert_eq!("2min".parse(), after(120_000_000_000));
        assert_eq!("-5s".parse(), before(5_000_000_000));
        assert_eq!("1767225609.5".parse(), at(1_767_225_609_500_000_000));
        assert_eq!(
            "2026-01-01T00:00:09.5Z".parse(),
            at(1_767_225_609_500_000_000)
        );
        assert_eq!(
            "2026-01-01 01:00:09.5+01:00".parse(),
            at(1_767_225_609_500_000_000)
        );
        assert_eq!("1970-01-01T00:00:00Z".parse(), at(0));
        assert_eq!("1969-12-31T23:59:59Z".parse(), at(-1_000_000_000));
        assert_eq!("2000-02-29T12:00:00Z".parse(), at(951_825_600_000_000_000));
    }

    #[test]
    fn a_moment_is_read_as_it_was_written() {
        for text in [
            "0s",
            "1.5ms",
            "-5s",
            "1767225609.5",
            "1969-12-31T23:59:59.25Z",
        ] {
            let moment: Moment = text.parse().unwrap();
            assert_eq!(moment.to_string().parse(), Ok(moment), "{moment}");
        }
    }

    #[test]
    fn other_texts_are_not_moments() {
        for wrong in [
            "",
            "-",
            "s",
            "-5",
            "5",
            "99999999.9",
            "--5s",
            "+5s",
            "5 parsecs",
            "1.2.3s",
            "1e3s",
            "0.5ns",
            "99999999999999999999s",
            "2026-01-01",
            "2026-01-01T00:00:09",
            "2026-13-01T00:00:09Z",
            "2025-02-29T00:00:09Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00Z",
            "9999-01-01T00:00:00Z",
        ] {
            assert_eq!(wrong.parse::<Moment>(), Err(NoMoment), "{wrong}");
        }
    }
}
