//! The fate of each packet between two measurement points.
//!
//! [`spp`](crate::spp) matches the packets on its timeline. This module turns each packet into a
//! row and sums up the rows of a direction:
//!
//! ```text
//! spp: fate of each packet → run ────────┬─► packet (a row)
//!       reordering, losses, bottleneck ──┴─► summary (of a flow's direction, of a way)
//! ```
//!
//! The captures are read in three passes: the survey, [`first_pass`] for the minimum delay of each
//! way, and [`measure`] for the packets. The queueing delay of a packet is relative to the fastest
//! packet of the whole capture, which may be the last. The additional pass bounds memory, keeps the
//! values exact, and completes each row at once.
//!
//! One-way delays contain the error of the clock offset, which packets in both directions bound:
//! see [`Offset`](crate::spp::Offset). The minimum delays of all packets, not only of the survey's
//! sample, fix the offset before the rows are made. Queueing delays do not depend on it.
//!
//! With more than two points, [`measure_along`] measures between any two of them. All rows are then
//! on the timeline of the first point, and a packet that a capture missed is recognised by the
//! captures beyond it.

mod along;
mod beyond;
mod books;
mod bottleneck;
mod capture_loss;
mod losses;
mod marking;
mod packet;
mod reordering;
mod run;
mod summary;
#[cfg(test)]
mod tests;
mod timeline;

pub use along::{FromPath, PathSegment, first_pass_along, measure_along};
pub use beyond::{SeenAt, SeenBeyond};
pub use books::PathBatch;
pub use capture_loss::CaptureLoss;
pub use losses::LossRuns;
pub use marking::{Marking, MarkingLaw};
pub use packet::PathPacket;
pub use run::{FirstPass, PathTotals, first_pass, measure};
pub use summary::{DelaySummary, PathFlow, PathSummary};
