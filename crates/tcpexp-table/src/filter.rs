//! Conditions that select rows of a table.

use std::fmt;
use std::str::FromStr;

use tcpexp_units::{by_size, elements, is_word, list_of};
use thiserror::Error;

use crate::frame::{Cell, Frame};
use crate::unit_value::in_unit_of;

/// A condition on one column, in command-line syntax: `cc=cubic,reno`, `delay_ms>=20`, `run!=7`.
/// A value that contains a comma is in double quotes: `rtt="16ms, 82ms"`.
///
/// Null meets no condition. Texts compare by [`by_size`]: `rtt<100ms` keeps `42ms`. A value with a unit is
/// converted to the unit of a column of numbers: `rate_mbps=10mbit` keeps 10.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Name of the column.
    pub column: String,
    relation: Relation,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// One of the values.
    Equal,
    /// None of the values.
    Other,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Operators of two characters come first: their first character is an operator too.
const RELATIONS: [(&str, Relation); 6] = [
    ("!=", Relation::Other),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl Filter {
    /// The rows of `frame` that meet all `filters`. A column missing from the frame is null in all
    /// rows.
    pub fn all(filters: &[Self], frame: &Frame) -> Frame {
        if filters.is_empty() {
            return frame.clone();
        }
        let keep: Vec<bool> = (0..frame.rows())
            .map(|row| filters.iter().all(|filter| filter.keeps(frame, row)))
            .collect();
        frame.filtered(&keep)
    }

    fn keeps(&self, frame: &Frame, row: usize) -> bool {
        let cell = frame
            .column(&self.column)
            .map_or(Cell::Null, |series| series.cell(row));
        if cell == Cell::Null {
            return false;
        }
        let any = |relation: fn(Comparison) -> bool| {
            let mut values = self.values.iter();
            values.any(|value| self.compare(cell, value).is_some_and(relation))
        };
        let is_one = || any(Comparison::is_eq);
        match self.relation {
            Relation::Equal => is_one(),
            // A word differs from every number, so the row stays.
            Relation::Other => !is_one(),
            Relation::Less => any(Comparison::is_lt),
            Relation::LessOrEqual => any(Comparison::is_le),
            Relation::Greater => any(Comparison::is_gt),
            Relation::GreaterOrEqual => any(Comparison::is_ge),
        }
    }
}

type Comparison = std::cmp::Ordering;

impl Filter {
    /// Compares a cell with one of the values; `None` if they are of different kinds.
    fn compare(&self, cell: Cell<'_>, value: &str) -> Option<Comparison> {
        let number = |value: &str| {
            value
                .parse()
                .ok()
                .or_else(|| in_unit_of(&self.column, value))
        };
        match cell {
            Cell::Null => None,
            Cell::Text(text) => by_size(text, value),
            // Times since 1970 in nanoseconds exceed 2⁵³, so an f64 does not distinguish all of them.
            Cell::Whole(whole) => match value.parse::<i64>() {
                Ok(value) => Some(whole.cmp(&value)),
                Err(_) => (whole as f64).partial_cmp(&number(value)?),
            },
            Cell::Real(real) => real.partial_cmp(&number(value)?),
        }
    }
}

/// A value of a filter compares with no value of the column.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the filter {filter} cannot compare {value} with {column}, which has values such as {example}"
)]
pub struct FilterError {
    filter: String,
    value: String,
    column: String,
    example: String,
}

/// Checks that the values of a filter compare with those of its column, which may be in several frames.
///
/// A parameter may be a number in one dataset and a word in another, so one frame with comparable values is
/// enough.
#[derive(Clone, Debug)]
pub struct FilterCheck<'a> {
    filter: &'a Filter,
    /// True for each value of the filter that compares with a cell.
    are_comparable: Vec<bool>,
    /// The first cell.
    example: Option<String>,
}

impl<'a> FilterCheck<'a> {
    /// Creates a check that has seen no cells.
    pub fn of(filter: &'a Filter) -> Self {
        Self {
            filter,
            are_comparable: vec![false; filter.values.len()],
            example: None,
        }
    }

    /// Compares the values of the filter with the cells of `frame`.
    pub fn add(&mut self, frame: &Frame) {
        let Some(series) = frame.column(&self.filter.column) else {
            return;
        };
        let cells = || (0..frame.rows()).map(|row| series.cell(row));
        let Some(first) = cells().find(|cell| *cell != Cell::Null) else {
            return;
        };
        self.example.get_or_insert_with(|| match first {
            Cell::Null => String::new(),
            Cell::Text(text) => text.to_owned(),
            Cell::Whole(whole) => whole.to_string(),
            Cell::Real(real) => real.to_string(),
        });
        for (value, is_comparable) in self.filter.values.iter().zip(&mut self.are_comparable) {
            // All numbers of a column compare alike.
            *is_comparable |= if series.is_number() {
                self.filter.compare(first, value).is_some()
            } else {
                cells().any(|cell| self.filter.has_meaning(cell, value))
            };
        }
    }

    /// The error for the first value that compares with no cell, if there were cells.
    pub fn result(self) -> Result<(), FilterError> {
        let mut values = self.filter.values.iter().zip(&self.are_comparable);
        let wrong = values.find(|(_, is_comparable)| !**is_comparable);
        match (wrong, self.example) {
            (Some((value, _)), Some(example)) => Err(FilterError {
                filter: self.filter.to_string(),
                value: value.clone(),
                column: self.filter.column.clone(),
                example,
            }),
            _ => Ok(()),
        }
    }
}

impl Filter {
    /// True if the relation of this cell and this value has a meaning: words equal or differ from anything.
    fn has_meaning(&self, cell: Cell<'_>, value: &str) -> bool {
        let has_order = !matches!(self.relation, Relation::Equal | Relation::Other);
        let is_word = |cell: Cell<'_>| matches!(cell, Cell::Text(text) if is_word(text));
        self.compare(cell, value).is_some()
            || !has_order && (is_word(cell) || is_word(Cell::Text(value)))
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no filter: write it as cc=cubic,reno or delay_ms>=20");
        let found = RELATIONS
            .into_iter()
            .filter_map(|(sign, relation)| Some((text.find(sign)?, sign, relation)))
            // The leftmost operator; at the same position the longest one.
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())));
        let (at, sign, relation) = found.ok_or_else(wrong)?;
        let (column, values) = (text[..at].trim(), text[at + sign.len()..].trim());
        if column.is_empty() || values.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            column: column.to_owned(),
            relation,
            values: elements(values).ok_or_else(wrong)?,
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = RELATIONS.iter().find(|(_, known)| *known == self.relation);
        let sign = sign.map_or("=", |(sign, _)| *sign);
        write!(f, "{}{sign}{}", self.column, list_of(&self.values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Series;

    fn frame() -> Frame {
        Frame::of(vec![
            (
                "cc".into(),
                Series::texts([Some("reno"), Some("cubic"), Some("vegas"), None]),
            ),
            (
                "rate_mbps".into(),
                Series::Real(vec![Some(2.0), Some(2.5), None, Some(10.0)]),
            ),
            (
                "rtt".into(),
                Series::texts([Some("9ms"), Some("16ms, 82ms"), Some("82ms"), Some("162ms")]),
            ),
            (
                "row".into(),
                Series::Whole(vec![Some(0), Some(1), Some(2), Some(3)]),
            ),
        ])
    }

    fn kept(filters: &[&str]) -> Vec<i64> {
        let frame = frame();
        let filters: Vec<Filter> = filters.iter().map(|text| text.parse().unwrap()).collect();
        let kept = Filter::all(&filters, &frame);
        let rows = 0..kept.rows();
        rows.filter_map(|row| kept.column("row").unwrap().whole(row))
            .collect()
    }

    #[test]
    fn filter_keeps_rows_that_meet_all_conditions() {
        assert_eq!(kept(&[]), [0, 1, 2, 3]);
        assert_eq!(kept(&["cc=reno,cubic"]), [0, 1]);
        assert_eq!(kept(&["cc != reno"]), [1, 2]);
        assert_eq!(kept(&["rate_mbps=2"]), [0]);
        assert_eq!(kept(&["rate_mbps>=2.5"]), [1, 3]);
        assert_eq!(kept(&["row<3", "row>0.5"]), [1, 2]);
        assert_eq!(kept(&["rate_mbps=fast"]), [0; 0]);
        assert_eq!(kept(&["nowhere=1"]), [0; 0]);
    }

    #[test]
    fn a_value_with_a_comma_is_in_quotes() {
        assert_eq!(kept(&["rtt=16ms, 82ms"]), [2]);
        assert_eq!(kept(&["rtt=\"16ms, 82ms\""]), [1]);
        assert_eq!(kept(&["rtt=9ms,\"16ms, 82ms\""]), [0, 1]);
    }

    #[test]
    fn quantities_compare_by_size() {
        assert_eq!(kept(&["rtt<=82ms"]), [0, 1, 2]);
        assert_eq!(kept(&["rtt>100ms"]), [3]);
    }

    #[test]
    fn equal_sizes_are_equal() {
        assert_eq!(kept(&["rtt=0.082s"]), [2]);
        assert_eq!(kept(&["rtt!=0.082s"]), [0, 1, 3]);
        assert_eq!(kept(&["rtt<=0.082s"]), [0, 1, 2]);
    }

    #[test]
    fn a_value_with_a_unit_has_the_unit_of_its_column() {
        assert_eq!(kept(&["rate_mbps!=10mbit"]), [0, 1]);
        assert_eq!(kept(&["rate_mbps>=2500kbit"]), [1, 3]);
        assert_eq!(kept(&["rate_mbps=0.25MB/s,10Mbit/s"]), [0, 3]);
    }

    #[test]
    fn a_value_of_another_kind_than_its_column_is_an_error() {
        let frame = frame();
        let checked = |filter: &str| {
            let filter: Filter = filter.parse().unwrap();
            let mut check = FilterCheck::of(&filter);
            check.add(&frame);
            check.result().map_err(|error| error.to_string())
        };
        for filter in [
            "cc=reno",
            "cc!=10",
            "cc>=cubic",
            "rtt!=none",
            "rtt=9ms,1s",
            "rate_mbps<2mbit",
            "nowhere=1",
        ] {
            assert_eq!(checked(filter), Ok(()), "{filter}");
        }
        let error = |filter| checked(filter).unwrap_err();
        assert_eq!(
            error("rtt>=50"),
            "the filter rtt>=50 cannot compare 50 with rtt, which has values such as 9ms"
        );
        assert_eq!(
            error("rate_mbps=2,fast"),
            "the filter rate_mbps=2,fast cannot compare fast with rate_mbps, which has values such as 2"
        );
        for wrong in [
            "rtt!=50",
            "rtt<10mbit",
            "cc>5",
            "rate_mbps!=10ms",
            "row=1kB",
        ] {
            assert!(checked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_parameter_may_be_a_number_in_one_frame_and_a_word_in_another() {
        let filter: Filter = "buffer=auto".parse().unwrap();
        let mut check = FilterCheck::of(&filter);
        check.add(&Frame::of(vec![(
            "buffer".into(),
            Series::Whole(vec![Some(10)]),
        )]));
        assert!(check.clone().result().is_err());
        check.add(&Frame::of(vec![(
            "buffer".into(),
            Series::texts([Some("auto")]),
        )]));
        assert_eq!(check.result(), Ok(()));
    }

    #[test]
    fn a_filter_prints_as_typed() {
        let shown = |text: &str| text.parse::<Filter>().unwrap().to_string();
        assert_eq!(shown("delay_ms >= 20"), "delay_ms>=20");
        assert_eq!(
            shown("flow=10.0.0.1:5 > 10.0.0.2:6"),
            "flow=10.0.0.1:5 > 10.0.0.2:6"
        );
        assert_eq!(shown("rtt=\"16ms, 82ms\",9ms"), "rtt=\"16ms, 82ms\",9ms");
        for wrong in ["", "cc", "=reno", "cc=", "cc=\"reno"] {
            let error = wrong.parse::<Filter>().unwrap_err();
            assert!(error.contains("is no filter"), "{error}");
        }
    }
}
