//! Figures computed from numbers, not from packets.
//!
//! Every function here takes rates, times and sizes, from captures, logs or anywhere else:
//!
//! - [`Quantiles`]: the distribution of many time spans in bounded memory.
//! - [`quantile`]: the definition of a quantile that every table, chart and report uses.
//! - [`Bounds`]: a number that is known only within bounds, and quantiles of such numbers.
//! - [`pooling`]: which runs, flows and directions a pooled figure counts.
//! - [`fairness`]: how flows share a path, and how fast they converge.
//! - [`playback`]: how a video plays whose segments arrive one after another.
//! - [`transfer`]: how well a transfer uses the path.
//! - [`response`]: how a sender reacts to a change of the path.
//! - [`repetition`]: medians over repeated runs, with confidence intervals.
//! - [`compare`]: all of these for the runs of a grid of cells.
//!
//! ```
//! use tcpexp_metrics::fairness::jain;
//!
//! // Three of four flows share the link, and the fourth starves.
//! assert_eq!(jain(&[1.0, 1.0, 1.0, 0.0]), Some(0.75));
//! ```

mod bounds;
pub mod compare;
pub mod fairness;
pub mod playback;
pub mod pooling;
pub mod quantile;
mod quantiles;
pub mod repetition;
pub mod response;
pub mod transfer;
pub mod voice;

pub use bounds::{Bounds, bounded_percentiles};
pub use quantiles::{Quantiles, RttSummary};
