//! Synthetic packet pairs: round-trip times between two measurement points.
//!
//! Two passes read both captures. The first pass samples packets by content, so that both captures
//! choose the same packets ([`Survey`]). From the shared packets it learns how the captures relate
//! ([`Alignment`]): which addresses are on which side, how the clocks differ, and which header
//! fields the path preserves. The second pass ([`measure`]) walks both captures side by side on one
//! timeline:
//!
//! ```text
//! packets → run (chunks, rounds) → link (which flow is which) → shard (a share of the flows)
//!     shard: exact, queue, ranges (match arrivals) → pairing (form packet pairs) → samples
//! ```
//!
//! Two different packets must not be matched. A packet with its own IP ID, or data with a TCP
//! timestamp, is unique. Any other packet may have an identical one: sent before or after it with
//! one of the two lost, or sent while a capture was not running. Identical packets in flight are
//! not used. A packet that may be identical to an unseen one is used only if its connection was
//! captured from the SYN or for longer than a packet stays in flight, and if unique packets
//! establish the clock offset. Equal datagrams are used if the times between them vary, so that one
//! shift alone explains the arrivals. All other packets of this kind count as ambiguous. Known
//! limitation: two packets of one flow whose random IP IDs collide.

mod alignment;
mod clock;
mod crossing;
mod linking;
mod matching;
mod pairing;
mod point;
mod run;

#[cfg(test)]
mod tests;

pub use alignment::{
    Alignment, Field, FieldKept, Identification, NothingInCommon, SequenceShift, Survey, Twins,
};
pub use clock::{
    ClockModel, ClockStep, Clocks, JointClocks, LeastDelay, LeastDelays, Offset, PathClocks,
    Placed, PointTimeline, SkewEstimate, TickMeter, TimelineReader,
};
pub(crate) use clock::{DelayBounds, DelayErrors};
pub use crossing::{Crossing, PathDirection};
pub use linking::{LocalFlow, PairedFlow, Unpaired};
pub use matching::{DirectionCounts, Fate, PacketOutcome, Passing};
pub use pairing::{FlowSummary, RttSample};
pub use point::Point;
pub use run::{Batch, Options, Totals, measure};
