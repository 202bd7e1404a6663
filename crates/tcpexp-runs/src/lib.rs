//! The recorded runs of a sweep, read back.
//!
//! A run leaves one directory ([`folders`]): captures, logs, a journal of every command, and
//! `run.json`, a [`RunRecord`](record::RunRecord), which is written last. A directory with a readable
//! `run.json` is therefore a run that ended. [`compare`] computes figures over the runs of each cell.

pub mod compare;
pub mod folders;
pub mod record;
