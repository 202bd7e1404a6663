//! The style of a figure, independent of its data.

use crate::Theme;

/// Size, colours and texts of a figure, and the style of its axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Style {
    /// Size on paper.
    pub size: FigureSize,
    /// Colour theme.
    pub theme: Theme,
    /// Title above the figure; papers use captions instead.
    pub title: Option<String>,
    /// Note below the figure, such as what it pools.
    pub note: Option<String>,
    /// True if the names of lines are beside their ends instead of in a legend.
    pub labels: bool,
    /// True if the figure may exceed the height of `size` when a legend or long labels leave its
    /// panels too little room.
    pub may_grow: bool,
    /// The horizontal axis.
    pub x: AxisStyle,
    /// The vertical axis.
    pub y: AxisStyle,
}

impl Style {
    /// The same style with another note.
    #[must_use]
    pub fn noting(&self, note: String) -> Self {
        Self {
            note: Some(note),
            ..self.clone()
        }
    }

    /// The same style with `more` at the end of the note; `more` starts with a semicolon, or is empty.
    #[must_use]
    pub(crate) fn noting_also(&self, more: &str) -> Self {
        if more.is_empty() {
            return self.clone();
        }
        match &self.note {
            Some(note) => self.noting(format!("{note}{more}")),
            None => self.noting(more.trim_start_matches("; ").to_owned()),
        }
    }
}

/// The style of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxisStyle {
    /// Lower end in the unit of display; `None` fits the data.
    pub low: Option<f64>,
    /// Upper end in the unit of display; `None` fits the data.
    pub high: Option<f64>,
    /// True for a logarithmic axis.
    pub log: bool,
    /// Name that replaces quantity and unit.
    pub name: Option<String>,
}

/// Size of a figure on paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FigureSize {
    /// Width in millimetres.
    pub width_mm: u32,
    /// Height in millimetres.
    pub height_mm: u32,
}

/// The text width of a two-column page, and the height for two panels.
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
