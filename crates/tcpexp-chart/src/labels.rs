//! Labels below a horizontal axis: of its ticks, and of the bands that group its slots.

use crate::abbreviated::abbreviated;
use crate::axis::{Axis, BandRow, Scale};
use crate::canvas::{Canvas, TEXT_HEIGHT};
use crate::fitting::wrapped;

/// Gap between a tick and its label, and between the labels and the axis' name.
pub(crate) const GAP: i32 = 10;
/// Height of a line of text with its gap.
pub(crate) const ROW: i32 = TEXT_HEIGHT + GAP;
/// Maximum number of lines of a wrapped tick label.
const MAX_LINES: usize = 3;
/// Gap between the labels of neighbouring slots: twice the space between words, so that they do not
/// read as one text.
const BETWEEN_LABELS: i32 = 16;
/// Maximum height of an upright label: 26 mm, half of a panel at the default size.
const MAX_UPRIGHT: i32 = 260;

/// Layout of the tick labels of a horizontal axis.
pub(crate) struct Labels {
    /// The lines of each tick's label.
    pub(crate) lines: Vec<Vec<String>>,
    /// True if the labels read from bottom to top, as they would overlap otherwise.
    pub(crate) are_upright: bool,
    /// Height of the labels.
    pub(crate) room: i32,
}

impl Labels {
    /// Lays out the labels of a panel whose data area is about `width` wide.
    pub(crate) fn of(canvas: &Canvas<'_>, axis: &Axis, width: i32) -> Self {
        let each = slot_width(axis, width) - BETWEEN_LABELS;
        let names = || axis.ticks.iter().map(|(_, name)| name.as_str());
        let whole = || names().map(|name| vec![name.to_owned()]).collect();
        if axis.scale != Scale::Slots || widest(canvas, axis) <= each {
            return Self {
                lines: whole(),
                are_upright: false,
                room: ROW,
            };
        }
        let fits = |text: &str| canvas.text_width(text) <= each;
        let wrapped: Option<Vec<Vec<String>>> =
            names().map(|name| wrapped(name, MAX_LINES, fits)).collect();
        if let Some(lines) = wrapped {
            let most = lines.iter().map(Vec::len).max().unwrap_or(1);
            let more = i32::try_from(most).unwrap_or(1) - 1;
            return Self {
                lines,
                are_upright: false,
                room: ROW + more * (TEXT_HEIGHT + 2),
            };
        }
        let fits = |text: &str| canvas.text_width(text) <= MAX_UPRIGHT;
        let names: Vec<&str> = names().collect();
        let lines = abbreviated(&names, fits).into_iter().map(|name| vec![name]);
        let mut lines: Vec<Vec<String>> = lines.collect();
        let bands = axis
            .bands
            .first()
            .map(|row| row.iter().map(|(slots, _)| *slots).collect());
        keep_apart(&mut lines, slot_width(axis, width), bands);
        let longest = lines
            .iter()
            .flatten()
            .map(|line| canvas.text_width(line))
            .max();
        Self {
            lines,
            are_upright: true,
            room: longest.unwrap_or(0) + 2 * GAP,
        }
    }
}

/// Shortens the names of slots of a vertical axis of this `height` to at most `most` wide.
pub(crate) fn shorten_beside(canvas: &Canvas<'_>, axis: &mut Axis, (most, height): (i32, i32)) {
    let names: Vec<&str> = axis.ticks.iter().map(|(_, name)| name.as_str()).collect();
    let mut names = abbreviated(&names, |text| canvas.text_width(text) <= most);
    keep_apart(&mut names, slot_width(axis, height), None);
    for ((_, name), shortened) in axis.ticks.iter_mut().zip(names) {
        *name = shortened;
    }
}

/// Leaves out the labels between those that have room for a line of text each, if slots are closer.
///
/// Each band has the label of its first slot if it has room, so that equal bands have equal labels. `bands` are the
/// numbers of slots of the bands.
fn keep_apart<Label: Default>(labels: &mut [Label], slot: i32, bands: Option<Vec<usize>>) {
    let step =
        (TEXT_HEIGHT / slot.max(1) + i32::from(TEXT_HEIGHT % slot.max(1) > 0)).unsigned_abs();
    let step = step as usize;
    let mut rest = labels;
    // Slots from the last label, in which no other label has room.
    let mut since = step;
    for slots in bands.unwrap_or_else(|| vec![rest.len()]) {
        let (band, others) = rest.split_at_mut(slots.min(rest.len()));
        rest = others;
        for (place, label) in band.iter_mut().enumerate() {
            // A label within a step of the next band would take the room of that band's first one.
            let has_room = place == 0 || rest.is_empty() || place + step <= slots;
            if since >= step && has_room {
                since = 0;
            } else {
                *label = Label::default();
            }
            since += 1;
        }
    }
}

/// Width of each slot of a data area that is `width` wide.
fn slot_width(axis: &Axis, width: i32) -> i32 {
    let slots = i32::try_from(axis.ticks.len()).unwrap_or(i32::MAX).max(1);
    width / slots
}

/// True if the labels of this axis of values are apart in a data area that is at most `width` wide.
pub(crate) fn are_apart(canvas: &Canvas<'_>, axis: &Axis, width: i32) -> bool {
    // Half of the last label may be beyond the end of the axis, which makes the axis shorter.
    let width = f64::from(width - widest(canvas, axis) / 2);
    axis.ticks.windows(2).all(|pair| {
        let [first, second] = [&pair[0], &pair[1]];
        let room = (axis.fraction(second.0) - axis.fraction(first.0)) * width;
        let needed = canvas.text_width(&first.1) + canvas.text_width(&second.1);
        f64::from(needed / 2 + BETWEEN_LABELS) <= room
    })
}

/// Width of the widest tick label.
pub(crate) fn widest(canvas: &Canvas<'_>, axis: &Axis) -> i32 {
    let widths = axis.ticks.iter().map(|(_, label)| canvas.text_width(label));
    widths.max().unwrap_or(0)
}

/// The rows of band names below an axis, from the top.
pub(crate) struct Bands {
    pub(crate) rows: Vec<BandNames>,
}

/// One row of bands.
pub(crate) struct BandNames {
    /// Number of slots and name of each band.
    pub(crate) names: Vec<(usize, String)>,
    /// True if the names have the names of their columns.
    are_whole: bool,
    /// True if the names read from bottom to top, as they would overlap otherwise.
    pub(crate) are_upright: bool,
    /// Height of the row.
    pub(crate) room: i32,
}

impl Bands {
    /// Lays out the bands of a panel whose data area is about `width` wide.
    pub(crate) fn of(canvas: &Canvas<'_>, axis: &Axis, width: i32) -> Self {
        let slot = slot_width(axis, width);
        let rows = axis
            .bands
            .iter()
            .map(|row| BandNames::of(canvas, row, slot));
        Self {
            rows: rows.collect(),
        }
    }

    /// For each row, true if its names have the names of their columns.
    pub(crate) fn are_whole(&self) -> impl Iterator<Item = bool> {
        self.rows.iter().map(|row| row.are_whole)
    }

    /// Height of all rows.
    pub(crate) fn room(&self) -> i32 {
        self.rows.iter().map(|row| row.room).sum()
    }
}

impl BandNames {
    fn of(canvas: &Canvas<'_>, row: &BandRow, slot: i32) -> Self {
        let fits = |length: usize| {
            row.iter().all(|(slots, names)| {
                let width = i32::try_from(*slots)
                    .unwrap_or(i32::MAX)
                    .saturating_mul(slot);
                canvas.text_width(&names[length]) <= width - BETWEEN_LABELS
            })
        };
        let of_length = |length: usize| row.iter().map(move |(_, names)| names[length].as_str());
        let with_slots = |names: Vec<String>| {
            let slots = row.iter().map(|(slots, _)| *slots);
            slots.zip(names).collect()
        };
        if let Some(length) = (0..3).find(|length| fits(*length)) {
            let is_same = |(_, names): &(usize, [String; 3])| names[length] == names[0];
            return Self {
                names: with_slots(of_length(length).map(str::to_owned).collect()),
                are_whole: row.iter().all(is_same),
                are_upright: false,
                room: ROW,
            };
        }
        let fits = |text: &str| canvas.text_width(text) <= MAX_UPRIGHT;
        let names: Vec<&str> = of_length(0).collect();
        let upright: Vec<(usize, String)> = with_slots(abbreviated(&names, fits));
        let widths = upright.iter().map(|(_, name)| canvas.text_width(name));
        let room = widths.max().unwrap_or(0) + 2 * GAP;
        Self {
            names: upright,
            are_whole: true,
            are_upright: true,
            room,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of the labels that stay in slots of half a line of text.
    fn kept(slots: usize, bands: Option<Vec<usize>>) -> Vec<usize> {
        let mut labels: Vec<Option<usize>> = (0..slots).map(Some).collect();
        keep_apart(&mut labels, TEXT_HEIGHT / 2, bands);
        labels.into_iter().flatten().collect()
    }

    #[test]
    fn each_band_has_the_label_of_its_first_slot() {
        assert_eq!(kept(7, None), [0, 2, 4, 6]);
        assert_eq!(kept(9, Some(vec![3, 3, 3])), [0, 3, 6, 8]);
        assert_eq!(kept(8, Some(vec![5, 3])), [0, 2, 5, 7]);
        // Bands of a slot are narrower than a label.
        assert_eq!(kept(4, Some(vec![1; 4])), [0, 2]);
    }
}
