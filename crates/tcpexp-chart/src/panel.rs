//! One pair of axes and the lines between them.

use plotters::style::RGBColor;

use crate::Error;
use crate::axis::Axis;
use crate::canvas::{Align, At, BLACK_INK, Canvas, TEXT_HEIGHT};

const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
const TICK_LENGTH: i32 = 8;
/// As wide as a shade is at the least: a fifth of a millimetre.
const LEAST_SHADE: i32 = 2;
/// Between a tick and its label, and between the labels and the axis' name.
const GAP: i32 = 10;

/// A mark stands for something at a time; it has no height.
const MARK_LENGTH: i32 = 20;
/// Between the marks and the frame.
const MARK_GAP: i32 = 6;

/// A rectangle on the figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
}

impl Frame {
    pub(crate) const fn width(self) -> i32 {
        self.right - self.left
    }

    pub(crate) const fn height(self) -> i32 {
        self.bottom - self.top
    }
}

/// A frame around data, with its axes outside.
pub(crate) struct Panel<'c, 'a> {
    canvas: &'c Canvas<'a>,
    frame: Frame,
    pub(crate) x: Axis,
    y: Axis,
    /// Width of the widest label of the vertical axis.
    y_labels: i32,
}

impl<'c, 'a> Panel<'c, 'a> {
    /// Room above the frame for marks.
    pub(crate) const MARKS: i32 = MARK_GAP + MARK_LENGTH;
    /// Room below the frame for the horizontal axis.
    pub(crate) const BELOW: i32 = TICK_LENGTH + 2 * (GAP + TEXT_HEIGHT);

    /// A panel that fills `outer` with its axes.
    pub(crate) fn new(canvas: &'c Canvas<'a>, outer: Frame, x: Axis, y: Axis) -> Self {
        let widest = |axis: &Axis| {
            let widths = axis.ticks.iter().map(|(_, label)| canvas.text_width(label));
            widths.max().unwrap_or(0)
        };
        let y_labels = widest(&y);
        let frame = Frame {
            left: outer.left + TEXT_HEIGHT + 2 * GAP + y_labels + TICK_LENGTH,
            // A label may stand below the very end of the axis.
            right: outer.right - widest(&x) / 2,
            bottom: outer.bottom - Self::BELOW,
            ..outer
        };
        Self {
            canvas,
            frame,
            x,
            y,
            y_labels,
        }
    }

    /// Gives panels one above the other the same left edge, so that their times compare.
    pub(crate) fn align(panels: &mut [Self]) {
        let left = panels.iter().map(|panel| panel.frame.left).max();
        for panel in panels {
            let more = left.map_or(0, |left| left - panel.frame.left);
            panel.frame.left += more;
            // The name stays at the very left.
            panel.y_labels += more;
        }
    }

    /// The smaller of the width and height left for data.
    pub(crate) fn room(&self) -> i32 {
        self.frame.width().min(self.frame.height())
    }

    /// Grid, axes, ticks and labels: everything below the data.
    pub(crate) fn draw_axes(&self) -> Result<(), Error> {
        let Frame {
            left,
            right,
            top,
            bottom,
        } = self.frame;
        for (value, label) in &self.x.ticks {
            let (x, _) = self.at((*value, self.y.low));
            self.canvas.line(&[(x, top), (x, bottom)], GRID, 1)?;
            self.canvas
                .line(&[(x, bottom), (x, bottom + TICK_LENGTH)], BLACK_INK, 2)?;
            let below = bottom + TICK_LENGTH + GAP + TEXT_HEIGHT / 2;
            self.canvas.text(label, (x, below), Align::Centre)?;
        }
        for (value, label) in &self.y.ticks {
            let (_, y) = self.at((self.x.low, *value));
            self.canvas.line(&[(left, y), (right, y)], GRID, 1)?;
            self.canvas
                .line(&[(left - TICK_LENGTH, y), (left, y)], BLACK_INK, 2)?;
            self.canvas
                .text(label, (left - TICK_LENGTH - GAP, y), Align::Right)?;
        }
        self.canvas.line(
            &[(left, top), (left, bottom), (right, bottom)],
            BLACK_INK,
            2,
        )?;
        let x_name = (
            i32::midpoint(left, right),
            bottom + Self::BELOW - TEXT_HEIGHT / 2,
        );
        self.canvas.text(&self.x.name, x_name, Align::Centre)?;
        let y_name_x = left - TICK_LENGTH - 2 * GAP - self.y_labels - TEXT_HEIGHT / 2;
        self.canvas.text(
            &self.y.name,
            (y_name_x, i32::midpoint(top, bottom)),
            Align::Upward,
        )
    }

    /// A line through `points`.
    pub(crate) fn draw_line(
        &self,
        points: &[(f64, f64)],
        colour: RGBColor,
        width: u32,
    ) -> Result<(), Error> {
        let mut path: Vec<At> = points.iter().map(|&point| self.at(point)).collect();
        path.dedup();
        self.canvas.line(&path, colour, width)
    }

    /// A dashed line at height `y`, from one side to the other.
    pub(crate) fn draw_level(&self, y: f64, colour: RGBColor) -> Result<(), Error> {
        let (_, y) = self.at((self.x.low, y));
        self.canvas
            .dashes((self.frame.left, self.frame.right), y, colour)
    }

    /// A mark above the frame, in the room left for [`marks`](Self::MARKS).
    pub(crate) fn draw_mark(&self, x: f64, colour: RGBColor) -> Result<(), Error> {
        let (x, top) = self.at((x, self.y.high));
        let bottom = top - MARK_GAP;
        self.canvas
            .line(&[(x, bottom - MARK_LENGTH), (x, bottom)], colour, 2)
    }

    /// What the marks above the frame are, at their left.
    pub(crate) fn draw_marks_name(&self, name: &str) -> Result<(), Error> {
        let y = self.frame.top - MARK_GAP - MARK_LENGTH / 2;
        let x = self.frame.left - TICK_LENGTH - GAP;
        self.canvas.text(name, (x, y), Align::Right)
    }

    /// Shades all of the height from one time to another, as far as it is within the panel, and
    /// visibly however short it is.
    pub(crate) fn shade(&self, (start, end): (f64, f64), colour: RGBColor) -> Result<(), Error> {
        let (start, end) = (start.max(self.x.low), end.min(self.x.high));
        if start > end {
            return Ok(());
        }
        let (left, top) = self.at((start, self.y.high));
        let (right, bottom) = self.at((end, self.y.low));
        self.canvas
            .area((left, top), (right.max(left + LEAST_SHADE), bottom), colour)
    }

    /// A dot at `point`.
    pub(crate) fn draw_dot(&self, point: (f64, f64), colour: RGBColor) -> Result<(), Error> {
        self.canvas.dot(self.at(point), colour, 4)
    }

    fn at(&self, (x, y): (f64, f64)) -> At {
        let right = along(self.frame.width(), self.x.fraction(x));
        let up = along(self.frame.height(), self.y.fraction(y));
        (self.frame.left + right, self.frame.bottom - up)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction of an i32 is one too"
)]
fn along(length: i32, fraction: f64) -> i32 {
    (f64::from(length) * fraction).round() as i32
}
