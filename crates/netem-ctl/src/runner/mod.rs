//! Running scripts on hosts: here, in a network namespace, over SSH, or only on paper.

mod error;
mod local;
mod paper;
mod process;
mod script;
mod shell;
mod ssh;
mod ssh_error;

use std::path::Path;
use std::time::Duration;

pub use error::RunError;
pub use local::Local;
pub use paper::{DryRun, Recording};
pub use script::{Output, Script};
pub use ssh::{Ssh, SshHost, SshHostError, SshOptions};
pub use ssh_error::SshProblem;

/// A host that scripts run on. One runner may be used by several threads at once.
pub trait Runner: Send + Sync {
    /// What the host is called in messages.
    fn host(&self) -> &str;

    /// Whether nothing is really run, so that no answer means anything.
    fn is_dry(&self) -> bool {
        false
    }

    /// Runs a script to its end. That it failed is part of the output; an error is a script whose
    /// end is not known.
    fn run(&self, script: &Script) -> Result<Output, RunError>;

    /// Copies a file from the host, complete or not at all.
    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError>;

    /// Copies a file to the host, complete or not at all. Its folder must exist.
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
