//! How a figure looks, apart from its data.

use crate::Theme;

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

/// How large a figure is on paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FigureSize {
    /// Width in millimetres.
    pub width_mm: u32,
    /// Height in millimetres.
    pub height_mm: u32,
}

/// The text width of a page with two columns, and as high as two panels need.
impl Default for FigureSize {
    fn default() -> Self {
        Self {
            width_mm: 180,
            height_mm: 70,
        }
    }
}

impl From<FigureSize> for Style {
    fn from(size: FigureSize) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }
}
