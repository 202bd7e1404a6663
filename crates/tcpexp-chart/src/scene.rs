//! A figure before drawing: panels with their contents, and a legend.

use crate::canvas::{Align, Canvas, TEXT_HEIGHT, UNITS_PER_MM};
use crate::fitting::{lines, shortened};
use crate::labels::ROW;
use crate::legend::{Key, Legend};
use crate::line_end::LineEnd;
use crate::panel::{Frame, Panel};
use crate::plot::{Plot, TITLE};
use crate::row::Row;
use crate::{Error, FigureSize, Style, Svg};

/// Blank margin around the figure.
const MARGIN: i32 = 12;
/// Gap between panels in a column.
const BETWEEN_ROWS: i32 = 14;
/// Maximum number of lines of the figure's title.
const TITLE_LINES: usize = 3;
/// Minimum width and height of a panel's data area; a figure with less room is an error.
const MIN_INSIDE: i32 = 120;
/// Target height of the data area in a figure that may grow: 30 mm for a single panel, 20 mm for
/// each of several.
///
/// At these heights the curves of 60 mm figures are still readable without a ruler.
const GOOD_INSIDE: (i32, i32) = (300, 200);
/// Height of a line of the note below the panels.
const NOTE_ROW: i32 = TEXT_HEIGHT + 4;
/// Maximum number of these lines; a note that needs more is shortened to one.
const NOTE_ROWS: usize = 8;
const NOTE_STEP: usize = NOTE_ROW.unsigned_abs() as usize;

/// A figure: rows of panels below a legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Entries of the legend.
    pub keys: Vec<Key>,
    /// Rows of panels, from the top.
    pub rows: Vec<Row>,
}

/// Positions of the figure's parts.
struct Layout {
    /// Area of the panels and their axes.
    inside: Frame,
    legend: Legend,
    legend_top: i32,
    /// The lines of the title.
    title: Vec<String>,
    /// The lines of the note.
    note: Vec<String>,
}

impl Scene {
    /// Draws the figure in this style.
    ///
    /// Names of flows are shortened to the hosts and ports in which the flows of the figure differ.
    pub fn draw(mut self, style: &Style) -> Result<Svg, Error> {
        let mut style = style.clone();
        let common = self.shorten_flows();
        style.note = match (style.note, common) {
            (Some(note), Some(common)) => Some(format!("{note}, {common}")),
            (note, common) => note.or(common),
        };
        if style.may_grow {
            let mut missing = 0;
            // The room for labels depends on text widths, which only a canvas measures, so the
            // first figure is drawn for its layout alone.
            Canvas::draw(&style, |canvas| {
                missing = self.missing_height(canvas, &style);
                Ok(())
            })?;
            style.size.height_mm += missing.unsigned_abs().div_ceil(UNITS_PER_MM);
        }
        Canvas::draw(&style, |canvas| self.draw_on(canvas, &style))
    }

    /// Height that all panels together lack to reach [`GOOD_INSIDE`].
    fn missing_height(&self, canvas: &Canvas<'_>, style: &Style) -> i32 {
        let layout = self.layout(canvas, style);
        let panels = self.panels(canvas, layout.inside);
        let good = if self.rows.len() > 1 {
            GOOD_INSIDE.1
        } else {
            GOOD_INSIDE.0
        };
        let rows = self.rows.iter().zip(&panels);
        // All panels of a row have the same height.
        let firsts = rows.filter_map(|(row, panels)| {
            let (_, plot) = row.plots.first()?;
            Some((row, plot, panels.first()?))
        });
        let missing = firsts.map(|(row, plot, panel)| {
            // Each name of a slot takes a line.
            let names = plot.y.slot_count().saturating_mul(ROW);
            let ends = row.plots.iter();
            let ends = ends.map(|(_, plot)| LineEnd::height(&plot.ends)).max();
            let least = good.max(names).max(ends.unwrap_or(0));
            (least - panel.frame.height()).max(0)
        });
        missing.fold(0, i32::saturating_add)
    }

    fn layout(&self, canvas: &Canvas<'_>, style: &Style) -> Layout {
        let (width, height) = Canvas::extent(style.size);
        let sides = (MARGIN, width - MARGIN);
        let fits = |text: &str| canvas.text_width(text) <= sides.1 - sides.0;
        let title = style.title.as_deref();
        let title = title.map_or(Vec::new(), |title| lines(title, TITLE_LINES, fits));
        let title_height = match i32::try_from(title.len()).unwrap_or(0) {
            0 => 0,
            lines => TITLE + (lines - 1) * NOTE_ROW,
        };
        let legend = Legend::new(canvas, self.keys.iter().cloned(), sides);
        let legend_top = MARGIN + title_height;
        let top = legend_top.saturating_add(legend.height() + MARGIN);
        let note = style
            .note
            .as_deref()
            .map_or(Vec::new(), |note| lines(note, NOTE_ROWS, fits));
        let note_height = i32::try_from(note.len()).unwrap_or(0) * NOTE_ROW;
        let inside = Frame {
            left: sides.0,
            right: sides.1,
            top,
            bottom: height - MARGIN - note_height,
        };
        Layout {
            inside,
            legend,
            legend_top,
            title,
            note,
        }
    }

    fn draw_on(&self, canvas: &Canvas<'_>, style: &Style) -> Result<(), Error> {
        let (width, _) = Canvas::extent(style.size);
        let sides = (MARGIN, width - MARGIN);
        let Layout {
            inside,
            legend,
            legend_top,
            title,
            note,
        } = self.layout(canvas, style);
        let title_top = MARGIN + TEXT_HEIGHT / 2;
        for (line, y) in title.iter().zip((title_top..).step_by(NOTE_STEP)) {
            canvas.text(line, (width / 2, y), Align::Centre)?;
        }
        legend.draw(canvas, legend_top)?;
        let mut panels = self.panels(canvas, inside);
        // Panels of a single column share their sides, so that their times align.
        if self.is_column() {
            let mut flat: Vec<Panel> = panels.into_iter().flatten().collect();
            Panel::align(&mut flat);
            panels = flat.into_iter().map(|panel| vec![panel]).collect();
        }
        self.check_room(&panels, style.size)?;
        for (place, (row, panels)) in self.rows.iter().zip(&panels).enumerate() {
            if let (Some(title), Some(panel)) = (&row.title, panels.first()) {
                let y = panel.frame.top - row.above() + TITLE / 2 - 2;
                let fits = |text: &str| canvas.text_width(text) <= sides.1 - sides.0;
                canvas.text(&shortened(title, fits), (sides.0, y), Align::Left)?;
            }
            for (column, ((_, plot), panel)) in row.plots.iter().zip(panels).enumerate() {
                plot.draw(canvas, panel, !self.shares_axis_below(place, column))?;
            }
        }
        let note_top = inside.bottom.saturating_add(NOTE_ROW / 2 + 4);
        for (line, y) in note.iter().zip((note_top..).step_by(NOTE_STEP)) {
            canvas.text(line, (sides.0, y), Align::Left)?;
        }
        Ok(())
    }

    /// Lays out the rows of panels in `inside`; the data areas have equal heights.
    fn panels(&self, canvas: &Canvas<'_>, inside: Frame) -> Vec<Vec<Panel>> {
        let rows = i32::try_from(self.rows.len()).unwrap_or(i32::MAX).max(1);
        // A colour scale narrows its panel by an amount that depends on the height of the panel, and
        // the height depends on the labels that fit into the width. The amount hardly changes with
        // the height, so the layout uses the amount for a panel without labels.
        let most = inside.height() / rows;
        let beside =
            |plot: &Plot| (plot.scale.as_ref()).map_or(0, |scale| scale.room(canvas, most));
        let below = |place: usize, row: &Row| {
            let labels = row.labels_room(canvas, (inside.width(), most));
            let frames = row.frames(inside, labels);
            let panels = row.plots.iter().zip(frames).enumerate();
            let needs = panels.map(|(column, ((_, plot), frame))| {
                if self.shares_axis_below(place, column) {
                    return Panel::BARE + BETWEEN_ROWS;
                }
                let shared = if plot.shares_y { labels } else { 0 };
                let width = frame.width() - beside(plot);
                Panel::below(canvas, (&plot.x, &plot.y), (width, shared, most))
            });
            needs.max().unwrap_or(0)
        };
        let around: Vec<(i32, i32)> = self
            .rows
            .iter()
            .enumerate()
            .map(|(place, row)| (row.above(), below(place, row)))
            .collect();
        let taken: i32 = around.iter().map(|(above, below)| above + below).sum();
        let each = (inside.height() - taken) / rows;
        let (beside_column, right_of_column) = self.around_column(canvas, (inside.width(), each));
        let mut top = inside.top;
        let mut panels = Vec::new();
        for (row, (above, below)) in self.rows.iter().zip(around) {
            let sides = Frame {
                top: top + above,
                ..inside
            };
            let labels = row.labels_room(canvas, (sides.width(), each));
            let frames = row.frames(sides, labels);
            let of_row = row.plots.iter().zip(frames).map(|((_, plot), mut frame)| {
                frame.right -= beside(plot);
                let mut axes = plot.axes(canvas, frame.width());
                axes.beside = beside_column;
                axes.right = axes.right.max(right_of_column);
                Panel::new(canvas, (frame, each), &axes)
            });
            panels.push(of_row.collect());
            top += above + each + below;
        }
        panels
    }

    /// Room left and right of the frames of panels in a single column, about `size` each: equal room gives them
    /// equal ticks. No room for several columns.
    fn around_column(&self, canvas: &Canvas<'_>, size: (i32, i32)) -> (i32, i32) {
        if !self.is_column() {
            return (0, 0);
        }
        let plots = || self.rows.iter().flat_map(|row| &row.plots);
        let left = plots().map(|(_, plot)| Panel::beside(canvas, &plot.y, size));
        let right = plots().map(|(_, plot)| plot.axes(canvas, size.0).right);
        (left.max().unwrap_or(0), right.max().unwrap_or(0))
    }

    /// True if the panels are in a single column.
    fn is_column(&self) -> bool {
        self.rows.iter().all(|row| row.plots.len() == 1)
    }

    /// True if a panel has the same horizontal axis as the panel below, which then has the labels.
    fn shares_axis_below(&self, place: usize, column: usize) -> bool {
        let panels = |place: usize| {
            let row: &Row = self.rows.get(place)?;
            Some(row.plots.len() + row.absent)
        };
        let axis = |place: usize| {
            let (_, plot) = self.rows.get(place)?.plots.get(column)?;
            Some(&plot.x)
        };
        panels(place) == panels(place + 1) && axis(place) == axis(place + 1)
    }

    fn check_room(&self, panels: &[Vec<Panel>], size: FigureSize) -> Result<(), Error> {
        let least = panels.iter().flatten().map(Panel::room).min();
        if least.is_none_or(|room| room < MIN_INSIDE) {
            return Err(Error::TooSmall {
                size,
                series: self.keys.len(),
            });
        }
        let rows = self.rows.iter().zip(panels);
        let with_ends = rows.flat_map(|(row, panels)| row.plots.iter().zip(panels));
        for ((_, plot), panel) in with_ends {
            if LineEnd::height(&plot.ends) > panel.frame.height() {
                return Err(Error::Labels {
                    size,
                    labels: plot.ends.len(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AxisStyle;
    use crate::axis::AxisSpec;
    use crate::stroke::Stroke;
    use crate::theme::Ink;

    const SIZE: FigureSize = FigureSize {
        width_mm: 85,
        height_mm: 60,
    };

    #[test]
    fn panels_in_a_column_have_the_same_ticks() {
        let style = AxisStyle::default();
        // Long numbers on the horizontal axis, and labels of different lengths on the vertical axes.
        let plot = |most: f64| {
            let x = AxisSpec::values("", (63_072_000_000.0, 63_072_000_418.0), &style);
            Plot::new(x, AxisSpec::values("", (0.0, most), &style))
        };
        let ticks = |most: [f64; 2], width_mm| {
            let scene = Scene {
                rows: most.map(|most| plot(most).into()).into(),
                ..Scene::default()
            };
            let style = Style::from(FigureSize {
                width_mm,
                height_mm: 120,
            });
            let mut ticks = Vec::new();
            Canvas::draw(&style, |canvas| {
                let inside = scene.layout(canvas, &style).inside;
                let panels = scene.panels(canvas, inside).into_iter().flatten();
                ticks = panels.map(|panel| panel.x.ticks).collect();
                Ok(())
            })
            .unwrap();
            ticks
        };
        for width_mm in (60..=180).step_by(2) {
            let [long, short] = [1e14, 1.0];
            let ticks = ticks([long, short], width_mm);
            assert_eq!(ticks[0], ticks[1], "{width_mm} mm");
        }
    }

    fn scene(x_name: &str, labels: usize) -> Scene {
        let axis = |name: &str| AxisSpec::values(name, (0.0, 1.0), &AxisStyle::default());
        let mut plot = Plot::new(axis(x_name), axis("share"));
        plot.ends = (0..labels)
            .map(|label| LineEnd {
                at: (1.0, 0.5),
                name: format!("line {label}"),
                stroke: Stroke::solid(Ink::Series(label), 2),
            })
            .collect();
        Scene {
            rows: vec![plot.into()],
            ..Scene::default()
        }
    }

    #[test]
    fn a_long_title_and_a_long_name_of_an_axis_take_several_lines() {
        let words = |word: &str| vec![word; 24].join(" ");
        let style = Style {
            title: Some(words("title")),
            ..Style::from(SIZE)
        };
        let texts = scene(&words("axis"), 0).draw(&style).unwrap().texts();
        let count = |word: &str| {
            let lines = texts.split(" | ").filter(|text| text.contains(word));
            (lines.count(), texts.matches(word).count())
        };
        let (lines, words) = count("title");
        assert!(lines > 1 && words == 24, "{texts}");
        let (lines, words) = count("axis");
        assert!(lines > 1 && words == 24, "{texts}");
    }

    #[test]
    fn a_title_that_needs_too_many_lines_is_shortened() {
        let style = Style {
            title: Some("t".repeat(300)),
            ..Style::from(SIZE)
        };
        let texts = scene("x", 0).draw(&style).unwrap().texts();
        assert!(
            texts.contains("tt…") && !texts.contains(&"t".repeat(150)),
            "{texts}"
        );
    }

    #[test]
    fn names_beside_lines_have_room_or_are_an_error() {
        let style = Style::from(SIZE);
        assert!(scene("x", 8).draw(&style).is_ok());
        let error = scene("x", 30).draw(&style).unwrap_err().to_string();
        assert_eq!(
            error,
            "a figure of 85 mm by 60 mm has no room for 30 names beside the ends of lines: make it higher, or use a \
             legend"
        );
        let grows = Style {
            may_grow: true,
            ..style
        };
        assert!(scene("x", 30).draw(&grows).is_ok());
    }
}
