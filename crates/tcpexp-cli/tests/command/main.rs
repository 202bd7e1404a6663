//! Tests of the whole command: its output, its files, and its error messages.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod desk;

mod analyze;
mod bad_inputs;
mod bad_outputs;
mod chart_marks;
mod check;
mod compare;
mod compressed;
#[cfg(unix)]
mod cut_short;
mod cwnd;
mod datasets_folder;
#[cfg(unix)]
mod documents;
mod drawn_lines;
mod drawn_values;
mod explain;
mod export;
mod formats;
mod gallery;
mod help;
mod import;
mod import_runs;
mod info;
#[cfg(target_os = "linux")]
mod lab;
mod layouts;
mod netem;
mod one_capture;
mod one_value;
mod pairs;
mod path;
mod pipes;
mod plan_schema;
mod plot;
mod plot_sweep;
mod points;
mod safety;
mod schema;
mod score;
mod selections;
mod shards;
mod split;
#[cfg(feature = "stores")]
mod stores;
mod strange_captures;
mod survey;
mod table;
#[cfg(unix)]
mod tables;
mod throughput;
mod why;
