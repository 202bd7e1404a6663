//! The relation between the clocks of the two capture points.

mod alike;
mod along;
mod coverage;
mod delay;
mod delay_bounds;
mod delays;
mod jump;
mod lasting;
mod least;
mod model;
mod offset;
mod seams;
mod skew;
mod steps;
mod tick;
mod timeline;
mod track;
mod walk;
mod wander;

pub use along::{JointClocks, PathClocks, PointTimeline};
pub(crate) use coverage::Coverage;
pub(crate) use delay_bounds::{DelayBounds, DelayErrors};
pub(crate) use least::lesser;
pub use least::{LeastDelay, LeastDelays};
pub use model::{ClockModel, Clocks};
pub(in crate::spp) use offset::DISORDER;
pub use offset::Offset;
pub use skew::SkewEstimate;
pub use steps::ClockStep;
pub use tick::TickMeter;
pub use timeline::{Placed, TimelineReader};
