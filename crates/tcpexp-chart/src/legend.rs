//! Which colour is which flow, above the panels where it covers nothing.

use plotters::style::RGBColor;

use crate::Error;
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};

const ROW_HEIGHT: i32 = TEXT_HEIGHT + 14;
const SAMPLE_LENGTH: i32 = 44;
const SAMPLE_WIDTH: u32 = 7;
/// Between a colour and its text.
const GAP: i32 = 12;
/// Between two entries.
const SPACE: i32 = 40;

/// What a text of the legend stands for.
pub(crate) struct Key {
    text: String,
    colour: RGBColor,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Line,
    Dashes,
    Area,
}

impl Key {
    /// A line.
    pub(crate) const fn line(text: String, colour: RGBColor) -> Self {
        Self {
            text,
            colour,
            kind: Kind::Line,
        }
    }

    /// A dashed line.
    pub(crate) const fn dashes(text: String, colour: RGBColor) -> Self {
        Self {
            text,
            colour,
            kind: Kind::Dashes,
        }
    }

    /// A shaded area.
    pub(crate) const fn area(text: String, colour: RGBColor) -> Self {
        Self {
            text,
            colour,
            kind: Kind::Area,
        }
    }
}

/// Entries in rows.
pub(crate) struct Legend {
    rows: Vec<Vec<Entry>>,
}

struct Entry {
    key: Key,
    left: i32,
}

impl Legend {
    /// Puts the keys into as few rows between `left` and `right` as they need.
    pub(crate) fn new(
        canvas: &Canvas<'_>,
        keys: impl IntoIterator<Item = Key>,
        (left, right): (i32, i32),
    ) -> Self {
        let mut rows: Vec<Vec<Entry>> = vec![Vec::new()];
        let mut next = left;
        for key in keys {
            let text = shortened(&key.text, |text| {
                canvas.text_width(text) <= right - left - SAMPLE_LENGTH - GAP
            });
            let width = SAMPLE_LENGTH + GAP + canvas.text_width(&text);
            if next > left && next + width > right {
                next = left;
                rows.push(Vec::new());
            }
            let entry = Entry {
                key: Key { text, ..key },
                left: next,
            };
            next += width + SPACE;
            rows.last_mut()
                .expect("a row was pushed before")
                .push(entry);
        }
        Self { rows }
    }

    pub(crate) fn height(&self) -> i32 {
        i32::try_from(self.rows.len()).map_or(i32::MAX, |rows| rows.saturating_mul(ROW_HEIGHT))
    }

    pub(crate) fn draw(&self, canvas: &Canvas<'_>, top: i32) -> Result<(), Error> {
        let mut y = top + ROW_HEIGHT / 2;
        for row in &self.rows {
            for Entry { key, left } in row {
                let end = left + SAMPLE_LENGTH;
                match key.kind {
                    Kind::Line => canvas.line(&[(*left, y), (end, y)], key.colour, SAMPLE_WIDTH)?,
                    Kind::Dashes => canvas.dashes((*left, end), y, key.colour)?,
                    Kind::Area => {
                        let half = TEXT_HEIGHT / 2;
                        canvas.area((*left, y - half), (end, y + half), key.colour)?;
                    }
                }
                canvas.text(&key.text, (end + GAP, y), Align::Left)?;
            }
            y += ROW_HEIGHT;
        }
        Ok(())
    }
}

/// As much of `text` as fits, with an ellipsis in the place of what does not.
fn shortened(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let starts = text
        .char_indices()
        .rev()
        .map(|(at, _)| format!("{}…", &text[..at]));
    starts
        .into_iter()
        .find(|start| fits(start))
        .unwrap_or_default()
}
