//! What became of each packet between two measurement points.
//!
//! The packets are matched by [`spp`](crate::spp), on its timeline; here each becomes a row, and
//! the rows of a direction become sums:
//!
//! ```text
//! spp: what became of each packet → run ─┬─► packet (a row)
//!       reordering, losses, bottleneck ──┴─► summary (of a flow's direction, of a way)
//! ```
//!
//! Three passes over the captures: the survey, one for the smallest delay of each way
//! ([`first_pass`]), and one for the packets ([`measure`]). Queueing delay is what a packet takes
//! longer than the fastest of the whole capture, which may be the last: to know it beforehand costs
//! a pass, and it keeps memory bounded, the values exact and a row complete when it comes.
//!
//! One-way delays are off by the error of the clocks' offset, which packets both ways bound: see
//! [`Offset`](crate::spp::Offset). The smallest delays of all packets, not only of the survey's
//! sample, settle it before the rows are made. Queueing delays do not depend on it.

mod bottleneck;
mod capture_loss;
mod losses;
mod packet;
mod reordering;
mod run;
mod summary;

pub use capture_loss::CaptureLoss;
pub use losses::LossRuns;
pub use packet::PathPacket;
pub use run::{FirstPass, LeastDelays, PathBatch, PathTotals, first_pass, measure};
pub use summary::{DelaySummary, PathFlow, PathSummary};
