//! Plans of experiments, and sweeps that run them.
//!
//! A plan is a TOML file: hosts, the path between them, traffic, and a matrix of varied parameters.
//! [`plan::Plan`] reads it into the cells of a grid. The order of the runs depends only on the plan and
//! its seed ([`schedule::runs`]).
//!
//! [`sweep`] carries out the runs on hosts. Each run leaves the directory that
//! [`tcpexp_runs`] reads back.

mod driver;
mod dry_run;
mod site;
mod whole;

pub mod plan;
pub mod schedule;

pub use driver::{
    Analysis, CarryOut, Event, Interrupt, On, Options, PlanChanges, Reach, Summary, SweepError,
    plan_changes, sweep,
};
pub use dry_run::{DryRunError, dry_run};
