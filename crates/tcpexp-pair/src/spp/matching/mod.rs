//! Matches arrivals to departures.

mod answered;
mod arrived;
mod at_receiver;
mod beyond;
mod counts;
mod departure;
mod echoes;
mod evidence;
mod exact;
mod outcome;
mod piece;
mod queue;
mod ranges;
mod seen;
mod setting;
mod sizes;
mod smallest;
mod spacing;
mod strays;
mod stream;
mod unexplained;
mod unwrap;

pub use counts::DirectionCounts;
pub(in crate::spp) use departure::{Departure, Outcome};
pub(in crate::spp) use evidence::{Absence, Evidence};
pub(in crate::spp) use exact::{Expired, InFlight};
pub use outcome::{Fate, PacketOutcome, Passing};
pub(in crate::spp) use ranges::{Ranges, Settled};
pub(in crate::spp) use setting::{Setting, widen, widen_each};
pub(in crate::spp) use spacing::Spacing;
pub(in crate::spp) use stream::{Stream, UsualOwds};
pub(in crate::spp) use unexplained::Unexplained;
