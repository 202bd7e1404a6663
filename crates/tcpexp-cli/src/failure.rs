//! How the command ends.

use std::io;
use std::process::ExitCode;

/// 0 when done or when nobody reads any more, 1 with one line on what failed and why.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
            eprintln!("tcpexp: {}", chain.join(": "));
            ExitCode::FAILURE
        }
    }
}

/// `tcpexp … | head` is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
