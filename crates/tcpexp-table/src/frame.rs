//! Columns of tables, read back by name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Error;

/// Some columns of one or several tables, with the rows of the tables concatenated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    rows: usize,
    columns: Vec<(String, Series)>,
}

/// The cells of one column; `None` is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Series {
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Text; flags are `true` and `false`.
    Text(Texts),
}

/// Text cells, many of them equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    cells: Vec<Option<u32>>,
}

/// Value of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Null.
    Null,
    /// A whole number.
    Whole(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(&'a str),
}

impl Frame {
    /// Creates a frame from columns of equal length.
    pub fn of(columns: Vec<(String, Series)>) -> Self {
        let rows = columns.first().map_or(0, |(_, series)| series.len());
        Self { rows, columns }
    }

    /// Number of rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Series> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, series)| series)
    }

    /// A row's text in the column of this name; `None` for a number, or without the column.
    pub fn text(&self, column: &str, row: usize) -> Option<&str> {
        self.column(column)?.text(row)
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Replaces the column of this name, or adds it.
    pub fn set(&mut self, name: &str, series: Series) {
        match self.columns.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = series,
            None => self.add(name, series),
        }
    }

    /// Adds a column; the first column sets the number of rows.
    pub fn add(&mut self, name: impl Into<String>, series: Series) {
        if self.columns.is_empty() {
            self.rows = series.len();
        }
        self.columns.push((name.into(), series));
    }

    /// Appends the rows of `other`. A column that only one frame has is null in the rows of the
    /// other.
    pub fn append(&mut self, other: Self) -> Result<(), Error> {
        if self.columns.is_empty() {
            *self = other;
            return Ok(());
        }
        let rows = self.rows + other.rows;
        for (name, series) in other.columns {
            let known = self.columns.iter_mut().find(|(known, _)| *known == name);
            if let Some((_, own)) = known {
                own.append(series)
                    .map_err(|()| Error::MixedTypes { column: name })?;
                continue;
            }
            let mut own = series.nulls(self.rows);
            // `own` has the type of `series`, so the append succeeds.
            if own.append(series).is_ok() {
                self.columns.push((name, own));
            }
        }
        self.rows = rows;
        for (_, series) in &mut self.columns {
            series.pad(rows);
        }
        Ok(())
    }

    /// Makes a column text in both frames if one of them has text in it and the other numbers.
    pub fn agree_on_text(&mut self, other: &mut Self, name: &str) {
        let has = |frame: &Self, is_text: bool| {
            let series = frame.column(name);
            series.is_some_and(|series| series.is_number() != is_text && !series.is_all_null())
        };
        let is_mixed = [true, false].map(|text| has(self, text) && has(other, !text));
        if is_mixed.contains(&true) {
            for frame in [self, other] {
                if let Some(series) = frame.column(name) {
                    let texts = (0..series.len()).map(|row| series.cell(row).text());
                    let texts = Series::texts(texts);
                    frame.set(name, texts);
                }
            }
        }
    }

    /// The rows for which `keep` is true.
    #[must_use]
    pub fn filtered(&self, keep: &[bool]) -> Self {
        let columns = self.columns.iter();
        let columns = columns.map(|(name, series)| (name.clone(), series.filtered(keep)));
        Self {
            rows: keep.iter().filter(|kept| **kept).count(),
            columns: columns.collect(),
        }
    }
}

impl Cell<'_> {
    /// The value as text; `None` for null.
    pub fn text(self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Whole(whole) => Some(whole.to_string()),
            Self::Real(real) => Some(real.to_string()),
            Self::Text(text) => Some(text.to_owned()),
        }
    }
}

impl Series {
    /// Creates a series of text cells.
    pub fn texts<T: AsRef<str>>(cells: impl IntoIterator<Item = Option<T>>) -> Self {
        let mut texts = Texts::default();
        for cell in cells {
            texts.push(cell.as_ref().map(AsRef::as_ref));
        }
        Self::Text(texts)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(cells) => cells.len(),
            Self::Real(cells) => cells.len(),
            Self::Text(texts) => texts.cells.len(),
        }
    }

    /// True if the series has no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the cells are numbers.
    pub const fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
    }

    /// Value of a row's cell; null past the last row.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        let cell = match self {
            Self::Whole(cells) => cells.get(row).copied().flatten().map(Cell::Whole),
            Self::Real(cells) => cells.get(row).copied().flatten().map(Cell::Real),
            Self::Text(texts) => texts.get(row).map(Cell::Text),
        };
        cell.unwrap_or(Cell::Null)
    }

    /// A row's number as floating point, for charts and statistics.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self.cell(row) {
            Cell::Whole(whole) => Some(whole as f64),
            Cell::Real(real) => Some(real),
            Cell::Null | Cell::Text(_) => None,
        }
    }

    /// A row's whole number.
    pub fn whole(&self, row: usize) -> Option<i64> {
        match self.cell(row) {
            Cell::Whole(whole) => Some(whole),
            _ => None,
        }
    }

    /// A row's text; `None` for a number.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self.cell(row) {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    fn nulls(&self, rows: usize) -> Self {
        match self {
            Self::Whole(_) => Self::Whole(vec![None; rows]),
            Self::Real(_) => Self::Real(vec![None; rows]),
            Self::Text(_) => Self::Text(Texts {
                cells: vec![None; rows],
                ..Texts::default()
            }),
        }
    }

    fn pad(&mut self, rows: usize) {
        match self {
            Self::Whole(cells) => cells.resize(rows, None),
            Self::Real(cells) => cells.resize(rows, None),
            Self::Text(texts) => texts.cells.resize(rows, None),
        }
    }

    /// Whole and floating-point numbers combine to floating point, text combines with text only,
    /// and nulls combine with all.
    fn append(&mut self, other: Self) -> Result<(), ()> {
        match (&mut *self, other) {
            (Self::Whole(own), Self::Whole(more)) => own.extend(more),
            (Self::Real(own), Self::Real(more)) => own.extend(more),
            (Self::Real(own), Self::Whole(more)) => own.extend(more.into_iter().map(real)),
            (Self::Whole(own), Self::Real(more)) => {
                let all = own.drain(..).map(real).chain(more);
                *self = Self::Real(all.collect());
            }
            (Self::Text(own), Self::Text(more)) => {
                for row in 0..more.cells.len() {
                    own.push(more.get(row));
                }
            }
            // A CSV or JSON column without values reads as text, whatever its type in other tables.
            (own, more) if more.is_all_null() => {
                let rows = own.len() + more.len();
                own.pad(rows);
            }
            (own, more) if own.is_all_null() => {
                let mut padded = more.nulls(own.len());
                padded.append(more)?;
                *self = padded;
            }
            _ => return Err(()),
        }
        Ok(())
    }

    fn is_all_null(&self) -> bool {
        (0..self.len()).all(|row| self.cell(row) == Cell::Null)
    }

    fn filtered(&self, keep: &[bool]) -> Self {
        fn kept<T: Copy>(cells: &[T], keep: &[bool]) -> Vec<T> {
            let cells = cells.iter().zip(keep);
            cells
                .filter(|(_, keep)| **keep)
                .map(|(cell, _)| *cell)
                .collect()
        }
        match self {
            Self::Whole(cells) => Self::Whole(kept(cells, keep)),
            Self::Real(cells) => Self::Real(kept(cells, keep)),
            Self::Text(texts) => Self::Text(Texts {
                cells: kept(&texts.cells, keep),
                // The remaining cells refer to names by number, so all names stay.
                ..texts.clone()
            }),
        }
    }
}

fn real(whole: Option<i64>) -> Option<f64> {
    whole.map(|whole| whole as f64)
}

impl Texts {
    fn get(&self, row: usize) -> Option<&str> {
        let number = self.cells.get(row).copied().flatten()?;
        self.names.get(number as usize).map(AsRef::as_ref)
    }

    fn push(&mut self, text: Option<&str>) {
        let number = text.map(|text| {
            self.numbers.get(text).copied().unwrap_or_else(|| {
                let name: Arc<str> = text.into();
                let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.names.push(Arc::clone(&name));
                self.numbers.insert(name, number);
                number
            })
        });
        self.cells.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, series: Series) -> Frame {
        Frame::of(vec![(name.to_owned(), series)])
    }

    #[test]
    fn rows_of_several_tables_are_concatenated() {
        let mut all = frame("cc", Series::texts([Some("reno"), None]));
        all.add("rtt_ns", Series::Whole(vec![Some(5), Some(6)]));
        let mut more = frame("cc", Series::texts([Some("cubic"), Some("reno")]));
        more.add("rtt_ns", Series::Real(vec![Some(7.5), None]));
        more.add("delay_ms", Series::Whole(vec![Some(20), Some(20)]));
        all.append(more).unwrap();
        assert_eq!(all.rows(), 4);
        assert_eq!(
            all.column("cc"),
            Some(&Series::texts([
                Some("reno"),
                None,
                Some("cubic"),
                Some("reno")
            ]))
        );
        let expected = vec![Some(5.0), Some(6.0), Some(7.5), None];
        assert_eq!(all.column("rtt_ns"), Some(&Series::Real(expected)));
        let expected = vec![None, None, Some(20), Some(20)];
        assert_eq!(all.column("delay_ms"), Some(&Series::Whole(expected)));
        assert_eq!(all.filtered(&[false, false, true, false]).rows(), 1);
    }

    #[test]
    fn frames_agree_on_text_for_a_column_that_is_text_in_one() {
        let mut numbers = frame("buffer", Series::Real(vec![Some(10.0), None, Some(2.5)]));
        let mut texts = frame("buffer", Series::texts([Some("auto")]));
        numbers.agree_on_text(&mut texts, "buffer");
        numbers.append(texts).unwrap();
        let expected = Series::texts([Some("10"), None, Some("2.5"), Some("auto")]);
        assert_eq!(numbers.column("buffer"), Some(&expected));
        // Nulls have no type, so numbers stay numbers.
        let mut numbers = frame("buffer", Series::Whole(vec![Some(1)]));
        numbers.agree_on_text(
            &mut frame("buffer", Series::texts([None::<&str>])),
            "buffer",
        );
        assert!(numbers.column("buffer").unwrap().is_number());
    }

    #[test]
    fn texts_and_numbers_are_not_joined_into_one_column() {
        let mut numbers = frame("rate", Series::Whole(vec![Some(10)]));
        let error = numbers.append(frame("rate", Series::texts([Some("10mbit")])));
        assert_eq!(
            error.unwrap_err().to_string(),
            "the column rate is text in one table and a number in another"
        );
        let nothing = frame("rate", Series::texts([None::<&str>]));
        assert!(numbers.append(nothing.clone()).is_ok());
        let mut first_nothing = nothing;
        first_nothing.append(numbers).unwrap();
        let expected = vec![None, Some(10), None];
        assert_eq!(first_nothing.column("rate"), Some(&Series::Whole(expected)));
    }
}
