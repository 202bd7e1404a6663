//! Panels side by side, and how they share the width of a figure.

use crate::canvas::Canvas;
use crate::panel::{Frame, Panel};
use crate::plot::{Plot, TITLE};

/// Gap between panels.
const BETWEEN: i32 = 40;
/// Gap between panels with one vertical axis.
const BETWEEN_SHARED: i32 = 18;

/// Panels side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Title above the panels.
    pub title: Option<String>,
    /// Panels, each with its share of the width.
    pub plots: Vec<(i32, Plot)>,
    /// Number of further panels of one share, for which room is left on the right.
    pub absent: usize,
}

impl From<Plot> for Row {
    fn from(plot: Plot) -> Self {
        Self {
            plots: vec![(1, plot)],
            ..Self::default()
        }
    }
}

impl Row {
    /// Height of the titles and names of marks above the panels.
    pub(crate) fn above(&self) -> i32 {
        let title = if self.title.is_some() { TITLE } else { 0 };
        let has_marks = self.plots.iter().any(|(_, plot)| plot.marks.is_some());
        let has_titles = self.plots.iter().any(|(_, plot)| plot.title.is_some());
        title + if has_titles { TITLE } else { 0 } + if has_marks { Panel::MARKS } else { 0 }
    }

    /// True if the panels have one vertical axis.
    fn shares_y(&self) -> bool {
        self.absent > 0 || self.plots.iter().any(|(_, plot)| plot.shares_y)
    }

    /// Room of the labels that only the first panel of a row of panels with one vertical axis has.
    pub(crate) fn labels_room(&self, canvas: &Canvas<'_>, size: (i32, i32)) -> i32 {
        match self.plots.first() {
            Some((_, first)) if self.shares_y() => Panel::beside(canvas, &first.y, size),
            _ => 0,
        }
    }

    /// Frames of the row's panels between the sides of `inside`. The first panel has `labels` more room
    /// than its share.
    pub(crate) fn frames(&self, inside: Frame, mut labels: i32) -> Vec<Frame> {
        let absent = i32::try_from(self.absent).unwrap_or(i32::MAX);
        let shares: i32 = self.plots.iter().map(|(share, _)| share).sum();
        let gaps = i32::try_from(self.plots.len()).unwrap_or(1) - 1 + absent;
        let gap = if self.shares_y() {
            BETWEEN_SHARED
        } else {
            BETWEEN
        };
        let width = inside.width() - gaps * gap - labels;
        let mut left = inside.left;
        let frame = |(share, _): &(i32, Plot)| {
            let right = left + labels + width / (shares + absent).max(1) * share;
            let frame = Frame {
                left,
                right,
                ..inside
            };
            labels = 0;
            left = right + gap;
            frame
        };
        self.plots.iter().map(frame).collect()
    }
}
