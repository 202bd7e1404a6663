//! A script whose output is read while it runs.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tcpexp_units::Timestamp;

use super::error::RunError;
use super::process::{Collector, End, now, wait};
use super::script::Output;

/// Time that a script has to end after its output has ended.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

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
        let program = command.get_program().to_string_lossy().into_owned();
        let started = now();
        // In its own process group, so that Ctrl-C leaves the end to the caller.
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| RunError::Spawn {
                host: host.to_owned(),
                program,
                source,
            })?;
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
        let signalled = status.signal().map_or(-1, |signal| 128 + signal);
        Ok(Output {
            code: status.code().unwrap_or(signalled),
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
