//! The library on captures: simulated ones, those in `fixtures`, and others where they exist.
//!
//! One program for all of these tests, because the linker takes longer than most of them.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod broken_promises;
mod capture_holes;
mod capture_loss;
mod captured_twice;
mod captures_as_they_come;
mod clock_set_back;
mod clocks_of_captures;
mod coarse_clock;
mod common;
mod compat;
mod damaged_captures;
mod damaged_datasets;
mod dataset_directories;
mod datasets;
mod filters;
mod import_logs;
mod naming;
mod near_the_sender;
mod offset_bounds;
mod options_cut;
mod other_protocols;
mod paths_of_captures;
mod paths_simulated;
mod points_simulated;
mod quic;
mod real_captures;
mod records_out_of_order;
mod recurring_datagrams;
mod report;
mod segments_of_captures;
mod selections;
mod sender_state;
mod sets;
mod simulated_at_random;
mod simulated_captures;
mod simulated_clocks;
mod simulated_paths;
mod simulated_translation;
mod single_rtt;
mod surveys;
mod sweep_datasets;
mod tcptrace;
mod test_starts;
mod throughput;
mod true_losses;
mod two_ends;
mod why;
