//! The clock of one capture point seen from the other.

mod delay;
mod delays;
mod jump;
mod model;
mod offset;
mod seams;
mod skew;
mod steps;
mod timeline;
mod walk;

pub use model::ClockModel;
pub(in crate::spp) use offset::DISORDER;
pub use offset::Offset;
pub use skew::SkewEstimate;
pub use steps::ClockStep;
pub use timeline::{Placed, TimelineReader};
