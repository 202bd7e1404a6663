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
    /// The horizontal axis.
    pub x: AxisStyle,
    /// The vertical axis.
    pub y: AxisStyle,
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
