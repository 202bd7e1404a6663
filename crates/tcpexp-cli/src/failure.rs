//! How the command ends.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::lab::Ended;
use crate::shown;

/// 0 when done or when nobody reads any more, 1 with one line on what failed and why, 2 when what
/// was asked for makes no sense; for a command in a guest, its own.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    if is_closed_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if let Some(wrong) = error.downcast_ref::<clap::Error>() {
        print_usage(wrong);
        // Help that was asked for is no failure.
        return ExitCode::from(if wrong.use_stderr() { 2 } else { 0 });
    }
    if let Some(Ended(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    report(&error);
    ExitCode::FAILURE
}

/// Prints what is wrong with the arguments, without their control characters.
fn print_usage(wrong: &clap::Error) {
    let text = wrong.to_string();
    let shown = shown::lines(&text);
    // As with `tell`, standard error may be closed.
    drop(if wrong.use_stderr() && shown != text {
        write!(io::stderr(), "{shown}")
    } else {
        wrong.print()
    });
}

/// Tells what failed and why.
pub(crate) fn report(error: &anyhow::Error) {
    tell(&chain(error));
}

/// What failed and why, in one line.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    chain.join(": ")
}

/// One line on standard error.
pub(crate) fn tell(line: &str) {
    // Standard error may be closed or on a full disk: `eprintln!` would panic.
    drop(writeln!(io::stderr(), "tcpexp: {}", shown::line(line)));
}

/// `tcpexp … | head` is no failure.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
