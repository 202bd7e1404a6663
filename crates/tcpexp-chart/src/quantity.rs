//! Quantities: name, unit, and formatting of numbers.

use crate::axis::with_minus;

/// The quantity of a column's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Name of the quantity: `RTT`, `goodput`.
    pub name: String,
    unit: Unit,
    /// The unit of display, if it is not chosen from the numbers.
    shown_in: Option<(&'static str, f64)>,
}

/// The unit of a column's numbers.
#[derive(Clone, Debug, PartialEq)]
enum Unit {
    /// Time, with the number of nanoseconds per unit.
    Time(f64),
    /// Rate, with the number of bits per second per unit.
    Rate(f64),
    /// Size, with the number of bytes per unit.
    Size(f64),
    /// Share, with the percentage per unit.
    Share(f64),
    /// A count with the name of its unit, or a number without a unit, for which the name is empty.
    Count(String),
}

/// The unit of display and the conversion to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    unit: String,
    /// Factor from the column's unit to the unit of display.
    factor: f64,
}

type Named = (&'static str, f64);

const TIMES: [Named; 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const RATES: [Named; 4] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];
const SIZES: [Named; 4] = [("bytes", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
const SHARES: [Named; 1] = [("%", 1.0)];

/// Numbers with a smaller exponent are shown in scientific notation, as in C's `%g`.
const LEAST_EXPONENT: i32 = -4;

/// A suffix of column names and the unit it stands for.
type Ending = (&'static str, fn() -> Unit);

const ENDINGS: [Ending; 18] = [
    ("_ns", || Unit::Time(1.0)),
    ("_us", || Unit::Time(1e3)),
    ("_ms", || Unit::Time(1e6)),
    ("_s", || Unit::Time(1e9)),
    ("_bps", || Unit::Rate(1.0)),
    ("_kbps", || Unit::Rate(1e3)),
    ("_mbps", || Unit::Rate(1e6)),
    ("_gbps", || Unit::Rate(1e9)),
    ("_bytes", || Unit::Size(1.0)),
    ("_kb", || Unit::Size(1e3)),
    ("_percent", || Unit::Share(1.0)),
    ("_share", || Unit::Share(100.0)),
    ("_packets", || Unit::Count("packets".to_owned())),
    ("_segments", || Unit::Count("segments".to_owned())),
    ("_samples", || Unit::Count("samples".to_owned())),
    ("_flows", || Unit::Count("flows".to_owned())),
    ("_bdp", || Unit::Count("BDP".to_owned())),
    ("_ratio", || Unit::Count(String::new())),
];

/// Ratios of packets to all packets: shares, unlike other ratios.
const SHARES_OF_PACKETS: [&str; 3] = ["loss_ratio", "retransmission_ratio", "mark_ratio"];

/// Ends of the names of columns with a bound of a number, after the unit if the number is a ratio or a share.
const BOUNDS: [&str; 4] = ["_low", "_high", "_least", "_most"];

/// Numbers without a unit whose words do not make a name.
const NAMES: [(&str, &str); 3] = [
    ("max_min_ratio", "largest / smallest goodput"),
    ("share_ratio", "share over that of other classes"),
    ("transfer_time_ratio", "ideal / actual goodput"),
];

/// Words whose spelling differs from the column's name.
const WORDS: [(&str, &str); 13] = [
    ("rtt", "RTT"),
    ("srtt", "smoothed RTT"),
    ("rto", "RTO"),
    ("owd", "one-way delay"),
    ("mss", "MSS"),
    ("smss", "SMSS"),
    ("ip", "IP"),
    ("tcp", "TCP"),
    ("udp", "UDP"),
    ("bdp", "BDP"),
    ("cc", "congestion control"),
    ("ecn", "ECN"),
    ("jain", "Jain's index"),
];

/// Words that follow the quantity in a column's name but precede it in text.
const STATISTICS: [&str; 8] = ["median", "mean", "min", "max", "p5", "p95", "p99", "total"];

impl Quantity {
    /// A number without a unit.
    pub fn plain(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit: Unit::Count(String::new()),
            shown_in: None,
        }
    }

    /// The quantity of a column, from its name: `rtt_ns` holds RTTs in nanoseconds.
    pub fn of_column(column: &str) -> Self {
        if let Some((_, name)) = NAMES.into_iter().find(|(known, _)| *known == column) {
            return Self::plain(name);
        }
        // A bound has the unit of its number: `loss_ratio_low`, like `loss_ratio`.
        let bound = BOUNDS.into_iter().find_map(|end| {
            let base = column.strip_suffix(end)?;
            (Self::stem(base) != base).then_some((base, &end[1..]))
        });
        if let Some((base, end)) = bound {
            let of_base = Self::of_column(base);
            let name = format!("{} {end}", of_base.name);
            return of_base.named(name);
        }
        let known = ENDINGS
            .into_iter()
            .find_map(|(ending, unit)| Some((column.strip_suffix(ending)?, unit())));
        let (name, mut unit) = known.unwrap_or((column, Unit::Count(String::new())));
        if SHARES_OF_PACKETS.contains(&column) {
            unit = Unit::Share(100.0);
        }
        let words = name.split('_').map(|word| {
            let other = WORDS.into_iter().find(|(known, _)| *known == word);
            other.map_or(word, |(_, written)| written)
        });
        let mut words: Vec<&str> = words.collect();
        if let Some(last) = words.last()
            // A column that is named by a statistic alone has no quantity to put it before.
            && words.len() > 1
            && STATISTICS.contains(last)
        {
            words.rotate_right(1);
        }
        Self {
            name: words.join(" "),
            unit,
            shown_in: None,
        }
    }

    /// The same quantity with another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// The same quantity in a unit that the column's name does not contain, and that is not converted.
    #[must_use]
    pub fn counted_in(self, unit: String) -> Self {
        Self {
            unit: Unit::Count(unit),
            ..self
        }
    }

    /// The same quantity, displayed in this unit: `ms`, `Mbit/s`.
    ///
    /// If the unit does not fit the quantity, `Err` lists the units that do.
    pub fn shown_in(self, unit: &str) -> Result<Self, String> {
        let units = self.unit.units();
        // Column names write `us`, as `µ` is not ASCII, so users may write it too.
        let unit = if unit == "us" { "µs" } else { unit };
        let known = units.iter().find(|(name, _)| *name == unit);
        match known {
            Some(&known) => Ok(Self {
                shown_in: Some(known),
                ..self
            }),
            None if units.is_empty() => Err(format!("{} has no other units", self.name)),
            None => {
                let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                Err(format!("{} is shown in {}", self.name, names.join(", ")))
            }
        }
    }

    /// The column's name without its unit: `rtt` for `rtt_ns`.
    pub fn stem(column: &str) -> &str {
        ENDINGS
            .into_iter()
            .find_map(|(ending, _)| column.strip_suffix(ending))
            .unwrap_or(column)
    }

    /// Chooses the unit of display for numbers between `least` and `most`.
    pub fn shown(&self, least: f64, most: f64) -> Shown {
        let (own, units) = (self.unit.own(), self.unit.units());
        let largest = most.abs().max(least.abs()) * own;
        let fitting = match self.unit {
            // Milliseconds, unless all values are below one millisecond or above ten seconds, as in
            // the text tables.
            Unit::Time(_) if least * own > 1e10 => Some(TIMES[3]),
            Unit::Time(_) if largest < 1e6 => Some(TIMES[1]),
            Unit::Time(_) => Some(TIMES[2]),
            // The same thresholds as in the text tables.
            Unit::Rate(_) if largest < 1e6 => Some(RATES[1]),
            Unit::Rate(_) if largest < 1e10 => Some(RATES[2]),
            Unit::Rate(_) => Some(RATES[3]),
            Unit::Size(_) | Unit::Share(_) => {
                let fits = |(_, size): &&Named| largest >= *size;
                units.iter().rev().find(fits).or(units.first()).copied()
            }
            Unit::Count(_) => None,
        };
        match (self.shown_in.or(fitting), &self.unit) {
            (Some((name, size)), _) => Shown {
                unit: name.to_owned(),
                factor: own / size,
            },
            (None, Unit::Count(name)) => Shown {
                unit: name.clone(),
                factor: 1.0,
            },
            (None, _) => Shown {
                unit: String::new(),
                factor: 1.0,
            },
        }
    }

    /// Quantity and unit, for the name of an axis.
    pub fn on_axis(&self, shown: &Shown) -> String {
        if shown.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, shown.unit)
        }
    }

    /// The column's own unit; empty if it has none.
    pub fn own_unit(&self) -> String {
        let own = self.unit.own();
        let same = |(_, size): &&Named| (size / own - 1.0).abs() < 1e-9;
        match &self.unit {
            Unit::Count(name) => name.clone(),
            _ => self
                .unit
                .units()
                .iter()
                .find(same)
                .map_or(String::new(), |(name, _)| (*name).to_owned()),
        }
    }
}

impl Unit {
    const fn own(&self) -> f64 {
        match self {
            Self::Time(own) | Self::Rate(own) | Self::Size(own) | Self::Share(own) => *own,
            Self::Count(_) => 1.0,
        }
    }

    const fn units(&self) -> &'static [Named] {
        match self {
            Self::Time(_) => &TIMES,
            Self::Rate(_) => &RATES,
            Self::Size(_) => &SIZES,
            Self::Share(_) => &SHARES,
            Self::Count(_) => &[],
        }
    }
}

impl Shown {
    /// Converts a number to the unit of display.
    pub fn value(&self, number: f64) -> f64 {
        number * self.factor
    }

    /// Both ends of a range in the unit of display.
    pub(crate) fn ends(&self, (least, most): (f64, f64)) -> (f64, f64) {
        (self.value(least), self.value(most))
    }

    /// Three significant digits and the unit: `83.2 ms`.
    pub fn text(&self, number: f64) -> String {
        let digits = self.digits(number);
        match self.unit.as_str() {
            "" => digits,
            "%" => format!("{digits} %"),
            unit => format!("{digits} {unit}"),
        }
    }

    /// Three significant digits: `83.2`.
    pub fn digits(&self, number: f64) -> String {
        let value = self.value(number);
        let scientific = format!("{value:.2e}");
        // The exponent of the rounded number: 9.995 shows as 10.0 and not as 10.00.
        let exponent = scientific.split_once('e');
        let exponent = exponent.and_then(|(_, exponent)| exponent.parse::<i32>().ok());
        let text = match exponent {
            Some(exponent) if exponent < LEAST_EXPONENT => scientific,
            _ if value == 0.0 => "0.000".to_owned(),
            exponent => {
                let decimals = usize::try_from(2 - exponent.unwrap_or(2)).unwrap_or(0);
                format!("{value:.decimals$}")
            }
        };
        with_minus(&text)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_bound_has_the_unit_of_its_number() {
        for column in ["loss_ratio", "mark_ratio", "jain_window_fair_share", "jain"] {
            for end in BOUNDS {
                let bound = Quantity::of_column(&format!("{column}{end}"));
                assert_eq!(
                    bound.unit,
                    Quantity::of_column(column).unit,
                    "{column}{end}"
                );
            }
        }
        assert_eq!(Quantity::of_column("loss_ratio_low").name, "loss low");
        assert_eq!(Quantity::of_column("goodput_low_bps").name, "goodput low");
    }

    #[test]
    fn a_column_name_yields_quantity_and_unit() {
        let named = |column: &str, least: f64, most: f64| {
            let quantity = Quantity::of_column(column);
            let shown = quantity.shown(least, most);
            format!("{}: {}", quantity.on_axis(&shown), shown.text(most))
        };
        let axes = [
            named("rtt_ns", 40e6, 340e6),
            named("rtt_ms", 40.0, 340.0),
            named("rtt_p95_ns", 4e3, 8e5),
            named("duration_ns", 11e9, 340e9),
            named("owd_ns", -5e6, -1e6),
            named("goodput_bps", 0.0, 9_540_000.0),
            named("rate_mbps", 2.0, 10.0),
            named("utilisation_share", 0.0, 0.956),
            named("wire_bytes", 0.0, 7_500_000.0),
            named("cwnd_segments", 0.0, 114.0),
            named("jain", 0.5, 0.987),
            named("buffer_bdp", 0.5, 2.0),
        ];
        assert_snapshot!(axes.join("\n"), @r"
        RTT (ms): 340 ms
        RTT (ms): 340 ms
        p95 RTT (µs): 800 µs
        duration (s): 340 s
        one-way delay (ms): −1.00 ms
        goodput (Mbit/s): 9.54 Mbit/s
        rate (Mbit/s): 10.0 Mbit/s
        utilisation (%): 95.6 %
        wire (MB): 7.50 MB
        cwnd (segments): 114 segments
        Jain's index: 0.987
        buffer (BDP): 2.00 BDP
        ");
    }

    #[test]
    fn any_unit_of_the_quantity_can_be_chosen() {
        let rtt = || Quantity::of_column("rtt_ns");
        let shown = rtt().shown_in("s").unwrap().shown(40e6, 340e6);
        assert_eq!(shown.text(340e6), "0.340 s");
        assert_eq!(
            rtt().shown_in("Mbit/s").unwrap_err(),
            "RTT is shown in ns, µs, ms, s"
        );
        assert_eq!(
            Quantity::of_column("cwnd_segments")
                .shown_in("ms")
                .unwrap_err(),
            "cwnd has no other units"
        );
    }

    #[test]
    fn a_number_has_three_significant_digits() {
        let shown = Quantity::of_column("rtt_us").shown(-92.0, 127_000.0);
        let texts = [83_207.0, 127_000.0, 47_380.0, 4_999.0, -92.0].map(|us| shown.text(us));
        assert_eq!(
            texts,
            ["83.2 ms", "127 ms", "47.4 ms", "5.00 ms", "−0.0920 ms"]
        );
        let limits = [0.0, 0.099_96, 0.9996, 9.996, 99.96, 999.6].map(|us| shown.text(us * 1e3));
        let expected = [
            "0.000 ms", "0.100 ms", "1.00 ms", "10.0 ms", "100 ms", "1000 ms",
        ];
        assert_eq!(limits, expected);
    }

    #[test]
    fn a_small_number_is_not_shown_as_zero() {
        let shown = Quantity::plain("epsilon").shown(0.0, 1.0);
        let texts = [0.0123, 0.000_3, -0.000_3, 0.000_012_34, 1e-300].map(|x| shown.text(x));
        assert_eq!(
            texts,
            ["0.0123", "0.000300", "−0.000300", "1.23e−5", "1.00e−300"]
        );
    }
}
