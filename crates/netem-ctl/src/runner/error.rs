//! Why a script has no known end.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::SshProblem;

/// Something that kept a script from running to its end, or a file from being copied.
#[derive(Debug, Error)]
pub enum RunError {
    /// It took too long and was ended.
    #[error("{host}: no end after {seconds} s, so it was ended")]
    Timeout {
        /// Where.
        host: String,
        /// What it had.
        seconds: u64,
    },
    /// It ended and must not have ended like this.
    #[error("{host}: exit code {code}: {message}")]
    Exit {
        /// Where.
        host: String,
        /// With which code.
        code: i32,
        /// What it said on standard error.
        message: String,
    },
    /// The host cannot be reached.
    #[error("{host}: {problem}")]
    Ssh {
        /// Where.
        host: String,
        /// Why.
        problem: SshProblem,
    },
    /// Root is needed and cannot be had.
    #[error("{host}: {why}")]
    NoRoot {
        /// Where.
        host: String,
        /// What is missing.
        why: &'static str,
    },
    /// The program that takes us there cannot be started.
    #[error("{host}: cannot start {program}")]
    Spawn {
        /// Where we wanted to go.
        host: String,
        /// The program on this machine.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// Talking with the started program failed.
    #[error("{host}: lost the connection to the running script")]
    Pipe {
        /// Where.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// A path on the host that a shell would not take literally.
    #[error("{host}: will not copy \"{path}\": expected a path without blanks and quotes")]
    StrangePath {
        /// Where.
        host: String,
        /// Which.
        path: String,
    },
    /// The folder of our sockets belongs to someone else.
    #[error("{} is not ours alone: expected a folder that only this user can open", path.display())]
    NotOurs {
        /// Which.
        path: PathBuf,
    },
    /// A file on this machine.
    #[error("cannot copy {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
