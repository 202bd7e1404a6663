//! How flows share a path.
//!
//! Rates are those of the flows over one window, in any unit as long as it is the same, and never
//! negative. The number of flows counts: one that was there and got nothing has a rate of zero.

mod convergence;
mod harm;
mod jain;
mod rtt_unfairness;
mod spread;

pub use convergence::{Settling, convergence_time};
pub use harm::{friendliness, harm_less_is_better, harm_more_is_better};
pub use jain::{JainWindows, jain, jain_windows, weighted_jain};
pub use rtt_unfairness::{LEAST_RTT_RATIO, rtt_unfairness_exponent};
pub use spread::{epsilon, max_min_ratio};
