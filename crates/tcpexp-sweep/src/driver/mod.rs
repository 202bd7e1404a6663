//! Carries out a plan: run after run, on hosts that it leaves as it found them.

mod calibrate;
mod clock;
mod context;
mod crew;
mod error;
mod files;
mod journal;
mod options;
mod place;
mod run;
mod sweep;
mod testbed;
mod traffic;

pub use crew::Reach;
pub use error::SweepError;
use error::chain;
pub use options::{Analysis, CarryOut, Event, On, Options};
pub use sweep::{Summary, sweep};
pub(crate) use sweep::{describe, estimate};

/// Asks whether somebody wants the sweep to end.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);
