//! Formatting of numbers and names in the cells of a text table.

use std::borrow::Cow;

use tcpexp_units::{RateUnit, TimeDelta};

/// Text of a cell without a value.
pub(crate) const NO_VALUE: &str = "-";

/// Joins the parts with spaces and starts an indented line before a part that would exceed `width`.
pub(crate) fn wrapped(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(part) <= width => {
                line.push(' ');
                line.push_str(part);
            }
            // A leading space widens the gap between parts on one line only.
            Some(_) => lines.push(format!("    {}", part.trim_start())),
            None => lines.push(part.clone()),
        }
    }
    lines
}

/// A text of a user in a cell: line breaks and tabs, which would look like further rows and cells, are escaped,
/// as are all control characters.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for found in text.chars() {
        if found.is_control() {
            shown.extend(found.escape_default());
        } else {
            shown.push(found);
        }
    }
    shown.into()
}

/// Width of `text` in terminal columns. All printed characters, including `µ`, are one column wide.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A count with thousands grouped (`14 468`), or its first digits (`12.3 M`) if it is too wide.
pub(crate) fn count(n: u64, width: usize) -> String {
    let grouped = grouped(n);
    if grouped.len() <= width {
        return grouped;
    }
    let scales = [
        (1e18, 'E'),
        (1e15, 'P'),
        (1e12, 'T'),
        (1e9, 'G'),
        (1e6, 'M'),
        (1e3, 'k'),
    ];
    let fitting = scales.iter().find(|(scale, _)| n as f64 >= *scale);
    fitting.map_or(grouped, |(scale, letter)| {
        format!("{:.1} {letter}", n as f64 / scale)
    })
}

/// A number of things, its digits in groups: see [`tcpexp_units::counted`].
pub(crate) fn counted(number: u64, thing: &str) -> String {
    tcpexp_units::counted(count(number, usize::MAX), thing)
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Millions with up to three decimals, in the width of a column of rates.
///
/// Only zero shows as 0.
pub(crate) fn mega(value: u64) -> String {
    const WIDTH: usize = 8;

    let millions = value as f64 / 1e6;
    match value {
        0 => return "0".to_owned(),
        1..500 => return "<0.001".to_owned(),
        _ => {}
    }
    (0..=3)
        .rev()
        .map(|decimals| format!("{millions:.decimals$}"))
        .find(|text| text.len() <= WIDTH)
        .unwrap_or_else(|| format!("{millions:.1e}"))
}

/// A number of segments, or [`NO_VALUE`] if it is unknown.
pub(crate) fn number(segments: Option<u32>) -> String {
    segments.map_or(NO_VALUE.to_owned(), |segments| segments.to_string())
}

/// The unit of all times in one table, so that cells compare at a glance.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    nanos: f64,
    /// Shorter times are not known any better than this.
    coarse_tick: Option<TimeDelta>,
}

impl Unit {
    /// Picks the unit for the given smallest and largest times: milliseconds, unless all times are
    /// below one millisecond or above ten seconds.
    pub(crate) fn of(ranges: impl IntoIterator<Item = (TimeDelta, TimeDelta)>) -> Self {
        let ranges: Vec<_> = ranges.into_iter().collect();
        let smallest = ranges.iter().map(|(min, _)| *min).min();
        let largest = ranges
            .iter()
            .map(|(min, max)| max.abs().max(min.abs()))
            .max();
        if smallest.is_some_and(|smallest| smallest > TimeDelta::from_seconds(10)) {
            return Self {
                name: "s",
                nanos: 1e9,
                coarse_tick: None,
            };
        }
        if largest.is_some_and(|largest| largest < TimeDelta::from_millis(1)) {
            return Self {
                name: "µs",
                nanos: 1e3,
                coarse_tick: None,
            };
        }
        Self {
            name: "ms",
            nanos: 1e6,
            coarse_tick: None,
        }
    }

    /// The unit for times that a clock with this tick has measured.
    pub(crate) fn measured_with(self, coarse_tick: Option<TimeDelta>) -> Self {
        Self {
            coarse_tick,
            ..self
        }
    }

    /// Four significant digits, at most three decimals, at most six characters; a time that is shorter
    /// than the tick of the clock shows as below the tick.
    pub(crate) fn show(&self, span: TimeDelta) -> String {
        if let Some(tick) = self.coarse_tick
            && span.abs() < tick
        {
            return format!("<{}", four_digits(tick.as_nanos() as f64 / self.nanos));
        }
        four_digits(span.as_nanos() as f64 / self.nanos)
    }
}

/// A span of time with one decimal, or without if it would exceed `width` characters.
pub(crate) fn span(span: TimeDelta, width: usize) -> String {
    let shown = format!("{span:.1}");
    if columns(&shown) <= width {
        shown
    } else {
        format!("{span:.0}")
    }
}

/// A rate with four significant digits, at most three decimals, at most six characters.
///
/// Only a rate of zero shows as 0.
pub(crate) fn show_rate(unit: RateUnit, bps: u64) -> String {
    let value = unit.value(bps);
    match bps {
        0 => "0".to_owned(),
        _ if value < 0.0005 => "<0.001".to_owned(),
        _ => four_digits(value),
    }
}

/// A share in percent with one decimal; `None` if `whole` is 0.
///
/// A share that would round to 0 % or 100 % without being it shows as below or above that value.
pub(crate) fn percent(part: u64, whole: u64) -> Option<String> {
    if whole == 0 {
        return None;
    }
    let percent = part as f64 / whole as f64 * 100.0;
    Some(if part == 0 {
        "0 %".to_owned()
    } else if part == whole {
        "100 %".to_owned()
    } else if percent < 0.05 {
        "<0.1 %".to_owned()
    } else if part < whole && percent >= 99.95 {
        ">99.9 %".to_owned()
    } else if percent < 9999.5 {
        format!("{percent:.1} %")
    } else {
        // A rate may exceed a link rate that the user gave too low by any factor.
        format!("{} %", magnitude(percent))
    })
}

/// Four significant digits, at most three decimals, at most six characters.
pub(crate) fn four_digits(value: f64) -> String {
    // Each limit is where rounding adds a digit: 9.9995 shows as 10.00 and not as 10.000.
    let decimals = match value.abs() {
        0.0..9.9995 => 3,
        9.9995..99.995 => 2,
        99.995..999.95 => 1,
        999.95..99_999.5 => 0,
        // Six digits fit without a sign: a timeout of 200 ms in a table of microseconds.
        99_999.5..999_999.5 if value > 0.0 => 0,
        // No path is this long: a clock stepped, and only the magnitude matters.
        _ => return magnitude(value),
    };
    format!("{value:.decimals$}")
}

fn magnitude(value: f64) -> String {
    let shown = format!("{value:.1e}");
    // A minus sign and an exponent of two digits leave no room for a decimal.
    if shown.len() <= 6 {
        shown
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_line_breaks_stays_in_its_cell() {
        assert_eq!(on_one_line("a\tb\nc\u{1b}"), "a\\tb\\nc\\u{1b}");
        assert_eq!(on_one_line("10 µs"), "10 µs");
    }

    #[test]
    fn a_share_prints_0_or_100_only_if_exact() {
        let shares = [
            (0, 7),
            (7, 7),
            (1, 3000),
            (9_999_999, 10_000_000),
            (1, 3),
            (21, 20),
            (u64::MAX, 3),
        ];
        let shown = shares.map(|(part, whole)| percent(part, whole).unwrap());
        assert_eq!(
            shown,
            [
                "0 %", "100 %", "<0.1 %", ">99.9 %", "33.3 %", "105.0 %", "6.1e20 %"
            ]
        );
        assert_eq!(percent(0, 0), None);
    }

    #[test]
    fn a_long_span_fits_its_column() {
        let shown = [1, 9_999, 10_000, 999_999]
            .map(TimeDelta::from_seconds)
            .map(|time| span(time, 8));
        assert_eq!(shown, ["1.0 s", "9999.0 s", "10000 s", "999999 s"]);
    }

    #[test]
    fn a_number_of_six_digits_shows_all_of_them() {
        let shown = [99_999.4, 200_000.0, 999_999.4, 1e6, -200_000.0].map(four_digits);
        assert_eq!(shown, ["99999", "200000", "999999", "1.0e6", "-2.0e5"]);
    }

    #[test]
    fn only_zero_shows_as_zero_millions() {
        let shown = [0, 1, 499, 500, 1_500_000].map(mega);
        assert_eq!(shown, ["0", "<0.001", "<0.001", "0.001", "1.500"]);
    }

    #[test]
    fn rates_of_one_table_have_one_unit() {
        let shown = [999_999, 1_000_000, 10_000_000_000].map(|highest| {
            let unit = RateUnit::of(highest);
            format!("{} {}", show_rate(unit, highest), unit.name())
        });
        assert_eq!(shown, ["1000 kbit/s", "1.000 Mbit/s", "10.00 Gbit/s"]);
        let shown = [0, 499, 500].map(|bps| show_rate(RateUnit::of(1_000_000), bps));
        assert_eq!(shown, ["0", "<0.001", "0.001"]);
    }
}
