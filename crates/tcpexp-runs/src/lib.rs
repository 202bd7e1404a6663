//! The recorded runs of a sweep, or a folder of datasets, read back.
//!
//! A run leaves one directory ([`folders`]): captures, logs, a journal of every command, and
//! `run.json`, a [`RunRecord`](record::RunRecord), which is written last. A directory with a readable
//! `run.json` is therefore a run that ended. [`compare`] computes figures over the runs of each cell.
//! Datasets of the user's own captures, side by side in a folder, are runs too ([`captured`]).
//! [`only`] selects cells by their parameters, and [`varied`] finds the parameters that distinguish them.
//! [`hash`] names cells. [`position`] decides whether a capture was taken at the sender of a flow's direction.

pub mod captured;
pub mod compare;
pub mod folders;
pub mod hash;
pub mod only;
mod origin;
mod parameter;
pub mod position;
pub mod record;
pub mod varied;
