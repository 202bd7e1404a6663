//! The shell scripts of a run, as functions of its setup.

mod counters;
mod files;
mod generator;
mod phases;
mod preflight;

pub(crate) use counters::{Counters, is_delay_stage, reading};
pub(crate) use files::{capture_name, captures, logs};
pub(crate) use generator::{Generator, generators};
pub(crate) use phases::*;
pub(crate) use preflight::{VERSIONS, preflight};

use crate::plan::Host;

/// A host of the plan and its name there.
pub(crate) type Named<'a> = (&'a str, &'a Host);

#[cfg(test)]
mod tests;
