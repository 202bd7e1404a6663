//! Runs scripts on hosts: this machine, a network namespace, over SSH, or not at all.

mod error;
mod local;
mod paper;
mod process;
mod script;
mod session;
mod shell;
mod ssh;
mod ssh_error;
mod stream;
mod until;

use std::path::Path;
use std::time::Duration;

pub use error::RunError;
pub use local::Local;
pub use paper::{DryRun, Recording};
pub use script::{Output, Script};
pub use ssh::{Ssh, SshHost, SshHostError, SshOptions};
pub use ssh_error::SshProblem;
pub use stream::{ScriptStream, StreamOutput};

/// Runs scripts on one host. Threads may share a runner.
pub trait Runner: Send + Sync {
    /// Name of the host in messages.
    fn host(&self) -> &str;

    /// True if scripts do not really run, so that their output has no meaning.
    fn is_dry(&self) -> bool {
        false
    }

    /// Runs a script to its end. A failing script is an output with its exit code; an error means that
    /// the end of the script is unknown.
    fn run(&self, script: &Script) -> Result<Output, RunError>;

    /// Copies a file from the host. A partial copy is never left.
    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError>;

    /// Copies a file to the host. Its folder must exist. A partial copy never has the final name.
    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError>;

    /// Runs a script that must succeed.
    fn run_ok(&self, script: &Script) -> Result<Output, RunError> {
        let output = self.run(script)?;
        if output.is_success() {
            return Ok(output);
        }
        Err(RunError::Exit {
            host: self.host().to_owned(),
            code: output.code,
            message: output.complaint(),
        })
    }
}
