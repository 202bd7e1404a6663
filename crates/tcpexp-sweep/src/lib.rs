//! Plans of experiments, and the runs that carry them out.
//!
//! A plan is a file: hosts, the path between them, traffic, and a matrix of what varies. Reading it
//! gives the cells of a grid ([`plan::Plan`]); their order is a pure function of the plan and its
//! seed ([`schedule::runs`]).
//!
//! [`sweep`] carries out the runs on hosts. Each run leaves the directory that
//! [`tcpexp_runs`] reads back.

mod driver;
mod dry_run;
mod hash;
mod site;

pub mod plan;
pub mod schedule;

pub use driver::{
    Analysis, CarryOut, Event, Interrupt, On, Options, Reach, Summary, SweepError, sweep,
};
pub use dry_run::{DryRunError, dry_run};
