//! Runs a plan, and restores the hosts after each run.

mod calibrate;
mod captures;
mod changed;
mod clock;
mod context;
mod crew;
mod drain;
mod error;
mod files;
mod journal;
mod kept;
mod load_times;
mod options;
mod place;
mod queues;
mod run;
mod sweep;
mod testbed;
mod traffic;
mod unfinished;

pub use changed::{PlanChanges, plan_changes};
pub use crew::Reach;
pub use error::SweepError;
pub use options::{Analysis, CarryOut, Event, On, Options};
pub use sweep::{Summary, sweep};
pub(crate) use sweep::{describe, estimate};

/// Returns true if the sweep must end.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);
