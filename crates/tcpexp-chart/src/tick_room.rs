//! Axes with as many ticks as a panel has room for.

use crate::axis::{Axis, AxisSpec, Scale};
use crate::canvas::{Canvas, TEXT_HEIGHT};
use crate::labels::{GAP, are_apart, shorten_beside};

/// Room of a tick with its label, along a horizontal and along a vertical axis.
const TICK_ROOM: (i32, i32) = (110, 70);
/// The same along a vertical axis with few ticks, because two ticks hardly show a scale.
const CLOSE_TICK_ROOM: i32 = TEXT_HEIGHT + 2 * GAP;
/// Number of steps between ticks up to which they may be that close.
const FEW_STEPS: i32 = 4;

/// Largest share of a panel's width for the names of slots on the vertical axis, in fifths: at column
/// width, 12 slots on the horizontal axis of a heat map are then as wide as a line of text.
const BESIDE_FIFTHS: i32 = 2;

/// The horizontal axis of a panel of about this width, whose data area is at most `inside` wide: as many
/// ticks as have room for their labels.
pub(crate) fn horizontal(canvas: &Canvas<'_>, x: &AxisSpec, (width, inside): (i32, i32)) -> Axis {
    let most = ticks_across(width);
    let mut axis = x.axis(most);
    if axis.scale == Scale::Slots || are_apart(canvas, &axis, inside) {
        return axis;
    }
    // A scale is readable only from two ticks on.
    let mut fewer = (1..most).rev().map(|most| x.axis(most));
    let fits = |axis: &Axis| axis.ticks.len() > 1 && are_apart(canvas, axis, inside);
    if let Some(fitting) = fewer.find(fits) {
        return fitting;
    }
    // Ticks without labels are better than labels that run into each other.
    for (_, label) in axis.ticks.iter_mut().skip(1) {
        label.clear();
    }
    axis
}

/// The vertical axis of a panel of about this width and height.
pub(crate) fn vertical(canvas: &Canvas<'_>, y: &AxisSpec, (width, height): (i32, i32)) -> Axis {
    let close = (height / CLOSE_TICK_ROOM).min(FEW_STEPS);
    let mut axis = y.axis(ticks(height, TICK_ROOM.1).max(close.max(1).unsigned_abs()));
    if axis.scale == Scale::Slots {
        let most = width * BESIDE_FIFTHS / 5;
        shorten_beside(canvas, &mut axis, (most, height));
    }
    axis
}

/// Number of ticks that a horizontal axis of this length has room for, if their labels are short.
pub(crate) fn ticks_across(length: i32) -> u32 {
    ticks(length, TICK_ROOM.0)
}

/// Number of ticks that an axis has room for, from 1 to 20.
fn ticks(length: i32, room: i32) -> u32 {
    (length / room).clamp(1, 20).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Plot;
    use crate::scene::Scene;
    use crate::{AxisStyle, FigureSize, Style};

    #[test]
    fn an_axis_of_long_numbers_has_fewer_ticks_than_one_of_short_numbers() {
        let numbers = |start: f64, width_mm| {
            let style = AxisStyle::default();
            let x = AxisSpec::values("", (start, start + 418.0), &style);
            let y = AxisSpec::values("", (0.0, 1.0), &style);
            let scene = Scene {
                rows: vec![Plot::new(x, y).into()],
                ..Scene::default()
            };
            let size = FigureSize {
                width_mm,
                height_mm: 60,
            };
            let texts = scene.draw(&Style::from(size)).unwrap().texts();
            let (below, _) = texts.split_once(" | 0.0 ").unwrap();
            below.to_owned()
        };
        insta::assert_snapshot!(numbers(0.0, 85), @"0 | 100 | 200 | 300 | 400");
        insta::assert_snapshot!(numbers(63_072_000_000.0, 85), @"63072000000 | 63072000200 | 63072000400");
        // One number has room.
        insta::assert_snapshot!(numbers(63_072_000_000.0, 40), @"63072000000 |  | ");
    }
}
