//! The contents of a panel and their drawing.

use crate::Error;
use crate::axis::AxisSpec;
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};
use crate::fitting::shortened;
use crate::heat::HeatScale;
use crate::layer::Layer;
use crate::line_end::LineEnd;
use crate::panel::{Axes, Frame, Panel};

/// Height of a title above a panel.
pub(crate) const TITLE: i32 = TEXT_HEIGHT + 14;

/// The contents of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The horizontal axis.
    pub x: AxisSpec,
    /// The vertical axis.
    pub y: AxisSpec,
    /// Contents in drawing order; shades are drawn below the grid.
    pub layers: Vec<Layer>,
    /// Name of the marks above the panel, if it has any.
    pub marks: Option<String>,
    /// Colour scale beside the panel.
    pub scale: Option<HeatScale>,
    /// Title above the panel.
    pub title: Option<String>,
    /// True if the panel on its left has the labels of the same vertical axis.
    pub shares_y: bool,
    /// Names of lines right of the panel, at the heights where the lines end.
    pub ends: Vec<LineEnd>,
}

impl Plot {
    /// Creates an empty panel.
    pub const fn new(x: AxisSpec, y: AxisSpec) -> Self {
        Self {
            x,
            y,
            layers: Vec::new(),
            marks: None,
            scale: None,
            title: None,
            shares_y: false,
            ends: Vec::new(),
        }
    }

    /// The axes, with the room for the names of lines in a frame of this width.
    pub(crate) fn axes(&self, canvas: &Canvas<'_>, outer_width: i32) -> Axes<'_> {
        Axes {
            x: &self.x,
            y: &self.y,
            shares_y: self.shares_y,
            beside: 0,
            right: LineEnd::room(canvas, &self.ends, outer_width),
        }
    }

    /// Draws the contents and the axes in `panel`.
    pub(crate) fn draw(
        &self,
        canvas: &Canvas<'_>,
        panel: &Panel,
        has_x_labels: bool,
    ) -> Result<(), Error> {
        let (below, above): (Vec<&Layer>, Vec<&Layer>) =
            self.layers.iter().partition(|layer| layer.is_background());
        for layer in below {
            layer.draw(canvas, panel)?;
        }
        panel.draw_axes(canvas, has_x_labels)?;
        if let Some(name) = &self.marks {
            panel.draw_marks_name(canvas, name)?;
        }
        for layer in above {
            layer.draw(canvas, panel)?;
        }
        if let Some(scale) = &self.scale {
            scale.draw(canvas, panel.frame)?;
        }
        if let Some(title) = &self.title {
            let Frame {
                left, right, top, ..
            } = panel.frame;
            let title = shortened(title, |text| canvas.text_width(text) <= right - left);
            let marks = if self.marks.is_some() {
                Panel::MARKS
            } else {
                0
            };
            let at = (i32::midpoint(left, right), top - marks - TITLE / 2);
            canvas.text(&title, at, Align::Centre)?;
        }
        LineEnd::draw(canvas, panel, &self.ends)
    }
}
