//! What is done on a host, as shell scripts: pure.

mod counters;
mod generator;
mod path;
mod phases;
mod preflight;
mod tools;
mod words;

pub(crate) use counters::{Counters, READ};
pub(crate) use generator::{Generator, generators};
pub(crate) use path::{change_commands, lines, os, path_plan, queue_time, router};
pub(crate) use phases::*;
pub(crate) use preflight::{VERSIONS, preflight};
