//! The colour scale of a heat map.

use crate::Error;
use crate::axis::{Axis, AxisSpec};
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};
use crate::panel::Frame;
use crate::stroke::Stroke;
use crate::theme::Ink;

const WIDTH: i32 = 36;
const GAP: i32 = 10;
/// Gap between the panel and the scale.
const BEFORE: i32 = 24;
const TICK_LENGTH: i32 = 8;
/// Room of a tick with its label.
const TICK_ROOM: i32 = 70;
const STEPS: i32 = 64;

/// A colour scale beside a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatScale {
    /// The scale's axis, which maps values to colours.
    pub axis: AxisSpec,
    /// The only value and its text, if all values are equal: they have one colour, and no scale.
    pub only: Option<(f64, String)>,
}

impl HeatScale {
    /// The ink for a value.
    pub fn ink(&self, value: f64) -> Ink {
        // A value beyond given limits has the colour of the nearest end.
        Ink::Heat(self.axis.axis(1).fraction(value).clamp(0.0, 1.0))
    }

    /// Width of the scale beside a panel of this height.
    pub(crate) fn room(&self, canvas: &Canvas<'_>, height: i32) -> i32 {
        BEFORE + WIDTH + TICK_LENGTH + GAP + self.labels(canvas, height) + GAP + TEXT_HEIGHT
    }

    /// Draws the scale at the right of `panel`.
    pub(crate) fn draw(&self, canvas: &Canvas<'_>, panel: Frame) -> Result<(), Error> {
        let rule = Stroke::solid(Ink::Black, 2);
        let (left, height) = (panel.right + BEFORE, panel.height());
        let right = left + WIDTH;
        for step in (0..STEPS).rev() {
            let top = panel.bottom - height * (step + 1) / STEPS;
            let ink = match &self.only {
                Some((value, _)) => self.ink(*value),
                None => Ink::Heat(f64::from(step) / f64::from(STEPS - 1)),
            };
            // Each area reaches the bottom: the background would be visible between adjacent areas.
            canvas.area((left, top), (right, panel.bottom), ink)?;
        }
        let axis = self.ticked(height);
        for (value, label) in &axis.ticks {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a part of the height of the figure"
            )]
            let up = (f64::from(height) * axis.fraction(*value)).round() as i32;
            let y = panel.bottom - up;
            canvas.line(&[(right, y), (right + TICK_LENGTH, y)], rule)?;
            canvas.text(label, (right + TICK_LENGTH + GAP, y), Align::Left)?;
        }
        let beside = right + TICK_LENGTH + 2 * GAP + self.labels(canvas, height);
        let middle = i32::midpoint(panel.top, panel.bottom);
        canvas.text(
            &axis.name,
            (beside + TEXT_HEIGHT / 2, middle),
            Align::Upward,
        )
    }

    /// The axis with the ticks of a scale of this height.
    fn ticked(&self, height: i32) -> Axis {
        let axis = self.axis.axis(most_ticks(height));
        match &self.only {
            Some(only) => Axis {
                ticks: vec![only.clone()],
                ..axis
            },
            None => axis,
        }
    }

    fn labels(&self, canvas: &Canvas<'_>, height: i32) -> i32 {
        let axis = self.ticked(height);
        let widths = axis.ticks.iter().map(|(_, label)| canvas.text_width(label));
        widths.max().unwrap_or(0)
    }
}

fn most_ticks(height: i32) -> u32 {
    (height / TICK_ROOM).clamp(1, 20).unsigned_abs()
}
