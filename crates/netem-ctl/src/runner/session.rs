//! A shell on a host that runs one script after another.
//!
//! A script in a session costs a few small processes on the host. A script with an `ssh` of its own also costs
//! that program here, and on the host another process of the server and a login shell.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::RunError;
use super::process::{End, exit_code, now, spawn, wait};
use super::script::{Output, Script};
use super::shell;
use super::until::Until;

/// The program of a session.
pub(super) const SESSION_SH: &str = include_str!("../sh/session.sh");

/// Time that a session has to end after its output has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A session that clones share. It ends with the last clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Session(Arc<Mutex<Option<Shell>>>);

impl Session {
    /// Runs a script. Begins the session with the command from `start` unless it runs; the first script decides
    /// the rights of the session. If the session ends before the script, the output has the exit code of the
    /// session.
    ///
    /// Returns `None` if the script needs a command of its own, because a script of another thread runs or
    /// because the session has other rights.
    pub(super) fn run(
        &self,
        script: &Script,
        host: &str,
        timeout: Duration,
        start: impl FnOnce() -> Command,
    ) -> Result<Option<Output>, RunError> {
        let mut shared = match self.0.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        // The connection may have ended since the last script.
        if !shared.as_mut().is_some_and(Shell::is_running) {
            *shared = Some(Shell::start(start(), host, script.as_root)?);
        }
        let Some(mut shell) = shared.take_if(|shell| shell.as_root == script.as_root) else {
            return Ok(None);
        };
        let started = now();
        let output = match shell.run(script, timeout) {
            Answer::Complete(output) => {
                *shared = Some(shell);
                output
            }
            Answer::Ended {
                began,
                stdout,
                stderr,
            } => Output {
                code: shell.failure(host, began)?,
                stdout,
                stderr,
                started,
                finished: now(),
            },
            Answer::Late => {
                let (host, seconds) = (host.to_owned(), timeout.as_secs());
                return Err(RunError::Timeout { host, seconds });
            }
        };
        Ok(Some(output))
    }
}

/// The shell of a session. Dropping it ends the session.
#[derive(Debug)]
struct Shell {
    /// The local end, such as `ssh`.
    child: Child,
    /// The session ends when its standard input does.
    stdin: Option<ChildStdin>,
    output: Receiver<(Pipe, Vec<u8>)>,
    as_root: bool,
}

#[derive(Clone, Copy, Debug)]
enum Pipe {
    Stdout,
    Stderr,
}

/// How a session answers a script.
enum Answer {
    Complete(Output),
    /// The session ended before the script.
    Ended {
        began: bool,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
    },
    /// The script exceeded the local time limit.
    Late,
}

impl Shell {
    fn start(mut command: Command, host: &str, as_root: bool) -> Result<Self, RunError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn(&mut command, host)?;
        let (sender, output) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            forward(stdout, Pipe::Stdout, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            forward(stderr, Pipe::Stderr, sender);
        }
        let mut shell = Self {
            stdin: child.stdin.take(),
            child,
            output,
            as_root,
        };
        shell.send(SESSION_SH);
        Ok(shell)
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    fn send(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            // Ignore a write error: the output ends if the session has ended.
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    fn run(&mut self, script: &Script, timeout: Duration) -> Answer {
        let deadline = Instant::now() + timeout;
        // Processes of earlier scripts may have printed more.
        while self.output.try_recv().is_ok() {}
        let started = now();
        let mark = mark();
        let (bytes, seconds) = (script.text.len(), shell::limit_seconds(script));
        // The session reads the script to its end before it writes, so this does not block for long.
        self.send(&format!("{bytes} {seconds} {mark}\n{}", script.text));
        let (mut stdout, mut stderr) = (Until::new(&mark), Until::new(&mark));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok((Pipe::Stdout, bytes)) => stdout.push(&bytes),
                Ok((Pipe::Stderr, bytes)) => stderr.push(&bytes),
                Err(RecvTimeoutError::Timeout) => return Answer::Late,
                Err(RecvTimeoutError::Disconnected) => {
                    return Answer::Ended {
                        began: stdout.began,
                        stdout: stdout.bytes,
                        stderr: stderr.bytes,
                    };
                }
            }
            let (Some(code), Some(_)) = (&stdout.rest, &stderr.rest) else {
                continue;
            };
            return Answer::Complete(Output {
                // `session.sh` prints a number.
                code: code.parse().unwrap_or(-1),
                stdout: stdout.bytes,
                stderr: stderr.bytes,
                started,
                finished: now(),
            });
        }
    }

    /// Waits for the end of a session that ended before its script, and returns the exit code. A code of 0 is an
    /// error, because the script did not succeed.
    fn failure(&mut self, host: &str, began: bool) -> Result<i32, RunError> {
        match (self.exit_code(host)?, began) {
            (0, false) => Err(RunError::NoScript {
                host: host.to_owned(),
            }),
            (0, true) => Err(RunError::Pipe {
                host: host.to_owned(),
                source: io::ErrorKind::UnexpectedEof.into(),
            }),
            (code, _) => Ok(code),
        }
    }

    /// Waits for the end of a session whose output has ended.
    fn exit_code(&mut self, host: &str) -> Result<i32, RunError> {
        let host = host.to_owned();
        match wait(&mut self.child, LAST_WORDS) {
            Ok(End::Ended(status)) => Ok(exit_code(status)),
            Ok(End::Killed | End::Unkillable) => {
                let seconds = LAST_WORDS.as_secs();
                Err(RunError::Timeout { host, seconds })
            }
            Err(source) => Err(RunError::Pipe { host, source }),
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The session on the host sees the end of its input, however this process ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends what a pipe yields, in a thread.
fn forward(mut pipe: impl Read + Send + 'static, which: Pipe, to: Sender<(Pipe, Vec<u8>)>) {
    thread::spawn(move || {
        let mut chunk = [0; 16_384];
        loop {
            let read = match pipe.read(&mut chunk) {
                Ok(0) => return,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            if to.send((which, chunk[..read].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// A word that the output of no script contains: no other script has it.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (process, time) = (std::process::id(), now().as_nanos());
    format!("end-of-script-{process}-{count}-{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    /// A session on this machine, and the number of its starts.
    #[derive(Default)]
    struct Local {
        session: Session,
        starts: usize,
    }

    impl Local {
        fn run(&mut self, script: &Script) -> Output {
            let line = shell::line(script, &shell::Input::Stream(SESSION_SH.len()));
            let start = || {
                self.starts += 1;
                let mut command = Command::new("/bin/sh");
                command.args(["-c", &line]);
                command
            };
            let ran = self.session.run(script, "rtr", SOON, start).unwrap();
            ran.expect("the session is free")
        }
    }

    #[test]
    fn text_of_the_login_is_no_output_of_a_script() {
        let line = shell::line(&Script::new(""), &shell::Input::Stream(SESSION_SH.len()));
        let login = |begin: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &format!("{begin}; {line}")]);
            command
        };
        let script = Script::new("echo '@@ owner'; echo why >&2\n");
        let start = || login("printf 'Welcome!'; printf 'No mail.' >&2");
        let ran = Session::default().run(&script, "rtr", SOON, start);
        let output = ran.unwrap().expect("the session is free");
        assert_eq!(output.text(), "@@ owner\n");
        assert_eq!(output.complaint(), "why");
        // Such an account does not run the script.
        let start = || login("echo Welcome; exit 0");
        let error = Session::default().run(&script, "rtr", SOON, start);
        assert_eq!(
            error.unwrap_err().to_string(),
            "rtr: the login ended without an error and without running the script: \
             expected an account that runs commands"
        );
    }

    #[test]
    fn scripts_of_a_session_run_one_after_another() {
        let mut local = Local::default();
        let one = local.run(&Script::new(
            "printf 'no end'; echo why >&2; exit 7; echo never\n",
        ));
        assert_eq!(
            (one.text().as_str(), one.complaint().as_str(), one.code),
            ("no end", "why", 7)
        );
        // More than a pipe holds, in both directions.
        let text = "0123456789".repeat(20_000);
        let two = local.run(&Script::new(format!("cat <<'END'\n{text}\nEND\n")));
        assert_eq!((two.text(), two.code), (text + "\n", 0));
        let three = local.run(&Script::new("true\n"));
        assert_eq!((three.text().as_str(), three.code), ("", 0));
        assert_eq!(local.starts, 1);
    }

    #[test]
    fn a_script_that_hangs_ends_and_the_session_goes_on() {
        let mut local = Local::default();
        let hangs = Script::new("echo before; sleep 600\n").within(Duration::from_secs(1));
        let output = local.run(&hangs);
        assert_eq!((output.text().as_str(), output.code), ("before\n", 124));
        assert_eq!(local.run(&Script::new("echo on\n")).text(), "on\n");
        assert_eq!(local.starts, 1);
    }

    #[test]
    fn a_session_that_ended_begins_anew() {
        let mut local = Local::default();
        // Its parent is `timeout`, and the parent of that is the session.
        let kill = "echo before; kill -s KILL \"$(cut -d ' ' -f 4 /proc/$PPID/stat)\"; sleep 600\n";
        let output = local.run(&Script::new(kill).within(Duration::from_secs(2)));
        assert_eq!((output.text().as_str(), output.code), ("before\n", 137));
        assert_eq!(local.run(&Script::new("echo on\n")).text(), "on\n");
        assert_eq!(local.starts, 2);
    }

    #[test]
    fn a_script_with_other_rights_needs_a_command_of_its_own() {
        let mut local = Local::default();
        local.run(&Script::new("true\n"));
        let root = Script::new("true\n").as_root();
        let start = || unreachable!("the session runs");
        let ran = local.session.run(&root, "rtr", SOON, start).unwrap();
        assert!(ran.is_none());
    }
}
