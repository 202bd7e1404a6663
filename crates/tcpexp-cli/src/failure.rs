//! Error messages and exit codes.

use std::io::{self, Write};

use tcpexp_sweep::SweepError;

use crate::caller::caller;
use crate::{fetched, shown, standard_output};

/// The command in the guest failed and has already printed its own message.
#[derive(Debug, thiserror::Error)]
#[error("the command in the guest exited with {0}")]
pub(crate) struct EndedInGuest(pub(crate) u8);

const SUCCESS: u8 = 0;
const FAILURE: u8 = 1;
const WRONG_USAGE: u8 = 2;

/// Maps an outcome to the exit code: 0 for success or a closed standard output, 1 for a failure, 2 for wrong
/// arguments. A command in a guest determines its own exit code.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> u8 {
    let Err(error) = outcome else {
        return SUCCESS;
    };
    if is_closed_pipe(&error) {
        return SUCCESS;
    }
    if let Some(wrong) = error.downcast_ref::<clap::Error>() {
        return print_usage(wrong);
    }
    if let Some(EndedInGuest(code)) = error.downcast_ref() {
        return *code;
    }
    report(&error);
    FAILURE
}

/// Prints an argument error without control characters, or requested help. Returns the exit code.
fn print_usage(wrong: &clap::Error) -> u8 {
    let text = wrong.to_string();
    // `print` shows clap's colours, so it is used unless there is something to escape.
    let shown = shown::lines(&text);
    let printed = if wrong.use_stderr() && shown != text {
        write!(io::stderr(), "{shown}")
    } else {
        wrong.print()
    };
    if wrong.use_stderr() {
        // Writing fails if standard error is closed; no other place can show the error.
        return WRONG_USAGE;
    }
    exit_code_of_help(printed.and_then(|()| io::stdout().flush()))
}

/// Requested help is a success, unless standard output cannot take it. A closed pipe is no failure.
fn exit_code_of_help(printed: io::Result<()>) -> u8 {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report(&anyhow::Error::from(error).context("cannot write standard output"));
            FAILURE
        }
        _ => SUCCESS,
    }
}

/// Prints an error and its causes.
pub(crate) fn report(error: &anyhow::Error) {
    let Some(SweepError::Hosts(problems)) = error.downcast_ref() else {
        return print_line(&chain(error));
    };
    // Each host that fails its checks has a line.
    for (number, problem) in problems.iter().enumerate() {
        if number == 0 {
            print_line(problem);
        } else {
            drop(writeln!(io::stderr(), "{}", shown::line(problem)));
        }
    }
}

/// Returns an error and its causes as one line.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    fetched::in_text(&chain.join(": "))
}

/// Prints one line to standard error.
pub(crate) fn print_line(line: &str) {
    let line = &fetched::in_text(line);
    if let Some(caller) = caller() {
        return caller.warn(&shown::line(line));
    }
    // `eprintln!` panics if standard error is closed or its disk is full.
    drop(writeln!(io::stderr(), "tcpexp: {}", shown::line(line)));
}

/// True if the reader of standard output closed it, as in `tcpexp … | head`, which is not a failure.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(standard_output::is_closed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_that_a_full_disk_cannot_take_is_a_failure() {
        assert_eq!(exit_code_of_help(Ok(())), SUCCESS);
        let closed = io::ErrorKind::BrokenPipe.into();
        assert_eq!(exit_code_of_help(Err(closed)), SUCCESS);
        let full = io::ErrorKind::StorageFull.into();
        assert_eq!(exit_code_of_help(Err(full)), FAILURE);
    }
}
