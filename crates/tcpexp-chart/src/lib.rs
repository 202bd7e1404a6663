//! Draws charts for papers from samples and tables, as SVG, or as PDF or PNG made from the SVG.
//!
//! A chart is a function of its data. The font is part of this crate, so a chart looks the same
//! on every machine, and the same data gives the same bytes. A [`Style`] sets size, colours and
//! axes.
//!
//! Some charts take samples as they are measured, thinned to bounded memory ([`DelaySeries`],
//! [`RateSeries`], [`CwndSeries`]). The other charts take a [`Frame`](tcpexp_table::Frame) of any
//! table and the names of its columns, which determine the names of the axes ([`Quantity`]).
//! [`Levels`] groups rows by the values of columns.
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
//!
//! A chart is a scene: panels with layers in the units of their axes, and keys of a legend. All
//! scenes share one layout and drawing code, which clips layers to their panels and removes points
//! that are not visible. [`parts`] has these, for charts that this crate does not have.

mod abbreviated;
mod axis;
mod bars;
mod bins;
mod bounded;
mod boxes;
mod canvas;
mod clip;
mod curve;
mod cwnd;
mod delays;
mod density;
mod ecdf;
mod ellipse;
mod error;
mod facet;
mod fitting;
mod flow_line;
mod flow_names;
mod flow_numbers;
mod font;
mod group;
mod hatch;
mod heat;
mod heatmap;
mod labels;
mod layer;
mod left_out;
mod legend;
mod levels;
mod line_end;
mod lines;
mod logarithmic;
mod numbers;
mod on_axis;
pub mod page;
mod panel;
mod panel_kind;
pub mod parts;
mod pdf;
mod plot;
mod quantile;
mod quantity;
mod rates;
mod rebinned;
mod row;
mod runs;
mod scatter;
mod scene;
mod sequence;
mod series;
mod slots;
mod stroke;
mod style;
mod svg;
mod theme;
mod thinned;
mod tick_room;
mod time_panels;
mod timeseries;
mod trend;
mod tukey;
mod undrawn;
mod without;

pub use bars::bar_figure;
pub use bins::{BIN_DELAY, delays_of_bins};
pub use bounded::bound_columns;
pub use boxes::{Shape, distribution_figure};
pub use cwnd::{CwndSeries, cwnd_figure};
pub use delays::{queueing_figure, rtt_figure};
pub use ecdf::ecdf_figure;
pub use error::Error;
pub use facet::room_of_slots;
pub use flow_line::{FLOW_COLUMNS, LINE_COLUMN, TIMES};
pub use flow_numbers::Flows;
pub use group::{Group, GroupPanel};
pub use heatmap::heatmap_figure;
pub use left_out::LeftOut;
pub use levels::Levels;
pub use panel_kind::PanelKind;
pub use quantity::Quantity;
pub use rates::{RateSeries, rate_figure};
pub use rebinned::rebinned;
pub use runs::{PARTS_OF_A_RUN, RUN_COLUMNS, Statistic};
pub use scatter::scatter_figure;
pub use sequence::sequence_figure;
pub use series::DelaySeries;
pub use style::{AxisStyle, FigureSize, Style};
pub use svg::Svg;
pub use theme::Theme;
pub use thinned::Thinned;
pub use time_panels::{column_panel, losses, window_panel};
pub use timeseries::{LineKind, TimeLine, TimePanel, TimeSpan, timeseries_figure};
pub use trend::trend_figure;
pub use without::SENDERS;
