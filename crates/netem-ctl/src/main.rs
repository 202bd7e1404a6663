//! The `netem-ctl` command.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use netem_ctl::cli::{self, Cli};
use tcpexp_units::with_causes;

fn main() -> ExitCode {
    match cli::run(&Cli::parse().command, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` closes the pipe early, which is not a failure.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("netem-ctl: {}", with_causes(&error).replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}
