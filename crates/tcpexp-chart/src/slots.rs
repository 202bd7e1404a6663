//! Slots along an axis, with values side by side in each slot.

use tcpexp_table::Frame;

use crate::axis::AxisSpec;
use crate::legend::Key;
use crate::numbers::numbers;
use crate::theme::Ink;
use crate::{AxisStyle, Error, Levels};

/// Share of a slot's width used for drawing; the rest separates slots.
const FILLED: f64 = 0.8;
/// Maximum share of a slot's width for one box or bar.
const WIDEST: f64 = 0.45;

/// An axis of slots, each with a place per colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotAxis<'a> {
    /// Groups along the axis.
    pub slots: &'a Levels,
    /// Groups side by side in each slot.
    pub colours: &'a Levels,
}

/// Position of one box or bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Number of the colour.
    pub colour: usize,
    /// Middle in slots, counted from 0.
    pub middle: f64,
    /// Width in slots.
    pub width: f64,
}

impl Place {
    /// Left and right side in slots.
    pub fn sides(self) -> (f64, f64) {
        (
            self.middle - self.width / 2.0,
            self.middle + self.width / 2.0,
        )
    }
}

impl SlotAxis<'_> {
    /// The place of a colour in a slot.
    pub fn place(&self, slot: usize, colour: usize) -> Place {
        // A slot has one colour if its own columns determine the colour.
        let (number, place) = if self.colours.are_determined_by(self.slots) {
            (1.0, 0.0)
        } else {
            (self.colours.len().max(1) as f64, colour as f64)
        };
        let step = FILLED / number;
        Place {
            colour,
            middle: slot as f64 + step * (place - (number - 1.0) / 2.0),
            width: (step * 0.86).min(WIDEST),
        }
    }

    /// The axis with the names of the slots.
    pub fn spec(&self, style: &AxisStyle) -> AxisSpec {
        let labels = (0..self.slots.len()).map(|slot| self.slots.short(slot));
        let bands = self.slots.bands();
        let axis = AxisSpec::slots(self.slots.axis_name(), labels.collect(), bands, style);
        match style.name {
            // The user names the whole axis.
            Some(_) => axis,
            None => axis.in_bands_of(self.slots.band_names()),
        }
    }

    /// Legend entries of the colours. Without columns, the only colour has an empty name, which the legend
    /// leaves out.
    pub fn keys(&self) -> Vec<Key> {
        let key = |colour| {
            let label = self.colours.label(colour);
            Key::outlined(label, Ink::Pale(colour), Ink::Series(colour))
        };
        (0..self.colours.len()).map(key).collect()
    }
}

/// Values by slot and colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots<'a> {
    /// The axis of the slots.
    pub axis: SlotAxis<'a>,
    /// Values by slot, then by colour.
    values: Vec<Vec<Vec<f64>>>,
}

impl<'a> Slots<'a> {
    /// Groups the numbers of the column `y`.
    pub fn of(
        frame: &Frame,
        y: &str,
        slots: &'a Levels,
        colours: &'a Levels,
    ) -> Result<Self, Error> {
        let column = numbers(frame, y)?;
        let mut values = vec![vec![Vec::new(); colours.len()]; slots.len()];
        for row in 0..frame.rows() {
            values[slots.of_row(row)][colours.of_row(row)].extend(column.number(row));
        }
        Ok(Self {
            axis: SlotAxis { slots, colours },
            values,
        })
    }

    /// The values of each place from left to right, without empty places.
    pub fn places(&self) -> impl Iterator<Item = (Place, &[f64])> {
        let slots = self.values.iter().enumerate();
        slots.flat_map(move |(slot, colours)| {
            let colours = colours.iter().enumerate();
            colours
                .filter(|(_, values)| !values.is_empty())
                .map(move |(colour, values)| (self.axis.place(slot, colour), values.as_slice()))
        })
    }

    /// The smallest and the largest finite value.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        let values = self.values.iter().flatten().flatten().copied();
        values
            .filter(|value| value.is_finite())
            .fold(None, |found, value| {
                let (least, most) = found.unwrap_or((value, value));
                Some((value.min(least), value.max(most)))
            })
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;

    #[test]
    fn boxes_are_side_by_side_only_if_a_slot_may_have_several_colours() {
        let texts = |cells: [&'static str; 2]| Series::texts(cells.map(Some));
        let frame = Frame::of(vec![
            ("cc".into(), texts(["reno", "bbr"])),
            ("delay".into(), texts(["10 ms", "40 ms"])),
        ]);
        let [cc, delay] = ["cc", "delay"].map(|column| Levels::of(&frame, &[column.to_owned()]));
        for (colours, expected) in [(&delay, [0.0, 1.0]), (&cc, [-0.2, 1.2])] {
            let axis = SlotAxis {
                slots: &delay,
                colours,
            };
            for (number, expected) in expected.into_iter().enumerate() {
                let off = axis.place(number, number).middle - expected;
                assert!(off.abs() < 1e-9, "{number}: {off}");
            }
        }
    }
}
