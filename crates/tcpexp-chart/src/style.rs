//! How a figure looks, apart from its data.

use crate::{FigureSize, Theme};

/// Size, colours and title of a figure, and what its axes show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Style {
    /// How large it is on paper.
    pub size: FigureSize,
    /// Its colours.
    pub theme: Theme,
    /// What stands above it; papers have captions instead.
    pub title: Option<String>,
    /// What stands below it: what the figure pools.
    pub note: Option<String>,
    /// Whether the figure may become higher than `size` where a legend or long labels leave its
    /// panels too little room.
    pub may_grow: bool,
    /// The horizontal axis.
    pub x: AxisStyle,
    /// The vertical axis.
    pub y: AxisStyle,
}

impl Style {
    /// The same with another note.
    pub(crate) fn noting(&self, note: String) -> Self {
        Self {
            note: Some(note),
            ..self.clone()
        }
    }
}

/// What one axis shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxisStyle {
    /// Where it begins, in the unit that it shows; by the data if `None`.
    pub low: Option<f64>,
    /// Where it ends.
    pub high: Option<f64>,
    /// Whether equal ratios are equally long.
    pub log: bool,
    /// What stands beside it in the place of quantity and unit.
    pub name: Option<String>,
}

impl From<FigureSize> for Style {
    fn from(size: FigureSize) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }
}
