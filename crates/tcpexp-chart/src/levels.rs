//! Grouping of rows by the values of columns.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use tcpexp_table::{Cell, Frame, Series};
use tcpexp_units::by_value;

use crate::Quantity;
use crate::axis::BandRow;

/// The distinct combinations of values in some columns, in order: numbers by size, text as
/// [`by_value`] compares it, nulls last.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    columns: Vec<String>,
    values: Vec<Vec<Value>>,
    /// Level of each row, by row number.
    of_row: Vec<usize>,
}

/// Value of one cell.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    Null,
}

impl Levels {
    /// Groups the rows by `columns`; a column missing from the frame is null in all rows.
    ///
    /// Without columns all rows are one group.
    pub fn of(frame: &Frame, columns: &[String]) -> Self {
        let series: Vec<Option<&Series>> = columns.iter().map(|name| frame.column(name)).collect();
        let cell = |column: usize, row: usize| {
            series[column].map_or(Cell::Null, |series| series.cell(row))
        };
        // Rows of one group are usually adjacent, so each run of equal rows needs one lookup.
        let is_same =
            |a: usize, b: usize| (0..series.len()).all(|column| cell(column, a) == cell(column, b));
        let mut found: HashMap<Vec<Value>, Vec<(usize, usize)>> = HashMap::new();
        let mut start = 0;
        while start < frame.rows() {
            let rest = start + 1..frame.rows();
            let end = rest
                .into_iter()
                .find(|&row| !is_same(start, row))
                .unwrap_or(frame.rows());
            let level = (0..series.len()).map(|column| Value::of(cell(column, start)));
            found.entry(level.collect()).or_default().push((start, end));
            start = end;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut of_row = vec![0; frame.rows()];
        for (number, (_, runs)) in found.iter().enumerate() {
            for &(start, end) in runs {
                of_row[start..end].fill(number);
            }
        }
        Self {
            columns: columns.to_vec(),
            values: found.into_iter().map(|(values, _)| values).collect(),
            of_row,
        }
    }

    /// The groups of all rows, for the rows for which `keep` is true.
    pub(crate) fn filtered(&self, keep: &[bool]) -> Self {
        let kept = self.of_row.iter().zip(keep);
        Self {
            columns: self.columns.clone(),
            values: self.values.clone(),
            of_row: kept
                .filter_map(|(level, keep)| keep.then_some(*level))
                .collect(),
        }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The group of a row.
    pub fn of_row(&self, row: usize) -> usize {
        self.of_row[row]
    }

    /// True if all rows of a group of `others` are also in one group here, because `others` has all
    /// columns of this grouping.
    pub(crate) fn are_determined_by(&self, others: &Self) -> bool {
        let mut columns = self.columns.iter();
        columns.all(|column| others.columns.contains(column))
    }

    /// Name of a group: `cubic, delay 20 ms`. Text values appear without their column's name.
    pub fn label(&self, level: usize) -> String {
        let parts = self.columns.iter().zip(&self.values[level]);
        let texts = parts.map(|(column, value)| value.named(column));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// The group's value in the last column: `20`, for an axis that names quantity and unit.
    pub fn short(&self, level: usize) -> String {
        let value = self.values[level].last();
        value.map_or(String::new(), Value::short)
    }

    /// The group's number in the last column.
    pub fn number(&self, level: usize) -> Option<f64> {
        match self.values[level].last()? {
            Value::Number(number) => Some(*number),
            Value::Text(_) | Value::Null => None,
        }
    }

    /// For each column but the last, from the inner to the outer: the bands of adjacent groups with
    /// equal values in this column and the columns further out.
    pub fn bands(&self) -> Vec<BandRow> {
        let outer = 0..self.columns.len().saturating_sub(1);
        let row = |place: usize| {
            let runs = self.values.chunk_by(|a, b| a[..=place] == b[..=place]);
            let bands = runs.map(|run| {
                let (column, value) = (&self.columns[place], &run[0][place]);
                let unit = Quantity::of_column(column).own_unit();
                let with_unit = format!("{} {unit}", value.short());
                let names = [value.named(column), with_unit, value.short()];
                (run.len(), names.map(|name| name.trim_end().to_owned()))
            });
            bands.collect()
        };
        outer.rev().map(row).collect()
    }

    /// Name of an axis with these groups: the last column, with its unit.
    pub fn axis_name(&self) -> String {
        self.columns
            .last()
            .map_or(String::new(), |column| with_unit(column))
    }

    /// Names and units of the columns of [`bands`](Self::bands).
    pub fn band_names(&self) -> Vec<String> {
        let outer = &self.columns[..self.columns.len().saturating_sub(1)];
        outer.iter().rev().map(|column| with_unit(column)).collect()
    }
}

/// The quantity of a column with its unit.
fn with_unit(column: &str) -> String {
    let quantity = Quantity::of_column(column);
    match quantity.own_unit().as_str() {
        "" => quantity.name,
        unit => format!("{} ({unit})", quantity.name),
    }
}

impl Value {
    fn of(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Whole(whole) => Self::Number(whole as f64),
            Cell::Real(real) => Self::Number(real),
            Cell::Text(text) => Self::Text(text.to_owned()),
        }
    }

    /// The value with the column's name and unit; text stays as it is.
    fn named(&self, column: &str) -> String {
        let quantity = Quantity::of_column(column);
        match self {
            Self::Text(text) => text.clone(),
            Self::Null => format!("no {}", quantity.name),
            Self::Number(_) => {
                let unit = quantity.own_unit();
                let space = if unit.is_empty() { "" } else { " " };
                format!("{} {}{space}{unit}", quantity.name, self.short())
            }
        }
    }

    fn short(&self) -> String {
        match self {
            // The shortest exact decimals; parameters have few.
            Self::Number(number) => format!("{number}").replace('-', "\u{2212}"),
            Self::Text(text) => text.clone(),
            Self::Null => "\u{2013}".to_owned(),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Null => 2,
        }
    }
}

// Numbers that are read from a table are finite, so equality is reflexive.
impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // The sum makes the two zeros, which are equal, one.
            Self::Number(number) => (number + 0.0).to_bits().hash(state),
            Self::Text(text) => text.hash(state),
            Self::Null => {}
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => by_value(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn frame() -> Frame {
        Frame::of(vec![
            (
                "cc".into(),
                Series::texts([Some("reno"), Some("cubic"), Some("reno"), None]),
            ),
            (
                "delay_ms".into(),
                Series::Real(vec![Some(100.0), Some(20.0), Some(2.5), Some(20.0)]),
            ),
            (
                "buffer_packets".into(),
                Series::Whole(vec![Some(50), Some(90), Some(180), Some(50)]),
            ),
        ])
    }

    fn labels(columns: &[&str]) -> String {
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        let levels = Levels::of(&frame(), &columns);
        let labels = (0..levels.len()).map(|level| levels.label(level));
        labels.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn groups_are_sorted_and_named() {
        assert_snapshot!(labels(&["cc"]), @r"cubic | reno | no congestion control");
        assert_snapshot!(labels(&["delay_ms"]), @r"delay 2.5 ms | delay 20 ms | delay 100 ms");
        assert_snapshot!(labels(&["cc", "buffer_packets"]), @r"cubic, buffer 90 packets | reno, buffer 50 packets | reno, buffer 180 packets | no congestion control, buffer 50 packets");
        assert_snapshot!(labels(&[]), @"");
    }

    #[test]
    fn groups_of_two_columns_are_in_bands_of_the_first() {
        let columns = ["delay_ms", "buffer_packets"].map(str::to_owned);
        let levels = Levels::of(&frame(), &columns);
        let names = |slots: usize, names: [&str; 3]| (slots, names.map(str::to_owned));
        let expected = vec![
            names(1, ["delay 2.5 ms", "2.5 ms", "2.5"]),
            names(2, ["delay 20 ms", "20 ms", "20"]),
            names(1, ["delay 100 ms", "100 ms", "100"]),
        ];
        assert_eq!(levels.bands(), [expected]);
        assert_eq!(levels.axis_name(), "buffer (packets)");
        assert_eq!(levels.band_names(), ["delay (ms)"]);
        let of_rows: Vec<usize> = (0..4).map(|row| levels.of_row(row)).collect();
        assert_eq!(of_rows, [3, 2, 0, 1]);
    }
}
