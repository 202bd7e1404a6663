//! A script whose output is read while it runs.

use std::io::Write;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tcpexp_units::Timestamp;

use super::error::RunError;
use super::process::{Collector, End, exit_code, now, spawn, wait};
use super::script::Output;

/// Time that a script has to end after its output has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A running script. Dropping it ends the script.
#[derive(Debug)]
pub struct ScriptStream {
    child: Child,
    host: String,
    /// The script ends when its standard input does.
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<Collector>,
    started: Timestamp,
}

impl ScriptStream {
    /// Starts `command` with `text` at the start of its standard input.
    pub(super) fn start(mut command: Command, host: &str, text: &str) -> Result<Self, RunError> {
        let started = now();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn(&mut command, host)?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // Ignore a write error: the exit code of a script that never began shows the failure.
            let _ = stdin.write_all(text.as_bytes());
        }
        Ok(Self {
            stdin,
            stdout: child.stdout.take(),
            stderr: child.stderr.take().map(Collector::of),
            child,
            host: host.to_owned(),
            started,
        })
    }

    /// Takes the script's standard output; `None` at a second call.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Ends the script, and returns its exit code and its messages.
    pub(super) fn finish(mut self) -> Result<Output, RunError> {
        drop(self.stdin.take());
        let host = self.host.clone();
        let waited = wait(&mut self.child, LAST_WORDS);
        let status = match waited.map_err(|source| RunError::Pipe {
            host: host.clone(),
            source,
        })? {
            End::Ended(status) => status,
            End::Killed | End::Unkillable => {
                let seconds = LAST_WORDS.as_secs();
                return Err(RunError::Timeout { host, seconds });
            }
        };
        Ok(Output {
            code: exit_code(status),
            stdout: Vec::new(),
            stderr: self
                .stderr
                .take()
                .map(Collector::finish)
                .unwrap_or_default(),
            started: self.started,
            finished: now(),
        })
    }
}

impl Drop for ScriptStream {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The script on the host sees the end of its input, however this process ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
