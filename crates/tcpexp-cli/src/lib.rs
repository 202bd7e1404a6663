//! The `tcpexp` command as a library, for its binary and for bindings to other languages.
//!
//! To analyse captures in Rust, use the crate `tcpexp`.

mod allocator;
mod analyze;
mod analyze_args;
mod analyze_pairs;
mod analyze_runs;
mod args;
mod basis;
mod caller;
mod capture_warnings;
mod check;
mod compare;
mod compat;
mod cwnd;
mod cwnd_chart;
mod diff_packets;
mod diff_rule;
mod explain;
mod export;
mod failure;
mod fetched;
mod flows;
mod import;
mod import_runs;
mod info;
mod jobs;
mod kernel_args;
mod known_names;
mod lab;
mod lab_diff;
mod labels;
mod live_input;
mod live_output;
mod live_pair;
mod live_rtt;
mod measure_args;
mod merge;
mod netem;
mod output;
mod page;
mod pairs;
mod path;
mod path_args;
mod picture;
mod places;
mod planned;
mod plot;
mod points;
mod program;
mod progress;
mod prometheus;
mod rate_chart;
mod report;
mod results;
mod rtt;
mod rtt_args;
mod rtt_errors;
mod schema;
mod score;
mod score_pairs;
mod sender_args;
mod shared_args;
mod sheet;
mod shown;
mod side_table;
mod signals;
mod single_rtt;
mod split;
mod standard_output;
mod store_options;
mod survey;
mod sweep;
mod sweep_lab;
mod sweep_netns;
mod sweep_progress;
mod task_args;
mod temporary;
mod throughput;
mod truth;
mod values;
mod warnings;
mod why;

use std::ffi::OsString;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches};

pub use tcpexp::{CapturePair, StoreError, StoreOption};

pub use crate::analyze_pairs::read_pairs;
pub use crate::caller::{
    Advance, CallError, Handed, PairEnd, PairOutcome, Printed, Request, Wanted, call,
};
pub use crate::fetched::fetch;
pub use crate::sweep::count_runs;

use crate::args::{Args, Command};

/// Runs the command with the arguments of a process, the first of which is the program's name.
///
/// Prints to standard output and standard error. Returns the exit code: 0 for success or a closed
/// pipe, 1 for a failure, 2 for wrong arguments.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    signals::fail_at_limit_of_file_size();
    failure::exit_code(run(arguments))
}

/// As [`main`], for an interpreter that runs the command in its own process.
pub fn main_in_interpreter(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    program::is_interpreted();
    main(arguments)
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<()> {
    let matches = Args::command().try_get_matches_from(arguments)?;
    // The raw arguments have the same names in all commands, so one check serves all.
    places::check(&matches)?;
    store_options::set(&matches);
    let _copies = fetched::OfThisRun;
    let outcome = carry_out(Args::from_arg_matches(&matches)?.command);
    // The names of the copies are known only until they are removed.
    outcome.map_err(fetched::in_error)
}

fn carry_out(command: Command) -> anyhow::Result<()> {
    if matches!(command, Command::Analyze(_)) {
        // A heap that a thread uses stays, so this precedes the threads.
        allocator::keep_memory_compact();
    }
    tcpexp::start_threads().context("cannot start a thread")?;
    match command {
        Command::Rtt(args) => rtt::run(&args),
        Command::Flows(args) => flows::run(&args),
        Command::Path(args) => path::run(&args),
        Command::Throughput(args) => throughput::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Cwnd(args) => cwnd::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Netem(args) => netem::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Survey(args) => survey::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Pairs(args) => pairs::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Report(args) => page::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "tcpexp", &mut script);
            output::print_raw(&script)
        }
        Command::Man { command } => args::man_page(&command),
    }
}
