//! The `netem-ctl` command.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use clap::Parser;
use netem_ctl::cli::{self, Cli};

fn main() -> ExitCode {
    match cli::run(&Cli::parse().command, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` closes the pipe early, which is not a failure.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("netem-ctl: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and all its causes on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.replace('\n', " ")
}
