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
//! ([`least_delays`]), and one for the packets ([`measure`]). Queueing delay is what a packet takes
//! longer than the fastest of the whole capture, which may be the last: to know it beforehand costs
//! a pass, and it keeps memory bounded, the values exact and a row complete when it comes.
//!
//! One-way delays are as true as the clocks' offset. Packets both ways bound it, for none arrives
//! before it left: the offset is off by no more than half the sum of the smallest delays both
//! ways, which is half of the smallest round-trip time and the same whatever offset is assumed
//! ([`offset_error`]). Queueing delays do not depend on it.

mod bottleneck;
mod losses;
mod packet;
mod reordering;
mod run;
mod summary;

pub use losses::LossRuns;
pub use packet::PathPacket;
pub use run::{LeastDelays, PathBatch, PathTotals, least_delays, measure};
pub use summary::{DelaySummary, PathFlow, PathSummary};

use tcpexp_units::TimeDelta;

/// How far the clocks' offset, and so each one-way delay, may be off; `None` if packets went one
/// way only, which leaves it without a bound.
///
/// Half the sum of the smallest delays both ways. It assumes that the offset lies in the middle of
/// its bounds, as on the timeline it does but for what the fastest packets are faster than those
/// of the sample that told it.
pub fn offset_error(least: LeastDelays) -> Option<TimeDelta> {
    let [out, back] = least;
    Some(TimeDelta::from_nanos((out? + back?).as_nanos() / 2))
}
