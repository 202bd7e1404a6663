//! A running virtual machine.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::LabError;
use crate::files::{unread, unwritten};
use crate::image::Image;
use crate::job::{Job, write_root};
use crate::programs::{QEMU, find};
use crate::qemu::{Console, Machine};

/// A running guest.
///
/// It ends with its command, and at the latest with this value or the process that has it, however
/// that ends: a guard beside it, in a process of its own, notices.
pub struct Guest {
    machine: Child,
    _guard: Guard,
    verdict: PathBuf,
    // Last, so that its files are there as long as the others live.
    _folder: TempDir,
}

/// How often a guest is looked at.
const GLANCE: Duration = Duration::from_millis(20);

impl Guest {
    /// Starts a guest.
    pub fn spawn(image: &Image, job: &Job) -> Result<Self, LabError> {
        let program = find(&[QEMU])?.remove(0).1;
        let folder = tempfile::Builder::new()
            .prefix("tcpexp-lab-")
            .tempdir()
            .map_err(unwritten(&std::env::temp_dir()))?;
        let mut guard = Guard::of(&folder)?;
        let root = folder.path().join("root.cpio");
        write_root(&image.root, job, &root)?;
        let out = job
            .out
            .as_ref()
            .map(|out| {
                fs::create_dir_all(out)
                    .and_then(|()| out.canonicalize())
                    .map_err(unwritten(out))
            })
            .transpose()?;
        let verdict = folder.path().join("verdict");
        let console = if job.command.is_empty() {
            Console::Terminal
        } else {
            Console::Streams
        };
        let arguments = Machine {
            kernel: &image.kernel,
            root: &root,
            verdict: &verdict,
            out: out.as_deref(),
            memory_mib: job.memory_mib,
            seed: job.seed,
            console,
        }
        .arguments();
        let mut command = Command::new(program);
        command.args(arguments);
        if console == Console::Streams {
            // In a group of its own, so that what interrupts us does not end it in its own way.
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
        }
        let mut machine = command.spawn().map_err(cannot_run("qemu-system-x86_64"))?;
        if let Err(error) = guard.watch(&machine) {
            drop(machine.kill());
            return Err(error);
        }
        Ok(Self {
            machine,
            _guard: guard,
            verdict,
            _folder: folder,
        })
    }

    /// Passes on what the command prints until it has ended; gives its exit code.
    ///
    /// `limit` is in real time. A guest that has not ended by then is stopped.
    pub fn wait(
        mut self,
        output: &mut (dyn Write + Send),
        errors: &mut (dyn Write + Send),
        limit: Option<Duration>,
    ) -> Result<u8, LabError> {
        let (stdout, stderr) = (self.machine.stdout.take(), self.machine.stderr.take());
        let status = thread::scope(|scope| {
            let (broken, breaks) = mpsc::channel();
            let also_broken = broken.clone();
            scope.spawn(move || pass_on(stdout, output, &broken));
            scope.spawn(move || pass_on(stderr, errors, &also_broken));
            let status = self.end(limit, &breaks);
            if status.is_err() {
                // The others read until it has ended.
                drop(self.machine.kill());
            }
            status
        })?;
        self.verdict(status)
    }

    /// Waits until it has ended, nobody reads what it prints, or its time is up.
    fn end(
        &mut self,
        limit: Option<Duration>,
        breaks: &mpsc::Receiver<io::Error>,
    ) -> Result<ExitStatus, LabError> {
        let begin = Instant::now();
        loop {
            match self.machine.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(source) => return Err(cannot_run("qemu-system-x86_64")(source)),
            }
            match breaks.recv_timeout(GLANCE) {
                Ok(source) => return Err(LabError::Output { source }),
                Err(RecvTimeoutError::Disconnected) => thread::sleep(GLANCE),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(limit) = limit.filter(|limit| begin.elapsed() > *limit) {
                return Err(LabError::Limit { limit });
            }
        }
    }

    fn verdict(&self, status: ExitStatus) -> Result<u8, LabError> {
        let verdict = fs::read_to_string(&self.verdict).map_err(unread(&self.verdict))?;
        let verdict = verdict.trim();
        if let Some(what) = verdict.strip_prefix("failed: ") {
            let what = what.to_owned();
            return Err(LabError::Guest { what });
        }
        let code = verdict
            .strip_prefix("exit ")
            .and_then(|code| code.parse().ok());
        code.ok_or_else(|| LabError::Died {
            how: status.to_string(),
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Both fail if it has ended by itself. The guard is told afterwards, when it is dropped.
        drop(self.machine.kill());
        drop(self.machine.wait());
    }
}

/// Copies until there is no more; tells if nobody takes it.
fn pass_on(from: Option<impl Read>, to: &mut (dyn Write + Send), broken: &mpsc::Sender<io::Error>) {
    let Some(mut from) = from else { return };
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if let Err(error) = to.write_all(&buffer[..read]).and_then(|()| to.flush()) {
            drop(broken.send(error));
            return;
        }
    }
}

/// A process that ends the guest when ours is gone.
struct Guard {
    process: Child,
}

impl Guard {
    fn of(folder: &TempDir) -> Result<Self, LabError> {
        let process = Command::new("/bin/sh")
            .args(["-c", include_str!("../assets/guard.sh"), "tcpexp-lab-guard"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(cannot_run("sh"))?;
        Ok(Self { process })
    }

    fn watch(&mut self, machine: &Child) -> Result<(), LabError> {
        self.tell(&machine.id().to_string())
            .map_err(cannot_run("sh"))
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        let mut pipe = self.process.stdin.as_ref();
        pipe.as_mut()
            .map_or(Ok(()), |pipe| writeln!(pipe, "{line}"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Waiting closes the pipe, so a guard that never got to know its guest ends as well.
        drop(self.tell("ended"));
        drop(self.process.wait());
    }
}

fn cannot_run(program: &str) -> impl FnOnce(io::Error) -> LabError {
    let program = program.to_owned();
    move |source| LabError::Run { program, source }
}
