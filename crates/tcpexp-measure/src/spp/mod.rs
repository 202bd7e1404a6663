//! Synthetic packet pairs: round-trip times between two measurement points.
//!
//! Two passes over two captures. The first takes a sample of packets that both points choose alike
//! ([`Survey`]), and learns from those they share how the captures lie to each other
//! ([`Alignment`]): which addresses are on which side, how the clocks differ, and which header
//! fields the path leaves alone. The second ([`measure`]) walks both captures side by side on one
//! timeline:
//!
//! ```text
//! packets → run (chunks, rounds) → link (which flow is which) → shard (a share of the flows)
//!     shard: exact, queue, ranges (a packet met again) → pairing (which two make a pair) → samples
//! ```
//!
//! Two sightings of different packets must not be taken for one. What has an IP ID of its own, or
//! data with a timestamp, is itself. Of anything else a like packet may have been sent before or
//! after it, and one of the two lost, or have passed while a capture did not run. So of like
//! packets in flight none is used, nor is one that may have a like that was not seen leaving: it is
//! used only if its connection was seen from its SYN, or longer than a packet is under way, and if
//! the clocks are known from packets that are themselves. Both are counted as ambiguous then. Known
//! to be left: two packets of one flow with IP IDs drawn at random that are the same by chance.

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

pub use alignment::{Alignment, Field, FieldKept, Identification, NothingInCommon, Survey};
pub use clock::{ClockModel, ClockStep, Offset, Placed, SkewEstimate, TimelineReader};
pub use crossing::{Crossing, Way};
pub use linking::{LocalFlow, PairedFlow, Unpaired};
pub use matching::{DirectionCounts, Fate, PacketOutcome, Passing};
pub use pairing::{FlowSummary, RttSample};
pub use point::Point;
pub use run::{Batch, Options, Totals, measure};
