//! Names of lines, right of the panel.

use crate::Error;
use crate::abbreviated::abbreviated;
use crate::canvas::{Align, Canvas, TEXT_HEIGHT};
use crate::clip::{At, Point};
use crate::labels::GAP;
use crate::panel::{Frame, Panel};
use crate::stroke::Stroke;

/// Length of the rule from the end of a line towards its name.
const END_RULE: i32 = 26;
/// Length and width of the sample of the line before its name: two dashes or more of most lines.
const SAMPLE: (i32, u32) = (40, 5);
/// Room between the panel and a name.
const BEFORE_NAME: i32 = END_RULE + SAMPLE.0 + GAP;

/// Distance of two names.
const STEP: i32 = TEXT_HEIGHT + 6;

/// Names take at most this part of the width: a third.
const MOST_OF_WIDTH: i32 = 3;

/// The name of a line, right of its panel.
#[derive(Clone, Debug, PartialEq)]
pub struct LineEnd {
    /// Where the line ends.
    pub at: Point,
    /// Name of the line.
    pub name: String,
    /// Stroke of the line.
    pub stroke: Stroke,
}

impl LineEnd {
    /// Room for the names of its lines right of a panel that is `outer_width` wide with them.
    pub(crate) fn room(canvas: &Canvas<'_>, ends: &[Self], outer_width: i32) -> i32 {
        let widths = ends.iter().map(|end| canvas.text_width(&end.name));
        let most = outer_width / MOST_OF_WIDTH;
        let room = |width: i32| (BEFORE_NAME + width).min(most);
        widths.max().map_or(0, room)
    }

    /// Height that the names need beside their panel.
    pub(crate) fn height(ends: &[Self]) -> i32 {
        let steps = i32::try_from(ends.len())
            .unwrap_or(i32::MAX)
            .saturating_sub(1);
        steps.saturating_mul(STEP).max(0)
    }

    /// Draws the names of lines right of the frame, each joined to the end of its line by a rule and a
    /// sample of the line.
    ///
    /// Names that would overlap move apart, in the order of their lines.
    pub(crate) fn draw(canvas: &Canvas<'_>, panel: &Panel, ends: &[Self]) -> Result<(), Error> {
        let Frame {
            left,
            right,
            top,
            bottom,
        } = panel.frame;
        // Limits of the axes may leave the end outside.
        let place = |end: &Self| {
            let (x, y) = panel.place(panel.fraction(end.at));
            (x.clamp(left, right), y.clamp(top, bottom))
        };
        let mut ends: Vec<(At, &Self)> = ends.iter().map(|end| (place(end), end)).collect();
        ends.sort_by_key(|((_, y), _)| *y);
        let wanted: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
        let start = right + BEFORE_NAME;
        let names: Vec<&str> = ends.iter().map(|(_, end)| end.name.as_str()).collect();
        let room = panel.outer_right - start;
        let names = abbreviated(&names, |text| canvas.text_width(text) <= room);
        let heights = apart(&wanted, (top, bottom));
        for (((at, end), name), y) in ends.iter().zip(&names).zip(heights) {
            let rule = [*at, (right, at.1), (right + END_RULE, y)];
            canvas.line(&rule, Stroke::solid(end.stroke.ink, 1))?;
            let (length, width) = SAMPLE;
            let sample = [(right + END_RULE, y), (right + END_RULE + length, y)];
            canvas.line(
                &sample,
                Stroke {
                    width,
                    ..end.stroke
                },
            )?;
            canvas.text(name, (start, y), Align::Left)?;
        }
        Ok(())
    }
}

/// Heights nearest to the `wanted` ones, in ascending order, at least a line of text apart.
fn apart(wanted: &[i32], (top, bottom): (i32, i32)) -> Vec<i32> {
    let mut heights = Vec::with_capacity(wanted.len());
    let mut least = top;
    for &height in wanted {
        let height = height.max(least);
        heights.push(height);
        least = height + STEP;
    }
    // If names were pushed beyond the bottom, all names above them move up.
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = (*height).min(most);
        most = *height - STEP;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_apart_and_stay_beside_the_panel() {
        let step = TEXT_HEIGHT + 6;
        assert_eq!(apart(&[10, 200], (0, 300)), [10, 200]);
        assert_eq!(apart(&[10, 12], (0, 300)), [10, 10 + step]);
        assert_eq!(apart(&[298, 300], (0, 300)), [300 - step, 300]);
    }
}
