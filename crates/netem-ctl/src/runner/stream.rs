//! A script whose output is read while it runs.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tcpexp_units::Timestamp;

use super::error::RunError;
use super::process::{Collector, End, exit_code, now, spawn, wait};
use super::script::Output;
use super::shell;

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
    has_begun: Arc<AtomicBool>,
}

/// Standard output of a running script, without the text that the login prints before it.
#[derive(Debug)]
pub struct StreamOutput<R = ChildStdout> {
    pipe: R,
    /// True once the text of the login has ended.
    has_begun: Arc<AtomicBool>,
    /// Before the mark: the last bytes read, which may be its beginning. After the mark: output that was read
    /// together with it.
    read: Vec<u8>,
}

/// Bytes that are read at once until the output begins.
const READ_BYTES: usize = 4_096;

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
            has_begun: Arc::default(),
        })
    }

    /// Takes the script's standard output; `None` at a second call.
    pub fn take_output(&mut self) -> Option<StreamOutput> {
        Some(StreamOutput {
            pipe: self.stdout.take()?,
            has_begun: Arc::clone(&self.has_begun),
            read: Vec::new(),
        })
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
        let code = exit_code(status);
        // An account may run another command instead, and succeed.
        if code == 0 && !self.has_begun.load(Ordering::Relaxed) {
            return Err(RunError::NoScript { host });
        }
        Ok(Output {
            code,
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

impl<R: Read> Read for StreamOutput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_begun.load(Ordering::Relaxed) {
            let mut chunk = [0; READ_BYTES];
            let read = self.pipe.read(&mut chunk)?;
            if read == 0 {
                return Ok(0);
            }
            self.read.extend_from_slice(&chunk[..read]);
            let unused = if let Some(end) = shell::end_of_greeting(&self.read) {
                self.has_begun.store(true, Ordering::Relaxed);
                end
            } else {
                // The mark may continue in the next chunk.
                (self.read.len() + 1).saturating_sub(shell::begin_mark().len())
            };
            self.read.drain(..unused);
        }
        if self.read.is_empty() {
            return self.pipe.read(buffer);
        }
        let read = (&self.read[..]).read(buffer)?;
        self.read.drain(..read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn text_of_the_login_is_no_output_of_a_stream() {
        let mark = shell::begin_mark();
        let said = [
            b"Welcome!\nNo mail.",
            &mark[..],
            b"\xd4\xc3\xb2\xa1",
            &mark[..],
        ]
        .concat();
        for at_once in [1, 7, 20, 45, 4_096] {
            let mut output = StreamOutput {
                pipe: Slow(&said, at_once),
                has_begun: Arc::default(),
                read: Vec::new(),
            };
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes).unwrap();
            // Only the first mark ends the text of the login.
            assert_eq!(bytes, [b"\xd4\xc3\xb2\xa1", &mark[..]].concat());
        }
    }
}
