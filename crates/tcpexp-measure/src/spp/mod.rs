//! Synthetic packet pairs: round-trip times between two measurement points.

mod align;
mod clock;
mod crossing;
mod exact;
mod identity;
mod link;
mod pair;
mod pairing;
mod quantiles;
mod queue;
mod ranges;
mod run;
mod sample;
mod setting;
mod shard;
mod sides;
mod skew;
mod steps;
mod survey;
mod timeline;
mod walk;

pub use align::{Alignment, NothingInCommon};
pub use clock::{ClockModel, Offset};
pub use crossing::{Crossing, Way};
pub use identity::{Field, FieldKept, Identification};
pub use link::Unpaired;
pub use quantiles::{Quantiles, RttSummary};
pub use run::{Batch, Options, Totals, measure};
pub use sample::{DirectionCounts, FlowSummary, PairedFlow, Point, RttSample};
pub use skew::SkewEstimate;
pub use steps::ClockStep;
pub use survey::Survey;
pub use timeline::{Placed, TimelineReader};
