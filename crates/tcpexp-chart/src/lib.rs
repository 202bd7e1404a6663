//! Samples to charts for papers: SVG, and PNG drawn from that SVG.
//!
//! A chart is a function of its samples. The font is part of this crate, so a chart looks the same
//! on every machine and the same samples give the same bytes.
//!
//! ```
//! use tcpexp_chart::{FigureSize, DelaySeries, rtt_figure};
//! use tcpexp_units::{TimeDelta, Timestamp};
//!
//! let mut series = DelaySeries::new("cubic 5201");
//! for step in 0..1000 {
//!     let time = Timestamp::from_nanos(step * 10_000_000);
//!     series.add(time, TimeDelta::from_micros(40_000 + step * 70));
//! }
//! let figure = rtt_figure(&[series], FigureSize::default())?;
//! assert!(figure.as_str().contains("RTT (ms)"));
//! let png: Vec<u8> = figure.to_png(3.0)?;
//! # assert!(png.starts_with(b"\x89PNG"));
//! # Ok::<(), tcpexp_chart::Error>(())
//! ```

mod axis;
mod canvas;
mod colours;
mod curve;
mod cwnd;
mod delays;
mod error;
mod legend;
pub mod page;
mod panel;
mod rates;
mod series;
mod svg;
mod thinned;

pub use cwnd::{CwndSeries, cwnd_figure};
pub use delays::{queueing_figure, rtt_figure};
pub use error::Error;
pub use rates::{RateSeries, rate_figure};
pub use series::DelaySeries;
pub use svg::{FigureSize, Svg};
pub use thinned::Thinned;
