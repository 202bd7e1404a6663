//! Carries out a plan: run after run, on hosts that it leaves as it found them.

mod calibrate;
mod clock;
mod crew;
mod error;
mod files;
mod journal;
mod place;
mod run;
mod sweep;
mod testbed;
mod traffic;

pub use crew::Reach;
pub use error::SweepError;
use error::chain;
pub use sweep::{Analysis, CarryOut, Event, On, Options, Summary, sweep};
pub(crate) use sweep::{describe, estimate};

/// Asks whether somebody wants the sweep to end.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);
