//! Plans of experiments, and the runs that carry them out.
//!
//! A plan is a file: hosts, the path between them, traffic, and a matrix of what varies. Reading it
//! gives the cells of a grid ([`plan::Plan`]); their order is a pure function of the plan and its
//! seed ([`schedule::runs`]).
//!
//! A run leaves one directory: captures, logs, a journal of every command, and `run.json`, a
//! [`RunRecord`](record::RunRecord), which is written last. So a directory with a readable
//! `run.json` is one that ended, and nothing else says so.

mod driver;
mod dry_run;
mod hash;
mod site;
mod testbed;

pub mod compare;
pub mod folders;
pub mod plan;
pub mod record;
pub mod schedule;

pub use driver::{
    Analysis, CarryOut, Event, Interrupt, On, Options, Reach, Summary, SweepError, sweep,
};
pub use dry_run::{DryRunError, dry_run};
