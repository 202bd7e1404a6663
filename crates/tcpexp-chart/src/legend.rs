//! The legend above the panels.

use crate::Error;
use crate::abbreviated::abbreviated;
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};
use crate::stroke::{Marker, Stroke};
use crate::theme::Ink;

const ROW_HEIGHT: i32 = TEXT_HEIGHT + 14;
/// Length of a sample: it shows the dashes of each series once as a whole, and where they begin again.
pub(crate) const SAMPLE_LENGTH: i32 = 64;
const SAMPLE_WIDTH: u32 = 6;
/// Gap between a sample and its text.
const GAP: i32 = 12;
/// Gap between two entries.
const SPACE: i32 = 40;

/// An entry of the legend: its text and its sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    text: String,
    /// A value after the text, which is not shortened.
    value: String,
    sample: Sample,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    Line(Stroke),
    /// A marker, optionally on a line.
    Marker(Option<Stroke>, Marker, Ink),
    Area(Ink),
    /// An outlined box.
    Outlined(Ink, Ink),
}

impl Key {
    /// A line in the stroke of its layer, widened so that its colour is seen.
    pub fn line(text: impl Into<String>, stroke: Stroke) -> Self {
        let width = SAMPLE_WIDTH;
        Self::stroke(text, Stroke { width, ..stroke })
    }

    /// A line in the stroke of its layer.
    pub fn stroke(text: impl Into<String>, stroke: Stroke) -> Self {
        Self::new(text, Sample::Line(stroke))
    }

    /// A marker, optionally on a line.
    pub fn marker(
        text: impl Into<String>,
        stroke: Option<Stroke>,
        marker: Marker,
        ink: Ink,
    ) -> Self {
        Self::new(text, Sample::Marker(stroke, marker, ink))
    }

    /// A shaded area.
    pub fn area(text: impl Into<String>, ink: Ink) -> Self {
        Self::new(text, Sample::Area(ink))
    }

    /// An outlined area.
    pub fn outlined(text: impl Into<String>, inside: Ink, outline: Ink) -> Self {
        Self::new(text, Sample::Outlined(inside, outline))
    }

    fn new(text: impl Into<String>, sample: Sample) -> Self {
        Self {
            text: text.into(),
            value: String::new(),
            sample,
        }
    }

    /// Adds a value after the text, which may be shortened before it.
    #[must_use]
    pub(crate) fn with_value(self, value: String) -> Self {
        Self { value, ..self }
    }

    /// The text of the entry.
    pub(crate) const fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }
}

/// Legend entries, arranged in rows and columns.
pub(crate) struct Legend {
    rows: Vec<Vec<Entry>>,
}

struct Entry {
    key: Key,
    left: i32,
}

impl Legend {
    /// Arranges the keys in rows between `left` and `right`, in columns where these take no more rows.
    pub(crate) fn new(
        canvas: &Canvas<'_>,
        keys: impl IntoIterator<Item = Key>,
        (left, right): (i32, i32),
    ) -> Self {
        // A series without a name is the only one, and needs no key.
        let keys = keys.into_iter();
        let keys = keys.filter(|key| !key.text.is_empty() || !key.value.is_empty());
        let keys: Vec<Key> = keys.collect();
        let widest = keys.iter().map(|key| canvas.text_width(&key.value)).max();
        let most = right - left - SAMPLE_LENGTH - GAP - widest.unwrap_or(0);
        let names: Vec<&str> = keys.iter().map(|key| key.text.as_str()).collect();
        let names = abbreviated(&names, |text| canvas.text_width(text) <= most);
        let keys = keys.iter().zip(names).map(|(key, name)| {
            let text = name + &key.value;
            Key {
                text,
                ..key.clone()
            }
        });
        let keys: Vec<Key> = keys.collect();
        let width = |key: &Key| SAMPLE_LENGTH + GAP + canvas.text_width(&key.text);
        let widths: Vec<i32> = keys.iter().map(width).collect();
        let mut keys = keys.into_iter();
        let rows = row_starts(&widths, right.saturating_sub(left)).into_iter();
        let rows = rows.map(|starts| {
            let entries = starts.into_iter().zip(keys.by_ref());
            let entry = |(start, key)| Entry {
                key,
                left: left + start,
            };
            entries.map(entry).collect()
        });
        Self {
            rows: rows.collect(),
        }
    }

    pub(crate) fn height(&self) -> i32 {
        if self.rows.iter().all(Vec::is_empty) {
            return 0;
        }
        i32::try_from(self.rows.len()).map_or(i32::MAX, |rows| rows.saturating_mul(ROW_HEIGHT))
    }

    pub(crate) fn draw(&self, canvas: &Canvas<'_>, top: i32) -> Result<(), Error> {
        let mut y = top + ROW_HEIGHT / 2;
        for row in &self.rows {
            for Entry { key, left } in row {
                let end = left + SAMPLE_LENGTH;
                key.sample.draw(canvas, (*left, end), y)?;
                canvas.text(&key.text, (end + GAP, y), Align::Left)?;
            }
            y += ROW_HEIGHT;
        }
        Ok(())
    }
}

impl Sample {
    fn draw(self, canvas: &Canvas<'_>, (left, right): (i32, i32), y: i32) -> Result<(), Error> {
        const HALF: i32 = TEXT_HEIGHT / 2;
        const OUTLINE: i32 = 3;
        match self {
            Self::Line(stroke) => canvas.line(&[(left, y), (right, y)], stroke),
            Self::Marker(stroke, marker, ink) => {
                if let Some(stroke) = stroke {
                    canvas.line(&[(left, y), (right, y)], stroke)?;
                }
                canvas.marker((i32::midpoint(left, right), y), marker, ink, 9)
            }
            Self::Area(ink) => canvas.area((left, y - HALF), (right, y + HALF), ink),
            Self::Outlined(inside, outline) => {
                canvas.area((left, y - HALF), (right, y + HALF), outline)?;
                let (left, right) = (left + OUTLINE, right - OUTLINE);
                let (top, bottom) = (y - HALF + OUTLINE, y + HALF - OUTLINE);
                canvas.area((left, top), (right, bottom), inside)?;
                let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
                canvas.hatch(&corners, inside)
            }
        }
    }
}

/// Where entries of these widths start in each row: in columns, unless that takes more rows than entries
/// one after the other.
fn row_starts(entries: &[i32], room: i32) -> Vec<Vec<i32>> {
    let mut packed: Vec<Vec<i32>> = Vec::new();
    let mut next = 0_i32;
    for width in entries {
        let starts_row = packed.is_empty() || next.saturating_add(*width) > room;
        if starts_row {
            next = 0;
            packed.push(Vec::new());
        }
        packed
            .last_mut()
            .expect("a row was pushed before")
            .push(next);
        next = next.saturating_add(width.saturating_add(SPACE));
    }
    let in_columns = |number: usize| -> Option<Vec<Vec<i32>>> {
        let of_column = |first: usize| entries.iter().skip(first).step_by(number).max();
        let mut next = 0_i32;
        let starts = (0..number).filter_map(of_column).map(|width| {
            let start = next;
            next = next.saturating_add(width.saturating_add(SPACE));
            start
        });
        let starts: Vec<i32> = starts.collect();
        let rows = entries
            .chunks(number)
            .map(|row| starts[..row.len()].to_vec());
        (next.saturating_sub(SPACE) <= room).then(|| rows.collect())
    };
    let mut numbers = (1..=entries.len()).rev().filter_map(in_columns);
    numbers
        .next()
        .filter(|rows| rows.len() <= packed.len())
        .unwrap_or(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_legend_stand_in_columns_unless_that_takes_more_rows() {
        let (wide, narrow) = (300, 100);
        let second = narrow + SPACE;
        let third = second + wide + SPACE;
        let entries = [narrow, wide, narrow, narrow, narrow];
        let room = third + narrow;
        assert_eq!(
            row_starts(&entries, room),
            [vec![0, second, third], vec![0, second]]
        );
        // In two columns, which take three rows, the wide entry leaves room for nothing.
        let packed = [vec![0, second], vec![0, second, 2 * second]];
        assert_eq!(row_starts(&entries, room - 1), packed);
        assert_eq!(row_starts(&[narrow; 3], -1), [[0], [0], [0]]);
        assert!(row_starts(&[], room).is_empty());
    }
}
