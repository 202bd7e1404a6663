//! Errors of drawing a chart.

use std::error;

use tcpexp_units::TimeDelta;
use thiserror::Error;

use crate::style::FigureSize;

/// Why a chart cannot be drawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No sample to draw.
    #[error("there are no delays to draw")]
    NoSamples,
    /// No window and no flight size to draw.
    #[error("there are no congestion windows to draw{}", .note.as_ref().map(|note| format!(": {note}")).unwrap_or_default())]
    NoWindows {
        /// The note of the chart, which has the reasons if they are known.
        note: Option<String>,
    },
    /// No bin to draw.
    #[error("there are no rates to draw")]
    NoRates,
    /// No value to draw.
    #[error("there is nothing to draw")]
    Nothing,
    /// A logarithmic axis without a value above zero.
    #[error("no value is above zero, and a logarithmic axis shows no others")]
    NoPositive,
    /// No run has a value of a column, such as the fairness of a single sender.
    #[error("no run has a value of {column}{reason}")]
    NoValues {
        /// Name of the column.
        column: String,
        /// Why, after a colon; empty if that is unknown.
        reason: &'static str,
    },
    /// Some runs have a value of a column, or bounds of it, but no median over runs is known.
    #[error("no median of {column} is known{reason}")]
    NoMedians {
        /// Name of the column.
        column: String,
        /// Numbers of medians with the reasons, after a semicolon.
        reason: String,
    },
    /// A table lacks a column.
    #[error("there is no column {column}")]
    NoColumn {
        /// Name of the column.
        column: String,
    },
    /// A column to draw is not numeric.
    #[error("the column {column} holds text, not numbers")]
    NoNumbers {
        /// Name of the column.
        column: String,
    },
    /// The bins of a table do not make up the requested bins.
    #[error("bins of {width} cannot be made of bins of {own}: choose a multiple")]
    BinWidth {
        /// Requested width.
        width: TimeDelta,
        /// Width of the table's bins.
        own: TimeDelta,
    },
    /// The figure's frame, labels and legend leave no room for data.
    #[error(
        "a figure of {} mm by {} mm has no room for {series} series",
        size.width_mm, size.height_mm
    )]
    TooSmall {
        /// Requested size.
        size: FigureSize,
        /// Number of series, pooled series counted as one.
        series: usize,
    },
    /// The names beside the ends of lines need more height than their panel has.
    #[error(
        "a figure of {} mm by {} mm has no room for {labels} names beside the ends of lines: make it higher, or use \
         a legend",
        size.width_mm, size.height_mm
    )]
    Labels {
        /// Requested size.
        size: FigureSize,
        /// Number of names in the panel.
        labels: usize,
    },
    /// The image has no pixels, or more than memory can hold.
    #[error("cannot make a picture of {width} by {height} pixels")]
    Pixels {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The drawing library failed.
    #[error("cannot draw the chart")]
    Draw(#[source] Box<dyn error::Error + Send + Sync>),
    /// Rendering of the SVG as pixels failed.
    #[error("cannot turn the chart into a picture")]
    Render(#[source] Box<dyn error::Error + Send + Sync>),
}
