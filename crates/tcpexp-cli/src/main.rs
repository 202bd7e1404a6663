//! The `tcpexp` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tcpexp_cli::main(std::env::args_os()))
}
