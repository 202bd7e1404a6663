//! What can go wrong between samples and a picture.

use std::error;

use thiserror::Error;

/// Why there is no chart.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to draw.
    #[error("there are no round-trip time samples to draw")]
    NoSamples,
    /// The figure's frame, labels and legend leave no room for data.
    #[error("a figure of {width_mm} mm by {height_mm} mm has no room for {series} series")]
    TooSmall {
        /// Width asked for.
        width_mm: u32,
        /// Height asked for.
        height_mm: u32,
        /// Number of series.
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
