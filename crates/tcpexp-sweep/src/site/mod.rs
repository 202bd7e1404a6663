//! The shell scripts of a run, as functions of its setup.

mod counters;
mod generator;
mod phases;
mod preflight;

pub(crate) use counters::{Counters, READ, is_delay_stage};
pub(crate) use generator::{Generator, generators};
pub(crate) use phases::*;
pub(crate) use preflight::{VERSIONS, preflight};

#[cfg(test)]
mod tests;
