//! The parts of figures, for charts that this crate does not have.
//!
//! A figure is a [`Scene`]: [`Plot`]s with axes ([`AxisSpec`]) and contents ([`Layer`]) in the units
//! of the axes, and a legend ([`Key`]). [`Scene::draw`] lays it out in a [`Style`](crate::Style).
//! The other parts compute what is drawn: quantiles ([`Sorted`], [`Tukey`]), densities
//! ([`Density`]), means ([`Scatter`]), medians over runs ([`Runs`]), and the unit of display
//! ([`Quantity::shown`](crate::Quantity::shown)).
//!
//! ```
//! use tcpexp_chart::Style;
//! use tcpexp_chart::parts::{AxisSpec, Key, Layer, Plot, Scene, Stroke, range};
//!
//! let style = Style::default();
//! let stroke = Stroke::of_series(0, 4);
//! let mut plot = Plot::new(
//!     AxisSpec::values("time (s)", (0.0, 2.0), &style.x),
//!     AxisSpec::values("cwnd (segments)", range(10.0, 40.0), &style.y),
//! );
//! plot.layers.push(Layer::Line(vec![(0.0, 10.0), (1.0, 20.0), (2.0, 40.0)], stroke));
//! let scene = Scene {
//!     keys: vec![Key::stroke("cubic", stroke)],
//!     rows: vec![plot.into()],
//! };
//! assert!(scene.draw(&style)?.as_str().contains("cubic"));
//! # Ok::<(), tcpexp_chart::Error>(())
//! ```

pub use crate::axis::{AxisSpec, BandRow, range};
pub use crate::clip::Point;
pub use crate::density::Density;
pub use crate::ellipse::Scatter;
pub use crate::heat::HeatScale;
pub use crate::layer::Layer;
pub use crate::legend::Key;
pub use crate::line_end::LineEnd;
pub use crate::lines::{Join, over_time, staircase, steps};
pub use crate::numbers::numbers;
pub use crate::plot::Plot;
pub use crate::quantile::{Sorted, extremes};
pub use crate::quantity::Shown;
pub use crate::row::Row;
pub use crate::runs::Runs;
pub use crate::scene::Scene;
pub use crate::slots::{Place, SlotAxis, Slots};
pub use crate::stroke::{Dash, Marker, Stroke};
pub use crate::theme::{Ink, SERIES};
pub use crate::tukey::Tukey;
