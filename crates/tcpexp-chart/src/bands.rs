//! Names of bands, which group the slots of a horizontal axis.

use crate::axis::{Axis, BandRow};
use crate::canvas::Canvas;
use crate::legend::shortened_inside;
use crate::panel::{BETWEEN_LABELS, GAP, MAX_UPRIGHT, ROW, slot_width};

/// The rows of band names below an axis, from the top.
pub(crate) struct Bands {
    pub(crate) rows: Vec<Row>,
}

/// One row of bands.
pub(crate) struct Row {
    /// Number of slots and name of each band.
    pub(crate) names: Vec<(usize, String)>,
    /// True if the names read from bottom to top, as they would overlap otherwise.
    pub(crate) are_upright: bool,
    /// Height of the row.
    pub(crate) room: i32,
}

impl Bands {
    /// Lays out the bands of a panel that is `outer_width` wide with its axes.
    pub(crate) fn of(canvas: &Canvas<'_>, axis: &Axis, outer_width: i32) -> Self {
        let slot = slot_width(axis, outer_width);
        let rows = axis.bands.iter().map(|row| Row::of(canvas, row, slot));
        Self {
            rows: rows.collect(),
        }
    }

    /// Height of all rows.
    pub(crate) fn room(&self) -> i32 {
        self.rows.iter().map(|row| row.room).sum()
    }
}

impl Row {
    fn of(canvas: &Canvas<'_>, row: &BandRow, slot: i32) -> Self {
        let fits = |length: usize| {
            row.iter().all(|(slots, names)| {
                let width = i32::try_from(*slots)
                    .unwrap_or(i32::MAX)
                    .saturating_mul(slot);
                canvas.text_width(&names[length]) <= width - BETWEEN_LABELS
            })
        };
        let named = |name: &dyn Fn(&[String; 3]) -> String| {
            let names = row.iter().map(|(slots, names)| (*slots, name(names)));
            names.collect()
        };
        if let Some(length) = (0..3).find(|length| fits(*length)) {
            return Self {
                names: named(&|names| names[length].clone()),
                are_upright: false,
                room: ROW,
            };
        }
        let fits = |text: &str| canvas.text_width(text) <= MAX_UPRIGHT;
        let upright: Vec<(usize, String)> = named(&|names| shortened_inside(&names[1], fits));
        let widths = upright.iter().map(|(_, name)| canvas.text_width(name));
        let room = widths.max().unwrap_or(0) + 2 * GAP;
        Self {
            names: upright,
            are_upright: true,
            room,
        }
    }
}
