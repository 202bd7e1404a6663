//! Errors of running scripts.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::SshProblem;

/// Why the end of a script is unknown, or a file was not copied.
#[derive(Debug, Error)]
pub enum RunError {
    /// The script exceeded its time limit and was killed.
    #[error("{host}: the script did not end within {seconds} s and was killed")]
    Timeout {
        /// The host.
        host: String,
        /// The time limit.
        seconds: u64,
    },
    /// The script exceeded its time limit, and this user may not kill it.
    #[error(
        "{host}: the script did not end within {seconds} s, and its processes belong to another user"
    )]
    Unkillable {
        /// The host.
        host: String,
        /// The time limit.
        seconds: u64,
    },
    /// The account does not run commands.
    #[error(
        "{host}: the login ended without an error and without running the script: expected an account that \
         runs commands"
    )]
    NoScript {
        /// The host.
        host: String,
    },
    /// The script failed.
    #[error("{host}: exit code {code}: {message}")]
    Exit {
        /// The host.
        host: String,
        /// Its exit code.
        code: i32,
        /// The end of its standard error.
        message: String,
    },
    /// The host is unreachable.
    #[error("{host}: {problem}")]
    Ssh {
        /// The host.
        host: String,
        /// Why.
        problem: SshProblem,
    },
    /// The script needs root and cannot get it.
    #[error("{host}: {why}")]
    NoRoot {
        /// The host.
        host: String,
        /// The reason.
        why: &'static str,
    },
    /// A local program, such as `ssh`, cannot be started.
    #[error("{host}: cannot start {program}")]
    Spawn {
        /// The host.
        host: String,
        /// The program on this machine.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// The pipe to the local program failed.
    #[error("{host}: lost the connection to the running script")]
    Pipe {
        /// The host.
        host: String,
        /// The cause.
        source: io::Error,
    },
    /// A dry run could not be printed.
    #[error("cannot print the scripts of the dry run")]
    Print {
        /// The cause.
        source: io::Error,
    },
    /// The remote path needs quotes.
    #[error("{host}: cannot copy \"{path}\": expected a path without blanks and quotes")]
    StrangePath {
        /// The host.
        host: String,
        /// The name.
        path: String,
    },
    /// The folder of the sockets is open to other users.
    #[error("{} is accessible to other users: expected a directory that only this user can open", path.display())]
    NotOurs {
        /// The name.
        path: PathBuf,
    },
    /// A local file cannot be read or written.
    #[error("cannot copy {}", path.display())]
    File {
        /// The name.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl RunError {
    /// True if a part of the script may have run, or may still run.
    pub(crate) const fn may_have_run(&self) -> bool {
        match self {
            Self::Timeout { .. }
            | Self::Unkillable { .. }
            | Self::Exit { .. }
            | Self::Pipe { .. } => true,
            Self::Ssh { problem, .. } => problem.can_end_connection(),
            Self::NoScript { .. }
            | Self::NoRoot { .. }
            | Self::Spawn { .. }
            | Self::Print { .. }
            | Self::StrangePath { .. }
            | Self::NotOurs { .. }
            | Self::File { .. } => false,
        }
    }
}
