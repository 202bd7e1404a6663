//! A child process with a time limit.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tcpexp_units::Timestamp;

use super::error::RunError;
use super::script::Output;

/// Destination of standard output.
pub(crate) enum Sink {
    Memory,
    File(File),
}

/// Source of standard input.
pub(crate) enum Source {
    Text(String),
    File(File),
}

/// Time limit for reading a pipe after its process ended: a background process may hold it open.
const GRACE: Duration = Duration::from_millis(500);

/// Time from SIGTERM to SIGKILL, in which a script undoes its changes: that of `timeout -k` in `shell::line`.
const KILL_AFTER: Duration = Duration::from_secs(2);

/// Runs `command` for at most `timeout`. `host` is its name in messages.
pub(crate) fn run(
    mut command: Command,
    host: &str,
    stdin: Source,
    stdout: Sink,
    timeout: Duration,
) -> Result<Output, RunError> {
    // Callers estimate the host's clock offset from `started` and `finished`, so both enclose the
    // process.
    let started = now();
    let (text, stdin) = match stdin {
        Source::Text(text) => (Some(text), Stdio::piped()),
        Source::File(file) => (None, Stdio::from(file)),
    };
    let stdout = match stdout {
        Sink::Memory => Stdio::piped(),
        Sink::File(file) => Stdio::from(file),
    };
    command.stdin(stdin).stdout(stdout);
    let mut child = spawn(&mut command, host)?;
    // A thread writes the input: a script that fills its output pipe first would block a write
    // here.
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), text) {
        // Ignore a write error: if the script ends before it is read, its exit code shows the
        // failure.
        thread::spawn(move || pipe.write_all(text.as_bytes()));
    }
    let stdout = child.stdout.take().map(Collector::of);
    let stderr = child.stderr.take().map(Collector::of);
    let pipe = |source| RunError::Pipe {
        host: host.to_owned(),
        source,
    };
    let (host, seconds) = (host.to_owned(), timeout.as_secs());
    let status = match wait(&mut child, timeout).map_err(pipe)? {
        End::Ended(status) => status,
        End::Killed => return Err(RunError::Timeout { host, seconds }),
        End::Unkillable => return Err(RunError::Unkillable { host, seconds }),
    };
    Ok(Output {
        code: exit_code(status),
        stdout: stdout.map(Collector::finish).unwrap_or_default(),
        stderr: stderr.map(Collector::finish).unwrap_or_default(),
        started,
        finished: now(),
    })
}

/// Starts a command in its own process group, because Ctrl-C must not end it: clearing needs these
/// processes. Its standard error is a pipe.
pub(crate) fn spawn(command: &mut Command, host: &str) -> Result<Child, RunError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .process_group(0)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| RunError::Spawn {
            host: host.to_owned(),
            program,
            source,
        })
}

/// The exit code. A process that a signal ended has none; shells report 128 plus the signal's number.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    let signalled = status.signal().map_or(-1, |signal| 128 + signal);
    status.code().unwrap_or(signalled)
}

/// How the wait for a process ended.
pub(crate) enum End {
    Ended(ExitStatus),
    Killed,
    /// The kernel refused the signal: `sudo` made the process another user's.
    Unkillable,
}

/// Waits for the end. Ends the process group after `timeout`.
pub(crate) fn wait(child: &mut Child, timeout: Duration) -> io::Result<End> {
    if let Some(status) = ended(child, timeout)? {
        return Ok(End::Ended(status));
    }
    // SIGKILL runs no trap of a script, and the trap undoes the script's changes.
    for (signal, patience) in [(Signal::TERM, KILL_AFTER), (Signal::KILL, Duration::MAX)] {
        // The child leads its own process group, so a signal to the group also reaches its children.
        if let Ok(id) = i32::try_from(child.id())
            && let Some(group) = Pid::from_raw(id)
            && kill_process_group(group, signal) == Err(Errno::PERM)
        {
            return Ok(End::Unkillable);
        }
        // SIGKILL follows even if the child has ended: its children may ignore SIGTERM.
        ended(child, patience)?;
    }
    Ok(End::Killed)
}

/// Waits for the end for at most `patience`. A child that has ended stays a zombie until its parent waits for it.
fn ended(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    // The standard library has no wait with a time limit. The pause grows, so that short scripts
    // return at once and long scripts cost little processor time.
    let mut pause = Duration::from_micros(500);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || started.elapsed() >= patience {
            return Ok(status);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Reads a pipe to its end in the background.
#[derive(Debug)]
pub(crate) struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Collector {
    pub(crate) fn of(mut pipe: impl Read + Send + 'static) -> Self {
        // The thread shares the bytes instead of returning them: a background process may keep the
        // pipe open, and `finish` does not wait for it.
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 16_384];
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                to.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend_from_slice(&chunk[..read]);
            }
        });
        Self { bytes, reader }
    }

    /// The bytes read until the process ended.
    pub(crate) fn finish(self) -> Vec<u8> {
        let deadline = Instant::now() + GRACE;
        while !self.reader.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Time of this machine's clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    // An `i64` holds nanoseconds since 1970 until the year 2262.
    Timestamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
