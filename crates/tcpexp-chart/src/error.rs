//! What can go wrong between samples and a picture.

use std::error;

use thiserror::Error;

use crate::style::FigureSize;

/// Why there is no chart.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to draw.
    #[error("there are no delays to draw")]
    NoSamples,
    /// Not one window and no flight size to draw.
    #[error("there are no congestion windows to draw")]
    NoWindows,
    /// Not one bin to draw.
    #[error("there are no rates to draw")]
    NoRates,
    /// Not one value to draw.
    #[error("there is nothing to draw")]
    Nothing,
    /// A table does not have a column.
    #[error("there is no column {column}")]
    NoColumn {
        /// Which one.
        column: String,
    },
    /// A column that is to be drawn does not hold numbers.
    #[error("the column {column} holds text, not numbers")]
    NoNumbers {
        /// Which one.
        column: String,
    },
    /// The figure's frame, labels and legend leave no room for data.
    #[error(
        "a figure of {} mm by {} mm has no room for {series} series",
        size.width_mm, size.height_mm
    )]
    TooSmall {
        /// Size asked for.
        size: FigureSize,
        /// Number of series, others pooled.
        series: usize,
    },
    /// The picture would have more pixels than memory can hold, or none.
    #[error("cannot make a picture of {width} by {height} pixels")]
    Pixels {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The drawing library failed.
    #[error("cannot draw the chart")]
    Draw(#[source] Box<dyn error::Error + Send + Sync>),
    /// The SVG could not be turned into pixels.
    #[error("cannot turn the chart into a picture")]
    Render(#[source] Box<dyn error::Error + Send + Sync>),
}
