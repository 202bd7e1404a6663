//! Panels: a frame for data with a pair of axes.

use crate::Error;
use crate::axis::{Axis, AxisSpec, Scale};
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};
use crate::clip::{At, Point};
use crate::fitting::{lines, shortened};
use crate::labels::{Bands, GAP, Labels, ROW, widest};
use crate::stroke::Stroke;
use crate::theme::Ink;
use crate::tick_room::{horizontal, ticks_across, vertical};

const GRID: Stroke = Stroke::solid(Ink::Grid, 1);
const RULE: Stroke = Stroke::solid(Ink::Black, 2);
const TICK_LENGTH: i32 = 8;

/// Room that is left for a vertical axis before its labels are known: the labels of the horizontal axis
/// determine the height of the panel, and the height determines the numbers of the vertical axis.
/// Names, which may be longer, do not depend on the height.
const USUAL_BESIDE: i32 = 130;

/// Maximum number of lines of the name of a horizontal axis.
const NAME_LINES: usize = 3;

/// Length of a mark. A mark shows the time of an event; its length has no meaning.
const MARK_LENGTH: i32 = 24;
/// Gap between the marks and the frame.
const MARK_GAP: i32 = TEXT_HEIGHT / 2 + 4;

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

/// The axes of a panel, and what is beside them.
pub(crate) struct Axes<'a> {
    pub(crate) x: &'a AxisSpec,
    pub(crate) y: &'a AxisSpec,
    /// True if the panel on the left has the labels of the vertical axis.
    pub(crate) shares_y: bool,
    /// Minimum room for the vertical axis. All panels of a column have the room that the widest labels need.
    pub(crate) beside: i32,
    /// Room needed right of the frame.
    pub(crate) right: i32,
}

/// A frame for data, with its axes outside.
pub(crate) struct Panel {
    pub(crate) frame: Frame,
    /// Right side of the panel with all that is beside it.
    pub(crate) outer_right: i32,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    x_labels: Labels,
    bands: Bands,
    /// The lines of the horizontal axis' name.
    x_name: Vec<String>,
    has_y_labels: bool,
    /// Horizontal position of the vertical axis' name.
    y_name: i32,
}

impl Panel {
    /// Room for marks above the frame.
    pub(crate) const MARKS: i32 = MARK_GAP + MARK_LENGTH;
    /// Room below the frame for an axis without labels.
    pub(crate) const BARE: i32 = TICK_LENGTH;

    /// Creates a panel at the top of `outer` that has its width, including the axes, and `height`.
    pub(crate) fn new(canvas: &Canvas<'_>, (outer, height): (Frame, i32), axes: &Axes<'_>) -> Self {
        let y = vertical(canvas, axes.y, (outer.width(), height));
        let room = Self::beside(canvas, axes.y, (outer.width(), height));
        // Panels with one vertical axis have equal data areas, and so equal labels.
        let width = outer.width() + if axes.shares_y { room } else { 0 };
        let x = horizontal(
            canvas,
            axes.x,
            (width, width - room.max(axes.beside) - axes.right),
        );
        let left = outer.left + if axes.shares_y { TICK_LENGTH } else { room };
        // A label may be centred below the very end of the axis.
        let beyond = match x.scale {
            Scale::Slots => 2,
            Scale::Linear | Scale::Log => widest(canvas, &x) / 2,
        };
        let beyond = beyond.max(axes.right);
        let frame = Frame {
            left,
            right: outer.right - beyond,
            top: outer.top,
            bottom: outer.top.saturating_add(height),
        };
        let inside = width - room.max(USUAL_BESIDE);
        let bands = Bands::of(canvas, &x, inside);
        Self {
            x_labels: Labels::of(canvas, &x, inside),
            x_name: x_name(canvas, (&x, &bands), outer.width()),
            bands,
            has_y_labels: !axes.shares_y,
            outer_right: outer.right,
            y_name: outer.left + TEXT_HEIGHT / 2,
            frame,
            x,
            y,
        }
    }

    /// Room of the vertical axis of a panel of about this width and height.
    pub(crate) fn beside(canvas: &Canvas<'_>, y: &AxisSpec, size: (i32, i32)) -> i32 {
        let y = vertical(canvas, y, size);
        TEXT_HEIGHT + 2 * GAP + widest(canvas, &y) + TICK_LENGTH
    }

    /// Room that the horizontal axis needs below the frame of a panel about `width` wide and `height`
    /// high. The labels of its vertical axis take `shared` room in the panel on its left.
    pub(crate) fn below(
        canvas: &Canvas<'_>,
        (x, y): (&AxisSpec, &AxisSpec),
        (own_width, shared, height): (i32, i32, i32),
    ) -> i32 {
        let width = own_width + shared;
        let axis = x.axis(ticks_across(width));
        let inside = width - Self::beside(canvas, y, (width, height)).max(USUAL_BESIDE);
        let labels = Labels::of(canvas, &axis, inside).room;
        let bands = Bands::of(canvas, &axis, inside);
        let name = x_name(canvas, (&axis, &bands), own_width).len();
        let more = i32::try_from(name).unwrap_or(1).max(1) - 1;
        let name = ROW + more * (TEXT_HEIGHT + 2);
        TICK_LENGTH + labels + bands.room() + name
    }

    /// Gives panels in a column the same left and right sides, so that their times align.
    pub(crate) fn align(panels: &mut [Self]) {
        let left = panels.iter().map(|panel| panel.frame.left).max();
        let right = panels.iter().map(|panel| panel.frame.right).min();
        for panel in panels {
            panel.frame.left = left.unwrap_or(panel.frame.left);
            panel.frame.right = right.unwrap_or(panel.frame.right);
        }
    }

    /// The smaller of the data area's width and height.
    pub(crate) fn room(&self) -> i32 {
        self.frame.width().min(self.frame.height())
    }

    /// Position of a data point in fractions of the axes.
    pub(crate) fn fraction(&self, (x, y): Point) -> Point {
        (self.x.fraction(x), self.y.fraction(y))
    }

    /// Position on the figure of a point in fractions of the axes.
    pub(crate) fn place(&self, (x, y): Point) -> At {
        (
            self.frame.left + along(self.frame.width(), x),
            self.frame.bottom - along(self.frame.height(), y),
        )
    }

    /// Draws everything below the data: grid, axes, ticks and labels.
    pub(crate) fn draw_axes(&self, canvas: &Canvas<'_>, has_x_labels: bool) -> Result<(), Error> {
        let Frame {
            left,
            right,
            top,
            bottom,
        } = self.frame;
        for (place, (value, _)) in self.x.ticks.iter().enumerate() {
            let (x, _) = self.place(self.fraction((*value, self.y.low)));
            if self.x.scale != Scale::Slots {
                canvas.line(&[(x, top), (x, bottom)], GRID)?;
                canvas.line(&[(x, bottom), (x, bottom + TICK_LENGTH)], RULE)?;
            }
            if has_x_labels {
                self.draw_x_label(canvas, place, x)?;
            }
        }
        for (value, label) in &self.y.ticks {
            let (_, y) = self.place(self.fraction((self.x.low, *value)));
            if self.y.scale != Scale::Slots {
                canvas.line(&[(left, y), (right, y)], GRID)?;
                canvas.line(&[(left - TICK_LENGTH, y), (left, y)], RULE)?;
            }
            if self.has_y_labels && !label.is_empty() {
                canvas.text(label, (left - TICK_LENGTH - GAP, y), Align::Right)?;
            }
        }
        if has_x_labels {
            self.draw_bands(canvas)?;
        }
        canvas.line(&[(left, top), (left, bottom), (right, bottom)], RULE)?;
        if has_x_labels {
            let mut y = self.x_name_start() + ROW / 2;
            for line in &self.x_name {
                // A name wider than the frame stays inside the panel.
                let half = (canvas.text_width(line) + 1) / 2;
                let (least, most) = (self.outer_left() + half, self.outer_right - half);
                let x = i32::midpoint(left, right).min(most).max(least);
                canvas.text(line, (x, y), Align::Centre)?;
                y += TEXT_HEIGHT + 2;
            }
        }
        if !self.has_y_labels {
            return Ok(());
        }
        let y_name = (self.y_name, i32::midpoint(top, bottom));
        let name = shortened(&self.y.name, |text| {
            canvas.text_width(text) <= bottom - top + 2 * ROW
        });
        canvas.text(&name, y_name, Align::Upward)
    }

    /// Draws the label of the tick with the number `tick`.
    fn draw_x_label(&self, canvas: &Canvas<'_>, tick: usize, x: i32) -> Result<(), Error> {
        let mut below = self.frame.bottom + TICK_LENGTH + GAP;
        for line in &self.x_labels.lines[tick] {
            if self.x_labels.are_upright {
                canvas.text(line, (x, below), Align::UpTo)?;
            } else {
                canvas.text(line, (x, below + TEXT_HEIGHT / 2), Align::Centre)?;
            }
            below += TEXT_HEIGHT + 2;
        }
        Ok(())
    }

    /// Draws the names of the bands, with rules between them.
    fn draw_bands(&self, canvas: &Canvas<'_>) -> Result<(), Error> {
        let mut top = self.labels_end();
        for row in &self.bands.rows {
            let mut next = self.x.low;
            for (place, (slots, name)) in row.names.iter().enumerate() {
                let start = next;
                next += *slots as f64;
                let [left, right] =
                    [start, next].map(|x| self.place(self.fraction((x, self.y.low))).0);
                if place > 0 {
                    canvas.line(&[(left, self.frame.top), (left, top + row.room)], GRID)?;
                }
                let middle = i32::midpoint(left, right);
                if row.are_upright {
                    canvas.text(name, (middle, top + GAP), Align::UpTo)?;
                } else {
                    canvas.text(name, (middle, top + ROW / 2), Align::Centre)?;
                }
            }
            top += row.room;
        }
        Ok(())
    }

    /// Draws marks in the room above the frame, see [`MARKS`](Self::MARKS).
    pub(crate) fn draw_marks(
        &self,
        canvas: &Canvas<'_>,
        xs: &[f64],
        ink: Ink,
    ) -> Result<(), Error> {
        let bottom = self.frame.top - MARK_GAP;
        let inside = xs.iter().filter(|x| (self.x.low..=self.x.high).contains(x));
        let mut places: Vec<i32> = inside
            .map(|&x| self.place(self.fraction((x, self.y.low))).0)
            .collect();
        // A burst of losses has many marks at one position, which look like one mark.
        places.sort_unstable();
        places.dedup();
        places.into_iter().try_for_each(|x| {
            let stroke = Stroke::solid(ink, 2);
            canvas.line(&[(x, bottom - MARK_LENGTH), (x, bottom)], stroke)
        })
    }

    /// Draws the name of the marks, left of them.
    pub(crate) fn draw_marks_name(&self, canvas: &Canvas<'_>, name: &str) -> Result<(), Error> {
        let y = self.frame.top - MARK_GAP - MARK_LENGTH / 2;
        let x = self.frame.left - TICK_LENGTH - GAP;
        canvas.text(name, (x, y), Align::Right)
    }

    /// Lower end of the tick labels.
    fn labels_end(&self) -> i32 {
        self.frame.bottom + TICK_LENGTH + self.x_labels.room
    }

    /// Left side of the panel with all that is beside it.
    const fn outer_left(&self) -> i32 {
        self.y_name - TEXT_HEIGHT / 2
    }

    /// Upper end of the horizontal axis' name.
    fn x_name_start(&self) -> i32 {
        self.labels_end() + self.bands.room()
    }
}

/// The lines of the name of a horizontal axis of a panel that is `width` wide. The name has the columns of the
/// bands whose own names lack them.
fn x_name(canvas: &Canvas<'_>, (axis, bands): (&Axis, &Bands), width: i32) -> Vec<String> {
    let of_bands = axis.band_names.iter().zip(bands.are_whole());
    let missing = of_bands.filter(|(_, is_whole)| !is_whole);
    let name = missing.fold(axis.name.clone(), |name, (band, _)| {
        format!("{name} in bands of {band}")
    });
    lines(&name, NAME_LINES, |text| canvas.text_width(text) <= width)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction of an i32 is one too"
)]
fn along(length: i32, fraction: f64) -> i32 {
    (f64::from(length) * fraction).round() as i32
}
