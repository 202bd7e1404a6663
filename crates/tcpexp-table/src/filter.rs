//! Conditions that select rows of a table.

use std::fmt;
use std::str::FromStr;

use tcpexp_units::{by_value, elements, list_of};

use crate::frame::{Cell, Frame};

/// A condition on one column, in command-line syntax: `cc=cubic,reno`, `delay_ms>=20`, `run!=7`.
/// A value that contains a comma is in double quotes: `rtt="16ms, 82ms"`.
///
/// Null meets no condition. Texts are in the order of [`by_value`]: `rtt<100ms` keeps `42ms`.
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
            values.any(|value| compare(cell, value).is_some_and(relation))
        };
        let is_one = || self.values.iter().any(|value| is_equal(cell, value));
        match self.relation {
            Relation::Equal => is_one(),
            // Text that is no number differs from every number, so the row stays.
            Relation::Other => !is_one(),
            Relation::Less => any(Comparison::is_lt),
            Relation::LessOrEqual => any(Comparison::is_le),
            Relation::Greater => any(Comparison::is_gt),
            Relation::GreaterOrEqual => any(Comparison::is_ge),
        }
    }
}

type Comparison = std::cmp::Ordering;

/// As [`compare`], without the meaning of texts: only equal texts compare as equal.
fn is_equal(cell: Cell<'_>, value: &str) -> bool {
    match cell {
        Cell::Text(text) => text == value,
        number => compare(number, value).is_some_and(Comparison::is_eq),
    }
}

/// `None` if the cell is a number and `value` is not.
fn compare(cell: Cell<'_>, value: &str) -> Option<Comparison> {
    match cell {
        Cell::Null => None,
        Cell::Text(text) => Some(by_value(text, value)),
        // Times since 1970 in nanoseconds exceed 2⁵³, so an f64 does not distinguish all of them.
        Cell::Whole(whole) => match value.parse::<i64>() {
            Ok(value) => Some(whole.cmp(&value)),
            Err(_) => (whole as f64).partial_cmp(&value.parse().ok()?),
        },
        Cell::Real(real) => real.partial_cmp(&value.parse().ok()?),
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

    fn kept(filters: &[&str]) -> Vec<i64> {
        let frame = Frame::of(vec![
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
        ]);
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
