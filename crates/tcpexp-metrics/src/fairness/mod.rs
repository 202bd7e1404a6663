//! How flows share a path.
//!
//! Rates are averages over one window, nonnegative and in one unit. An active flow that got nothing
//! counts with a rate of zero.

mod convergence;
mod harm;
mod jain;
mod rtt_unfairness;
mod spread;

pub use convergence::{Settling, convergence_time};
pub use harm::{friendliness, harm_less_is_better, harm_more_is_better};
pub use jain::{JainWindows, jain, jain_windows, weighted_jain};
pub use rtt_unfairness::{MIN_RTT_RATIO, rtt_unfairness_exponent};
pub use spread::{epsilon, max_min_ratio};
