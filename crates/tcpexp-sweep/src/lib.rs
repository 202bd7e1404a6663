//! Plans of experiments, and the runs that carry them out.
//!
//! A run leaves one directory: captures, logs, a journal of every command, and `run.json`, a
//! [`RunRecord`](record::RunRecord), which is written last. So a directory with a readable
//! `run.json` is one that ended, and nothing else says so.

pub mod record;
